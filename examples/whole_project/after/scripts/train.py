"""Fine-tune a causal language model on support dialogues, all weights trained.

Started by launch.sh, which says how many cores there are and how the model is spread over them.
"""

import logging
from dataclasses import dataclass, field
from itertools import chain
from typing import Optional

import torch
from datasets import load_dataset
from neuron_shim import ResumeCallback, configure, parallel_sizes
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
    default_data_collator,
    set_seed,
)
from transformers.distributed import DistributedConfig

configure()

logger = logging.getLogger(__name__)


@dataclass
class ModelArguments:
    model_id: str = field(metadata={"help": "Checkpoint to fine-tune (Hub id or local folder)."})
    flash_attention: bool = field(default=True, metadata={"help": "Use the attention kernel of Neuron."})


@dataclass
class DataArguments:
    data_file: str = field(metadata={"help": 'A .jsonl file with one {"text": ...} a line.'})
    block_size: int = field(default=2048, metadata={"help": "Tokens in one sample."})
    eval_percent: Optional[int] = field(default=None, metadata={"help": "Hold back some data, if given."})


def build_datasets(args, tokenizer, seed):
    raw = load_dataset("json", data_files=args.data_file, split="train")
    splits = raw.train_test_split(test_size=args.eval_percent / 100, seed=seed) if args.eval_percent else {"train": raw}

    def tokenize(batch):
        return tokenizer([text + tokenizer.eos_token for text in batch["text"]])

    # Join everything, then cut it into blocks: static shapes, no padding.
    def group(batch):
        joined = {key: list(chain(*batch[key])) for key in ("input_ids", "attention_mask")}
        total = len(joined["input_ids"]) // args.block_size * args.block_size
        blocks = {
            key: [ids[i : i + args.block_size] for i in range(0, total, args.block_size)] for key, ids in joined.items()
        }
        blocks["labels"] = blocks["input_ids"].copy()
        return blocks

    return {
        name: split.map(tokenize, batched=True, remove_columns=raw.column_names).map(
            group, batched=True, remove_columns=["input_ids", "attention_mask"]
        )
        for name, split in splits.items()
    }


def main():
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments))
    parser.set_defaults(optim="adamw_torch", report_to="all", save_only_model=True)
    model_args, data_args, training_args = parser.parse_args_into_dataclasses()
    logging.basicConfig(level=training_args.get_process_log_level())
    set_seed(training_args.seed)

    tokenizer = AutoTokenizer.from_pretrained(model_args.model_id)
    datasets = build_datasets(data_args, tokenizer, training_args.seed)
    logger.info("%d samples, tensor parallel size %d", len(datasets["train"]), parallel_sizes()["tp_size"])

    model = AutoModelForCausalLM.from_pretrained(
        model_args.model_id,
        dtype=torch.float32,
        attn_implementation="sdpa" if model_args.flash_attention else "eager",
        distributed_config=DistributedConfig(**parallel_sizes(model=model_args.model_id)),
    )

    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=datasets["train"],
        eval_dataset=datasets.get("test"),
        processing_class=tokenizer,
        data_collator=default_data_collator,
    )
    trainer.add_callback(ResumeCallback(trainer))
    trainer.train(resume_from_checkpoint=training_args.resume_from_checkpoint)
    trainer.save_model()
    tokenizer.save_pretrained(training_args.output_dir)


if __name__ == "__main__":
    main()
