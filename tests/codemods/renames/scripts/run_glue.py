"""Fine-tune an encoder to classify sentences, as scripts of 2021 did."""

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
    is_torch_tpu_available,
    set_seed,
)
from transformers.trainer_utils import get_last_checkpoint
from transformers.utils import send_example_telemetry

logger = logging.getLogger(__name__)


@dataclass
class DataTrainingArguments:
    train_file: str = field(metadata={"help": "A file with the training data."})
    validation_file: str = field(metadata={"help": "A file with the validation data."})
    max_seq_length: int = field(default=32)
    pad_to_max_length: bool = field(default=True)


@dataclass
class ModelArguments:
    model_name_or_path: str = field(metadata={"help": "Path to a pretrained model."})
    cache_dir: Optional[str] = field(default=None)
    use_auth_token: bool = field(default=False)


def main():
    parser = HfArgumentParser((ModelArguments, DataTrainingArguments, TrainingArguments))
    if len(sys.argv) == 2 and sys.argv[1].endswith(".json"):
        model_args, data_args, training_args = parser.parse_json_file(json_file=os.path.abspath(sys.argv[1]))
    else:
        model_args, data_args, training_args = parser.parse_args_into_dataclasses()

    # Sending telemetry. Tracking the example usage helps us better allocate resources to maintain them.
    send_example_telemetry("run_glue", model_args, data_args)

    last_checkpoint = None
    if os.path.isdir(training_args.output_dir) and training_args.do_train and not training_args.overwrite_output_dir:
        last_checkpoint = get_last_checkpoint(training_args.output_dir)
        if last_checkpoint is None and len(os.listdir(training_args.output_dir)) > 0:
            raise ValueError(f"Output directory ({training_args.output_dir}) already exists and is not empty.")

    set_seed(training_args.seed)
    data = load_dataset(
        "json",
        data_files={"train": data_args.train_file, "validation": data_args.validation_file},
        cache_dir=model_args.cache_dir,
        use_auth_token=True if model_args.use_auth_token else None,
    )
    labels = sorted(set(data["train"]["label"]))
    config = AutoConfig.from_pretrained(
        model_args.model_name_or_path,
        num_labels=len(labels),
        cache_dir=model_args.cache_dir,
        use_auth_token=True if model_args.use_auth_token else None,
    )
    tokenizer = AutoTokenizer.from_pretrained(
        model_args.model_name_or_path,
        use_auth_token=True if model_args.use_auth_token else None,
    )
    model = AutoModelForSequenceClassification.from_pretrained(
        model_args.model_name_or_path,
        from_tf=False,
        config=config,
        use_auth_token=True if model_args.use_auth_token else None,
    )
    padding = "max_length" if data_args.pad_to_max_length else False

    def preprocess(examples):
        result = tokenizer(
            examples["sentence"], padding=padding, max_length=data_args.max_seq_length, truncation=True
        )
        result["label"] = [labels.index(label) for label in examples["label"]]
        return result

    with training_args.main_process_first(desc="dataset map pre-processing"):
        data = data.map(preprocess, batched=True)

    def compute_metrics(p: EvalPrediction):
        predictions = p.predictions[0] if isinstance(p.predictions, tuple) else p.predictions
        return {"accuracy": (np.argmax(predictions, axis=1) == p.label_ids).astype(np.float32).mean().item()}

    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=data["train"] if training_args.do_train else None,
        eval_dataset=data["validation"] if training_args.do_eval else None,
        compute_metrics=compute_metrics if training_args.do_eval and not is_torch_tpu_available() else None,
        tokenizer=tokenizer,
        data_collator=DataCollatorWithPadding(tokenizer),
    )
    if training_args.do_train:
        result = trainer.train(resume_from_checkpoint=last_checkpoint)
        trainer.save_model()
        trainer.log_metrics("train", result.metrics)
        trainer.save_metrics("train", result.metrics)
    if training_args.do_eval:
        logger.info("*** Evaluate ***")
        trainer.log_metrics("eval", trainer.evaluate(eval_dataset=data["validation"]))


if __name__ == "__main__":
    main()
