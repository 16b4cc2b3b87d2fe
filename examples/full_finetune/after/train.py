"""Continue the pretraining of a causal language model on a text file, all weights trained."""

import argparse
from itertools import chain

from datasets import load_dataset
from neuron_shim import configure, parallel_sizes
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    Trainer,
    TrainingArguments,
    default_data_collator,
    set_seed,
)
from transformers.distributed import DistributedConfig

configure()


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_id", type=str, required=True)
    parser.add_argument("--data_file", type=str, required=True, help='a .jsonl file, one {"text": ...} a line')
    parser.add_argument("--output_dir", type=str, default="./output")
    parser.add_argument("--block_size", type=int, default=2048)
    parser.add_argument("--eval_percent", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--max_steps", type=int, default=-1)
    parser.add_argument("--train_batch_size", type=int, default=1)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
    parser.add_argument("--lr", type=float, default=5e-5)
    parser.add_argument("--logging_steps", type=int, default=10)
    parser.add_argument("--no_bf16", action="store_true", help="train in float32")
    parser.add_argument("--seed", type=int, default=42)
    return parser.parse_args()


def build_datasets(args, tokenizer):
    raw = load_dataset("json", data_files=args.data_file, split="train")
    raw = raw.train_test_split(test_size=args.eval_percent / 100, seed=args.seed)

    tokenized = raw.map(
        lambda batch: tokenizer(batch["text"]),
        batched=True,
        remove_columns=raw["train"].column_names,
    )

    # Join everything, then cut it into blocks: static shapes, no padding.
    def group_texts(batch):
        joined = {key: list(chain(*batch[key])) for key in ("input_ids", "attention_mask")}
        total = len(joined["input_ids"]) // args.block_size * args.block_size
        blocks = {
            key: [ids[i : i + args.block_size] for i in range(0, total, args.block_size)] for key, ids in joined.items()
        }
        blocks["labels"] = blocks["input_ids"].copy()
        return blocks

    return tokenized.map(group_texts, batched=True, remove_columns=tokenized["train"].column_names)


def main():
    args = parse_args()
    set_seed(args.seed)

    tokenizer = AutoTokenizer.from_pretrained(args.model_id)
    dataset = build_datasets(args, tokenizer)

    training_args = TrainingArguments(
        output_dir=args.output_dir,
        do_train=True,
        # 2-way tensor parallelism, the other cores are data parallel
        bf16=not args.no_bf16,
        max_steps=args.max_steps,
        num_train_epochs=args.epochs,
        per_device_train_batch_size=args.train_batch_size,
        per_device_eval_batch_size=args.train_batch_size,
        gradient_accumulation_steps=args.gradient_accumulation_steps,
        learning_rate=args.lr,
        warmup_steps=0.1,
        lr_scheduler_type="cosine",
        logging_steps=args.logging_steps,
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=1,
        seed=args.seed,
        optim="adamw_torch",
        report_to="all",
        save_only_model=True,
    )

    # Only the part of the weights that this rank needs is loaded.
    model = AutoModelForCausalLM.from_pretrained(
        args.model_id,
        distributed_config=DistributedConfig(**parallel_sizes(tp_size=2, model=args.model_id)),
        dtype="float32",
    )
    model.config.use_cache = False

    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=dataset["train"],
        eval_dataset=dataset["test"],
        processing_class=tokenizer,
        data_collator=default_data_collator,
    )

    trainer.train()
    trainer.save_model(args.output_dir)


if __name__ == "__main__":
    main()
