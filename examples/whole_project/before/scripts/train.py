"""Fine-tune a causal language model on support dialogues, all weights trained.

Started by launch.sh, which says how many cores there are and how the model is spread over them.
"""

import logging
from dataclasses import dataclass, field
from itertools import chain
from typing import Optional

import torch
from datasets import load_dataset
from optimum.neuron import NeuronHfArgumentParser, NeuronTrainer, NeuronTrainingArguments
from optimum.neuron.models.training import NeuronModelForCausalLM
from transformers import AutoTokenizer, default_data_collator, set_seed

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
    parser = NeuronHfArgumentParser((ModelArguments, DataArguments, NeuronTrainingArguments))
    model_args, data_args, training_args = parser.parse_args_into_dataclasses()
    logging.basicConfig(level=training_args.get_process_log_level())
    set_seed(training_args.seed)

    tokenizer = AutoTokenizer.from_pretrained(model_args.model_id)
    datasets = build_datasets(data_args, tokenizer, training_args.seed)
    logger.info("%d samples, tensor parallel size %d", len(datasets["train"]), training_args.tensor_parallel_size)

    model = NeuronModelForCausalLM.from_pretrained(
        model_args.model_id,
        training_args.trn_config,
        torch_dtype=torch.bfloat16 if training_args.bf16 else torch.float32,
        attn_implementation="flash_attention_2" if model_args.flash_attention else "eager",
    )

    trainer = NeuronTrainer(
        model=model,
        args=training_args,
        train_dataset=datasets["train"],
        eval_dataset=datasets.get("test"),
        tokenizer=tokenizer,
        data_collator=default_data_collator,
    )
    trainer.train(resume_from_checkpoint=training_args.resume_from_checkpoint)
    trainer.save_model()
    tokenizer.save_pretrained(training_args.output_dir)


if __name__ == "__main__":
    main()
