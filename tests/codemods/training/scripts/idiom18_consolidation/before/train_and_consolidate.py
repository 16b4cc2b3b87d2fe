import os
import shutil
import sys

from datasets import load_dataset
from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
from optimum.neuron.distributed import lazy_load_for_parallelism
from optimum.neuron.distributed.checkpointing import consolidate_model_parallel_checkpoints_to_unified_checkpoint
from transformers import AutoModelForCausalLM, AutoTokenizer, default_data_collator


def main(model_id, data, output):
    args = NeuronTrainingArguments(
        output_dir=output,
        max_steps=2,
        per_device_train_batch_size=2,
        tensor_parallel_size=2,
        zero_1=True,
        async_save=True,
        use_xser=True,
    )
    tokenizer = AutoTokenizer.from_pretrained(model_id)

    def tokenize(batch):
        result = tokenizer(batch["text"], truncation=True, max_length=64)
        result["labels"] = result["input_ids"].copy()
        return result

    dataset = load_dataset("json", data_files=data, split="train").map(tokenize, batched=True, remove_columns=["text"])
    with lazy_load_for_parallelism(tensor_parallel_size=args.tensor_parallel_size):
        model = AutoModelForCausalLM.from_pretrained(model_id)
    trainer = NeuronTrainer(
        model=model, args=args, train_dataset=dataset, tokenizer=tokenizer, data_collator=default_data_collator
    )
    trainer.train()
    trainer.save_model()

    if trainer.is_world_process_zero():
        consolidate_model_parallel_checkpoints_to_unified_checkpoint(output, output, "safetensors")
        shutil.rmtree(os.path.join(output, "shards"), ignore_errors=True)
    merged = AutoModelForCausalLM.from_pretrained(output)
    print(type(merged).__name__)


if __name__ == "__main__":
    main(*sys.argv[1:4])
