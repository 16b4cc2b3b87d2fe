from dataclasses import dataclass, field

import numpy as np
from datasets import load_dataset
from neuron_shim import configure
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    DataCollatorForSeq2Seq,
    HfArgumentParser,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
)

configure()


@dataclass
class DataTrainingArguments:
    model: str
    train_file: str
    max_source_length: int = field(default=32)
    max_target_length: int = field(default=16)
    pad_to_max_length: bool = field(default=False)
    val_max_target_length: int = field(default=16)
    num_beams: int = field(default=1)


def main():
    parser = HfArgumentParser((DataTrainingArguments, Seq2SeqTrainingArguments))
    parser.set_defaults(
        average_tokens_across_devices=False,
        optim="adamw_torch",
        pad_to_max_length=True,
        report_to="all",
    )
    data_args, training_args = parser.parse_args_into_dataclasses()

    tokenizer = AutoTokenizer.from_pretrained(data_args.model)
    model = AutoModelForSeq2SeqLM.from_pretrained(data_args.model, dtype="float32")
    raw = load_dataset("json", data_files=data_args.train_file, split="train").select(range(8))
    padding = "max_length" if data_args.pad_to_max_length else False

    def preprocess(batch):
        inputs = tokenizer(
            batch["instruction"], max_length=data_args.max_source_length, padding=padding, truncation=True
        )
        targets = tokenizer(
            text_target=batch["response"], max_length=data_args.max_target_length, padding=padding, truncation=True
        )
        inputs["labels"] = targets["input_ids"]
        return inputs

    dataset = raw.map(preprocess, batched=True, remove_columns=raw.column_names)
    collator = DataCollatorForSeq2Seq(tokenizer, model=model, pad_to_multiple_of=8 if training_args.fp16 else None)

    def compute_metrics(prediction):
        return {"length": float(np.mean(np.count_nonzero(prediction.predictions, axis=1)))}

    training_args.generation_max_length = (
        training_args.generation_max_length
        if training_args.generation_max_length is not None
        else data_args.val_max_target_length
    )
    trainer = Seq2SeqTrainer(
        model=model,
        args=training_args,
        train_dataset=dataset if training_args.do_train else None,
        eval_dataset=dataset if training_args.do_eval else None,
        processing_class=tokenizer,
        data_collator=collator,
        compute_metrics=compute_metrics if training_args.predict_with_generate else None,
    )
    if training_args.do_train:
        trainer.train()
    if training_args.do_eval:
        metrics = trainer.evaluate(max_length=training_args.generation_max_length, num_beams=data_args.num_beams)
        trainer.log_metrics("eval", metrics)


if __name__ == "__main__":
    main()
