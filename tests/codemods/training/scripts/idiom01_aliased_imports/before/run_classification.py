#!/usr/bin/env python
"""Fine-tune an encoder for sequence classification. (0.0.12)"""

import logging
import sys

import numpy as np
from datasets import load_dataset
from optimum.neuron import NeuronHfArgumentParser as HfArgumentParser
from optimum.neuron import NeuronTrainer as Trainer
from optimum.neuron import NeuronTrainingArguments as TrainingArguments
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    set_seed,
)

logger = logging.getLogger(__name__)
MODEL, DATA = sys.argv.pop(1), sys.argv.pop(1)


def main():
    parser = HfArgumentParser(TrainingArguments)
    (training_args,) = parser.parse_args_into_dataclasses()
    set_seed(training_args.seed)

    raw = load_dataset("json", data_files={"train": DATA, "validation": DATA})
    labels = sorted(set(raw["train"]["label"]))
    config = AutoConfig.from_pretrained(MODEL, num_labels=len(labels))
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    model = AutoModelForSequenceClassification.from_pretrained(MODEL, config=config)

    def preprocess(batch):
        result = tokenizer(batch["sentence"], padding="max_length", max_length=32, truncation=True)
        result["label"] = [labels.index(label) for label in batch["label"]]
        return result

    raw = raw.map(preprocess, batched=True)

    def compute_metrics(p):
        return {"accuracy": float((np.argmax(p.predictions, axis=1) == p.label_ids).mean())}

    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=raw["train"] if training_args.do_train else None,
        eval_dataset=raw["validation"] if training_args.do_eval else None,
        compute_metrics=compute_metrics,
        tokenizer=tokenizer,
        data_collator=DataCollatorWithPadding(tokenizer),
    )
    if training_args.do_train:
        result = trainer.train()
        trainer.save_model()
        trainer.log_metrics("train", result.metrics)
    if training_args.do_eval:
        trainer.log_metrics("eval", trainer.evaluate())


if __name__ == "__main__":
    main()
