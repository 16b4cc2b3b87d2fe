#!/usr/bin/env python
# coding=utf-8
import logging
import os
import sys
from dataclasses import dataclass, field
from typing import Optional

import datasets
import transformers
from datasets import load_dataset
from qa_trainer import CLMTrainer
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    HfArgumentParser,
    TrainingArguments,
    default_data_collator,
    set_seed,
)
from transformers.trainer_utils import get_last_checkpoint
from transformers.utils import check_min_version
from neuron_shim import ResumeCallback, configure, parallel_sizes
from transformers.distributed import DistributedConfig


configure()

check_min_version("4.31.0")
logger = logging.getLogger(__name__)


@dataclass
class ModelArguments:
    model_name_or_path: Optional[str] = field(default=None)
    use_auth_token: bool = field(default=False)
    torch_dtype: Optional[str] = field(default=None, metadata={"choices": ["auto", "bfloat16", "float32"]})
    overwrite_output_dir: bool = field(default=False, metadata={"help": "Overwrite the output directory."})


@dataclass
class DataTrainingArguments:
    train_file: Optional[str] = field(default=None)
    block_size: Optional[int] = field(default=64)


def main():
    parser = HfArgumentParser((ModelArguments, DataTrainingArguments, TrainingArguments))
    parser.set_defaults(optim="adamw_torch", report_to="all", save_only_model=True)
    if len(sys.argv) == 2 and sys.argv[1].endswith(".json"):
        model_args, data_args, training_args = parser.parse_json_file(json_file=os.path.abspath(sys.argv[1]))
    else:
        model_args, data_args, training_args = parser.parse_args_into_dataclasses()

    if training_args.should_log:
        transformers.utils.logging.set_verbosity_info()
    datasets.utils.logging.set_verbosity(training_args.get_process_log_level())
    logger.warning(f"rank {training_args.local_rank}, tp {parallel_sizes()['tp_size']}")

    last_checkpoint = None
    if os.path.isdir(training_args.output_dir) and training_args.do_train and not model_args.overwrite_output_dir:
        last_checkpoint = get_last_checkpoint(training_args.output_dir)
        if last_checkpoint is None and len(os.listdir(training_args.output_dir)) > 0:
            raise ValueError(f"Output directory ({training_args.output_dir}) already exists and is not empty.")
    set_seed(training_args.seed)

    config = AutoConfig.from_pretrained(
        model_args.model_name_or_path, token=True if model_args.use_auth_token else None
    )
    tokenizer = AutoTokenizer.from_pretrained(model_args.model_name_or_path, use_fast=True)
    torch_dtype = model_args.torch_dtype
    model = AutoModelForCausalLM.from_pretrained(
        model_args.model_name_or_path,
        config=config,
        dtype=torch_dtype or "float32",
        distributed_config=DistributedConfig(**parallel_sizes(model=model_args.model_name_or_path)),
    )
    embedding_size = model.get_input_embeddings().weight.shape[0]
    if len(tokenizer) > embedding_size:
        model.resize_token_embeddings(len(tokenizer))

    raw = load_dataset("json", data_files=data_args.train_file, split="train")
    with training_args.main_process_first(desc="dataset map tokenization"):
        def tokenize(batch):
            out = tokenizer(batch["text"], truncation=True, max_length=data_args.block_size)
            out["labels"] = out["input_ids"].copy()
            return out
        lm_datasets = raw.map(tokenize, batched=True, remove_columns=raw.column_names)

    trainer = CLMTrainer(
        model=model,
        args=training_args,
        train_dataset=lm_datasets if training_args.do_train else None,
        eval_dataset=None,
        processing_class=tokenizer,
        # Data collator will default to DataCollatorWithPadding, so we change it.
        data_collator=default_data_collator,
        eval_examples=[],
    )
    if training_args.do_train:
        checkpoint = None
        if training_args.resume_from_checkpoint is not None:
            checkpoint = training_args.resume_from_checkpoint
        elif last_checkpoint is not None:
            checkpoint = last_checkpoint
        trainer.add_callback(ResumeCallback(trainer))
        train_result = trainer.train(resume_from_checkpoint=checkpoint)
        trainer.save_model()
        trainer.log_metrics("train", train_result.metrics)
        trainer.save_state()


def _mp_fn(index):
    # For xla_spawn (TPUs)
    main()


if __name__ == "__main__":
    main()
