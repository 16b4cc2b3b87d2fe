import logging
import sys
from dataclasses import dataclass, field

import datasets
import transformers
from datasets import load_dataset
from neuron_shim import configure
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
)

configure()

logger = logging.getLogger(__name__)


@dataclass
class DataTrainingArguments:
    model: str
    train_file: str
    max_seq_length: int = field(default=32)


def main():
    parser = HfArgumentParser((DataTrainingArguments, TrainingArguments))
    parser.set_defaults(average_tokens_across_devices=False, optim="adamw_torch", report_to="all")
    data_args, training_args = parser.parse_args_into_dataclasses()

    if training_args.should_log:
        transformers.utils.logging.set_verbosity_info()
    log_level = training_args.get_process_log_level()
    logger.setLevel(log_level)
    datasets.utils.logging.set_verbosity(log_level)
    logger.warning(
        f"Process rank: {training_args.local_rank}, device: {training_args.device}, n_gpu: {training_args.n_gpu}"
        + f"distributed training: {bool(training_args.local_rank != -1)}, 16-bits training: {training_args.fp16}"
    )

    tokenizer = AutoTokenizer.from_pretrained(data_args.model)
    model = AutoModelForMaskedLM.from_pretrained(data_args.model, dtype="float32")
    raw = load_dataset("json", data_files=data_args.train_file, split="train")

    with training_args.main_process_first(desc="dataset map tokenization"):
        tokenized = raw.map(
            lambda batch: tokenizer(
                batch["sentence"], padding="max_length", max_length=data_args.max_seq_length, truncation=True
            ),
            batched=True,
            remove_columns=raw.column_names,
        )

    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=tokenized,
        processing_class=tokenizer,
        data_collator=DataCollatorForLanguageModeling(tokenizer=tokenizer),
    )
    trainer.train()


if __name__ == "__main__":
    sys.exit(main())
