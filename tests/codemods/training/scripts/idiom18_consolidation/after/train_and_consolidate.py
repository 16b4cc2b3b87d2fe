import os
import shutil
import sys

from datasets import load_dataset
from neuron_shim import configure, parallel_sizes
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments, default_data_collator
from transformers.distributed import DistributedConfig

configure()


def main(model_id, data, output):
    args = TrainingArguments(
        output_dir=output,
        max_steps=2,
        per_device_train_batch_size=2,
        optim="adamw_torch",
        report_to="all",
        save_only_model=True,
    )
    tokenizer = AutoTokenizer.from_pretrained(model_id)

    def tokenize(batch):
        result = tokenizer(batch["text"], truncation=True, max_length=64)
        result["labels"] = result["input_ids"].copy()
        return result

    dataset = load_dataset("json", data_files=data, split="train").map(tokenize, batched=True, remove_columns=["text"])
    model = AutoModelForCausalLM.from_pretrained(
        model_id,
        distributed_config=DistributedConfig(**parallel_sizes(tp_size=2, model=model_id)),
        dtype="float32",
    )
    trainer = Trainer(
        model=model, args=args, train_dataset=dataset, processing_class=tokenizer, data_collator=default_data_collator
    )
    trainer.train()
    trainer.save_model()

    if trainer.is_world_process_zero():
        shutil.rmtree(os.path.join(output, "shards"), ignore_errors=True)
    merged = AutoModelForCausalLM.from_pretrained(output, dtype="float32")
    print(type(merged).__name__)


if __name__ == "__main__":
    main(*sys.argv[1:4])
