"""Started by launch.sh, which writes run.yaml first."""
import os
import sys
from dataclasses import dataclass
from functools import partial

os.environ["NEURON_CC_FLAGS"] = "--model-type transformer"

import torch
from neuron_shim import configure, is_main_process, parallel_sizes
from datasets import load_dataset
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
)

configure()


@dataclass
class ScriptArguments:
    model: str
    data: str
    pad_to_max_length: bool = True


def main():
    parser = HfArgumentParser((ScriptArguments, TrainingArguments))
    parser.set_defaults(average_tokens_across_devices=False, optim="adamw_torch", report_to="all")
    if sys.argv[1].endswith((".yaml", ".yml")):
        script_args, training_args = parser.parse_yaml_file(sys.argv[1])
    else:
        script_args, training_args = parser.parse_args_into_dataclasses()

    world = int(os.environ.get("WORLD_SIZE", 1))
    replicas = world // parallel_sizes()["tp_size"]
    # TODO(neuron-migrate NM150): There is no zero_1: FSDP shards the optimizer state of a model with a distributed_config: https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
    print(f"{replicas} replicas of {parallel_sizes()['tp_size']} cores, zero: {training_args.zero_1}")
    if False:
        print("cache is not pushed")

    tokenizer = AutoTokenizer.from_pretrained(script_args.model)
    padding = "max_length" if script_args.pad_to_max_length else False
    dataset = load_dataset("json", data_files=script_args.data, split="train")
    dataset = dataset.map(
        lambda rows: tokenizer(rows["sentence"], padding=padding, max_length=32, truncation=True),
        batched=True,
        remove_columns=dataset.column_names,
    )
    make_trainer = partial(
        Trainer,
        args=training_args,
        processing_class=tokenizer,
        data_collator=DataCollatorForLanguageModeling(tokenizer),
    )
    trainer = make_trainer(model=AutoModelForMaskedLM.from_pretrained(script_args.model, dtype="float32"), train_dataset=dataset)
    trainer.train()
    if torch.distributed.is_initialized():
        torch.distributed.barrier()
    if is_main_process():
        trainer.save_model()


if __name__ == "__main__":
    main()
