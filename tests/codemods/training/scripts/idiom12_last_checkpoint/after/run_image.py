import logging
import os
from dataclasses import dataclass

from datasets import load_dataset
from neuron_shim import configure
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
)
from transformers.trainer_utils import get_last_checkpoint

configure()

logger = logging.getLogger(__name__)


@dataclass
class ModelArguments:
    model: str
    data: str
    overwrite_output_dir: bool = False


def main():
    parser = HfArgumentParser((ModelArguments, TrainingArguments))
    parser.set_defaults(average_tokens_across_devices=False, optim="adamw_torch", report_to="all")
    model_args, training_args = parser.parse_args_into_dataclasses()

    # Detecting last checkpoint.
    last_checkpoint = None
    if os.path.isdir(training_args.output_dir) and training_args.do_train and not model_args.overwrite_output_dir:
        last_checkpoint = get_last_checkpoint(training_args.output_dir)
        if last_checkpoint is None and len(os.listdir(training_args.output_dir)) > 0:
            raise ValueError(
                f"Output directory ({training_args.output_dir}) already exists and is not empty. "
                "Use --overwrite_output_dir to overcome."
            )
        if last_checkpoint is not None and training_args.resume_from_checkpoint is None:
            logger.info(f"Checkpoint detected, resuming training at {last_checkpoint}.")

    tokenizer = AutoTokenizer.from_pretrained(model_args.model)
    model = AutoModelForSequenceClassification.from_pretrained(model_args.model, num_labels=3, dtype="float32")
    dataset = load_dataset("json", data_files=model_args.data, split="train")
    names = ["bad", "fair", "good"]

    def encode(batch):
        encoded = tokenizer(batch["sentence"], padding="max_length", max_length=32, truncation=True)
        encoded["labels"] = [names.index(label) for label in batch["label"]]
        return encoded

    dataset = dataset.map(encode, batched=True, remove_columns=["sentence", "label"])
    trainer = Trainer(model=model, args=training_args, train_dataset=dataset, processing_class=tokenizer)
    checkpoint = None
    if training_args.resume_from_checkpoint is not None:
        checkpoint = training_args.resume_from_checkpoint
    elif last_checkpoint is not None:
        checkpoint = last_checkpoint
    trainer.train(resume_from_checkpoint=checkpoint)


if __name__ == "__main__":
    main()
