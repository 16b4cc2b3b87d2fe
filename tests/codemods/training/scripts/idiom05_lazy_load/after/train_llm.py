import argparse

import torch
from datasets import load_dataset
from neuron_shim import configure, parallel_sizes
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    Trainer,
    TrainingArguments,
)
from transformers.distributed import DistributedConfig

configure()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_id")
    parser.add_argument("--data")
    parser.add_argument("--output_dir")
    args = parser.parse_args()

    training_args = TrainingArguments(
        output_dir=args.output_dir,
        per_device_train_batch_size=2,
        max_steps=3,
        logging_steps=1,
        optim="adamw_torch",
        report_to="all",
        save_only_model=True,
    )

    # Only this rank's share of the weights is in memory.
    model = AutoModelForCausalLM.from_pretrained(
        args.model_id,
        dtype=torch.float32,
        distributed_config=DistributedConfig(**parallel_sizes(tp_size=2, model=args.model_id)),
    )
    model.config.use_cache = False

    tokenizer = AutoTokenizer.from_pretrained(args.model_id)
    dataset = load_dataset("json", data_files=args.data, split="train")
    dataset = dataset.map(
        lambda rows: tokenizer(rows["text"], truncation=True, max_length=64), batched=True, remove_columns=["text"]
    )
    trainer = Trainer(
        model,
        training_args,
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
        train_dataset=dataset,
        processing_class=tokenizer,
    )
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
