import argparse
import os
import shutil

import torch
from datasets import load_dataset
from neuron_shim import ResumeCallback, configure, parallel_sizes
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
    parser.add_argument("--dataset_path", type=str, required=True)
    parser.add_argument("--output_dir", type=str, default="/opt/ml/model")
    parser.add_argument("--tensor_parallel_size", type=int, default=8, help="cores per model replica")
    parser.add_argument("--bf16", action="store_true", default=True if torch.cuda.is_available() else False)
    parser.add_argument("--lr", type=float, default=5e-5)
    parser.add_argument("--max_steps", type=int, default=2)
    args, _ = parser.parse_known_args()
    return args


def training_function(args):
    set_seed(42)
    training_config = {
        "output_dir": args.output_dir,
        "per_device_train_batch_size": 1,
        "learning_rate": args.lr,
        "max_steps": args.max_steps,
        "bf16": args.bf16,
        "warmup_steps": 0.03,
        "activation_checkpointing": True,
        "logging_steps": 1,
        "eval_strategy": "no",
        "save_strategy": "steps",
    }
    training_args = TrainingArguments(**training_config, optim="adamw_torch", report_to="all", save_only_model=True)

    tokenizer = AutoTokenizer.from_pretrained(args.model_id, use_fast=False)
    model = AutoModelForCausalLM.from_pretrained(
        args.model_id,
        dtype=torch.float32,
        # gradient checkpointing needs no cache
        use_cache=False if training_args.activation_checkpointing else True,
        distributed_config=DistributedConfig(**parallel_sizes(tp_size=args.tensor_parallel_size, model=args.model_id)),
    )

    def tokenize(batch):
        result = tokenizer(batch["text"], truncation=True, max_length=64)
        result["labels"] = result["input_ids"].copy()
        return result

    dataset = load_dataset("json", data_files=args.dataset_path, split="train")
    dataset = dataset.map(tokenize, batched=True, remove_columns=["text"])
    trainer = Trainer(
        model=model,
        processing_class=tokenizer,
        args=training_args,
        train_dataset=dataset,
        data_collator=default_data_collator,
    )
    trainer.add_callback(ResumeCallback(trainer))
    trainer.train(resume_from_checkpoint=any("checkpoint" in name for name in os.listdir(args.output_dir)))
    trainer.save_model()

    # One file for the endpoint
    if int(os.environ.get("RANK", 0)) == 0 and int(parallel_sizes(tp_size=args.tensor_parallel_size)["tp_size"]) > 1:
        shutil.rmtree(os.path.join(args.output_dir, "tensor_parallel_shards"), ignore_errors=True)


def main():
    args = parse_args()
    os.makedirs(args.output_dir, exist_ok=True)
    training_function(args)


if __name__ == "__main__":
    main()
