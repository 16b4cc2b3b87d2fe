import argparse
import os
import shutil

import torch
from datasets import load_dataset
from optimum.neuron import NeuronTrainer as Trainer
from optimum.neuron import NeuronTrainingArguments as TrainingArguments
from optimum.neuron.distributed import lazy_load_for_parallelism
from transformers import AutoModelForCausalLM, AutoTokenizer, default_data_collator, set_seed


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
        "overwrite_output_dir": True,
        "per_device_train_batch_size": 1,
        "learning_rate": args.lr,
        "max_steps": args.max_steps,
        "bf16": args.bf16,
        "tensor_parallel_size": args.tensor_parallel_size,
        "zero_1": True,
        "warmup_ratio": 0.03,
        "gradient_checkpointing": True,
        "logging_steps": 1,
        "evaluation_strategy": "no",
        "save_strategy": "steps",
    }
    training_args = TrainingArguments(**training_config)

    tokenizer = AutoTokenizer.from_pretrained(args.model_id, use_fast=False)
    with lazy_load_for_parallelism(tensor_parallel_size=args.tensor_parallel_size):
        model = AutoModelForCausalLM.from_pretrained(
            args.model_id,
            torch_dtype="auto",
            # gradient checkpointing needs no cache
            use_cache=False if training_args.gradient_checkpointing else True,
        )

    def tokenize(batch):
        result = tokenizer(batch["text"], truncation=True, max_length=64)
        result["labels"] = result["input_ids"].copy()
        return result

    dataset = load_dataset("json", data_files=args.dataset_path, split="train")
    dataset = dataset.map(tokenize, batched=True, remove_columns=["text"])
    trainer = Trainer(
        model=model, tokenizer=tokenizer, args=training_args, train_dataset=dataset, data_collator=default_data_collator
    )
    trainer.train(resume_from_checkpoint=any("checkpoint" in name for name in os.listdir(args.output_dir)))
    trainer.save_model()

    # One file for the endpoint
    if int(os.environ.get("RANK", 0)) == 0 and int(training_args.tensor_parallel_size) > 1:
        from optimum.neuron.distributed import consolidate_tensor_parallel_checkpoints_to_unified_checkpoint

        consolidate_tensor_parallel_checkpoints_to_unified_checkpoint(args.output_dir, args.output_dir, "pytorch")
        shutil.rmtree(os.path.join(args.output_dir, "tensor_parallel_shards"), ignore_errors=True)


def main():
    args = parse_args()
    os.makedirs(args.output_dir, exist_ok=True)
    training_function(args)


if __name__ == "__main__":
    main()
