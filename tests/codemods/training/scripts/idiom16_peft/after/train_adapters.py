import sys

import torch
from datasets import load_dataset
from neuron_shim import configure, parallel_sizes
from peft import LoraConfig, PeftModelForCausalLM, TaskType, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments, default_data_collator
from transformers.distributed import DistributedConfig

configure()


def main(model_id, data, output):
    args = TrainingArguments(
        output,
        max_steps=2,
        per_device_train_batch_size=2,
        save_strategy="no",
        average_tokens_across_devices=False,
        log_level="info",
        log_level_replica="critical",
        optim="adamw_torch",
        per_device_eval_batch_size=1,
        report_to="all",
    )
    model = AutoModelForCausalLM.from_pretrained(
        model_id,
        dtype=torch.float32,
        distributed_config=DistributedConfig(**parallel_sizes(tp_size=1)),
    )
    lora = LoraConfig(task_type=TaskType.CAUSAL_LM, r=8, target_modules=["q_proj", "v_proj"])
    model = get_peft_model(model, lora)
    assert isinstance(model, PeftModelForCausalLM)
    model.print_trainable_parameters()

    tokenizer = AutoTokenizer.from_pretrained(model_id)

    def tokenize(batch):
        result = tokenizer(batch["text"], truncation=True, max_length=64)
        result["labels"] = result["input_ids"].copy()
        return result

    dataset = load_dataset("json", data_files=data, split="train").map(tokenize, batched=True, remove_columns=["text"])
    trainer = Trainer(model=model, args=args, train_dataset=dataset, data_collator=default_data_collator)
    trainer.train()
    model.save_pretrained(output)
    model = PeftModelForCausalLM.from_pretrained(
        AutoModelForCausalLM.from_pretrained(
            model_id,
            distributed_config=DistributedConfig(**parallel_sizes(tp_size=1)),
            dtype=torch.float32,
        ), output
    )
    print(type(model).__name__)


if __name__ == "__main__":
    main(*sys.argv[1:4])
