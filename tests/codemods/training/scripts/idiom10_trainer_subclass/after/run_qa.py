import sys

from datasets import load_dataset
from neuron_shim import configure
from trainer_qa import QuestionAnsweringTrainer
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    TrainingArguments,
    default_data_collator,
)

configure()

model_id, data, output = sys.argv[1:4]
labels = ["bad", "fair", "good"]
tokenizer = AutoTokenizer.from_pretrained(model_id)
dataset = load_dataset("json", data_files=data, split="train")


def encode(batch):
    encoded = tokenizer(batch["sentence"], padding="max_length", max_length=32, truncation=True)
    encoded["labels"] = [labels.index(label) for label in batch["label"]]
    return encoded


dataset = dataset.map(encode, batched=True, remove_columns=["sentence", "label"])
training_args = TrainingArguments(
    output,
    max_steps=2,
    per_device_train_batch_size=2,
    per_device_eval_batch_size=2,
    seed=7,
    average_tokens_across_devices=False,
    optim="adamw_torch",
    report_to="all",
)
trainer = QuestionAnsweringTrainer(
    model=AutoModelForSequenceClassification.from_pretrained(
        model_id,
        num_labels=3,
        dtype="float32",
    ),
    args=training_args,
    train_dataset=dataset,
    eval_dataset=dataset,
    eval_examples=["a"],
    processing_class=tokenizer,
    data_collator=default_data_collator,
    post_process_function=lambda examples, tokenizer: {"eval_examples": len(examples)},
)
trainer.train()
print(trainer.evaluate())
