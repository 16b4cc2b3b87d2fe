import os
import sys
from dataclasses import dataclass, field

from datasets import load_dataset
from optimum.neuron import NeuronHfArgumentParser as HfArgumentParser
from optimum.neuron import NeuronTrainer as Trainer
from optimum.neuron import NeuronTrainingArguments as TrainingArguments
from transformers import AutoModelForCausalLM, AutoTokenizer, default_data_collator


@dataclass
class ModelArguments:
    model_name_or_path: str = field(metadata={"help": "Path to the model."})
    cache_dir: str | None = field(default=None)


@dataclass
class DataTrainingArguments:
    train_file: str = field(metadata={"help": "The training data."})
    max_seq_length: int | None = field(default=64)
    pad_to_max_length: bool = field(default=False, metadata={"help": "Pad all samples to max_seq_length."})


def main():
    parser = HfArgumentParser((ModelArguments, DataTrainingArguments, TrainingArguments))
    if len(sys.argv) == 2 and sys.argv[1].endswith(".json"):
        model_args, data_args, training_args = parser.parse_json_file(json_file=os.path.abspath(sys.argv[1]))
    else:
        model_args, data_args, training_args = parser.parse_args_into_dataclasses()

    tokenizer = AutoTokenizer.from_pretrained(model_args.model_name_or_path, cache_dir=model_args.cache_dir)
    model = AutoModelForCausalLM.from_pretrained(model_args.model_name_or_path, cache_dir=model_args.cache_dir)
    dataset = load_dataset("json", data_files=data_args.train_file, split="train")
    padding = "max_length" if data_args.pad_to_max_length else False

    def tokenize(batch):
        result = tokenizer(batch["text"], padding=padding, max_length=data_args.max_seq_length, truncation=True)
        result["labels"] = result["input_ids"].copy()
        return result

    dataset = dataset.map(tokenize, batched=True, remove_columns=["text"])
    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=dataset,
        tokenizer=tokenizer,
        data_collator=default_data_collator,
    )
    trainer.train(resume_from_checkpoint=training_args.resume_from_checkpoint)
    trainer.save_model()


if __name__ == "__main__":
    main()
