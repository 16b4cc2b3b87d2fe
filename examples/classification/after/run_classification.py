#!/usr/bin/env python
# coding=utf-8
"""Fine-tune an encoder for text classification."""

import logging
import os
import sys
from dataclasses import dataclass, field
from typing import Optional

import numpy as np
from datasets import load_dataset
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    EvalPrediction,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
    default_data_collator,
    set_seed,
)
from transformers.trainer_utils import get_last_checkpoint

# Drop-in replacements of the transformers classes
from neuron_shim import configure

configure()


logger = logging.getLogger(__name__)


@dataclass
class DataArguments:
    """What goes into the model."""

    train_file: str = field(metadata={"help": "A .jsonl file with `sentence` and `label`."})
    validation_file: Optional[str] = field(default=None, metadata={"help": "As train_file."})
    max_length: int = field(default=128, metadata={"help": "Longer sentences are cut."})
    pad_to_max_length: bool = field(
        default=False, metadata={"help": "Pad every sample to max_length, else to the longest of the batch."}
    )


@dataclass
class ModelArguments:
    """Which model is trained."""

    model_name_or_path: str = field(metadata={"help": "Checkpoint to start from."})
    cache_dir: Optional[str] = field(default=None, metadata={"help": "Where downloads are kept."})
    overwrite_output_dir: bool = field(default=False, metadata={"help": "Overwrite the output directory."})


def main():
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments))
    parser.set_defaults(
        average_tokens_across_devices=False,
        optim="adamw_torch",
        pad_to_max_length=True,
        report_to="all",
    )
    if len(sys.argv) == 2 and sys.argv[1].endswith(".json"):
        model_args, data_args, training_args = parser.parse_json_file(json_file=os.path.abspath(sys.argv[1]))
    else:
        model_args, data_args, training_args = parser.parse_args_into_dataclasses()

    logging.basicConfig(format="%(asctime)s - %(levelname)s - %(message)s", level=logging.INFO)
    logger.info(f"device: {training_args.device}, bf16: {training_args.bf16}")

    # Detecting last checkpoint.
    last_checkpoint = None
    if os.path.isdir(training_args.output_dir) and training_args.do_train and not model_args.overwrite_output_dir:
        last_checkpoint = get_last_checkpoint(training_args.output_dir)
        if last_checkpoint is None and len(os.listdir(training_args.output_dir)) > 0:
            raise ValueError(
                f"Output directory ({training_args.output_dir}) already exists and is not empty. "
                "Use --overwrite_output_dir to overcome."
            )

    set_seed(training_args.seed)

    # Data
    data_files = {"train": data_args.train_file}
    if data_args.validation_file is not None:
        data_files["validation"] = data_args.validation_file
    raw_datasets = load_dataset("json", data_files=data_files)
    label_list = sorted(set(raw_datasets["train"]["label"]))
    label_to_id = {label: i for i, label in enumerate(label_list)}

    # Model
    config = AutoConfig.from_pretrained(
        model_args.model_name_or_path,
        num_labels=len(label_list),
        id2label={i: label for label, i in label_to_id.items()},
        label2id=label_to_id,
        cache_dir=model_args.cache_dir,
    )
    tokenizer = AutoTokenizer.from_pretrained(model_args.model_name_or_path, cache_dir=model_args.cache_dir)
    model = AutoModelForSequenceClassification.from_pretrained(
        model_args.model_name_or_path, config=config, cache_dir=model_args.cache_dir, dtype="float32"
    )

    padding = "max_length" if data_args.pad_to_max_length else False

    def preprocess_function(examples):
        result = tokenizer(examples["sentence"], padding=padding, max_length=data_args.max_length, truncation=True)
        result["label"] = [label_to_id[label] for label in examples["label"]]
        return result

    with training_args.main_process_first(desc="dataset map pre-processing"):
        raw_datasets = raw_datasets.map(preprocess_function, batched=True, desc="Running tokenizer on dataset")

    def compute_metrics(p: EvalPrediction):
        predictions = np.argmax(p.predictions, axis=1)
        return {"accuracy": float((predictions == p.label_ids).mean())}

    # Data collator will default to DataCollatorWithPadding, so we change it if we already did the padding.
    data_collator = default_data_collator if data_args.pad_to_max_length else DataCollatorWithPadding(tokenizer)

    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=raw_datasets["train"] if training_args.do_train else None,
        eval_dataset=raw_datasets["validation"] if training_args.do_eval else None,
        compute_metrics=compute_metrics,
        processing_class=tokenizer,
        data_collator=data_collator,
    )

    if training_args.do_train:
        checkpoint = training_args.resume_from_checkpoint or last_checkpoint
        train_result = trainer.train(resume_from_checkpoint=checkpoint)
        trainer.save_model()  # Saves the tokenizer too for easy upload
        trainer.log_metrics("train", train_result.metrics)
        trainer.save_metrics("train", train_result.metrics)
        trainer.save_state()

    if training_args.do_eval:
        logger.info("*** Evaluate ***")
        metrics = trainer.evaluate()
        trainer.log_metrics("eval", metrics)
        trainer.save_metrics("eval", metrics)

    if training_args.do_predict:
        logger.info("*** Predict ***")
        output = trainer.predict(raw_datasets["validation"].remove_columns("label"), metric_key_prefix="predict")
        predictions = np.argmax(output.predictions, axis=1)
        if trainer.is_world_process_zero():
            with open(os.path.join(training_args.output_dir, "predictions.txt"), "w") as writer:
                for item in predictions:
                    writer.write(f"{label_list[item]}\n")


if __name__ == "__main__":
    main()
