import os
import sys

from datasets import load_dataset
from neuron_shim import configure, neuron_device
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

configure()

model_id, data, output = sys.argv[1:4]
dataset = load_dataset("json", data_files=data, split="train").train_test_split(test_size=0.2, seed=1)
labels = ["bad", "fair", "good"]
tokenizer = AutoTokenizer.from_pretrained(model_id)


def encode(batch):
    encoded = tokenizer(batch["sentence"], padding="max_length", max_length=32, truncation=True)
    encoded["labels"] = [labels.index(label) for label in batch["label"]]
    return encoded


dataset = dataset.map(encode, batched=True, remove_columns=["sentence", "label"])
model = AutoModelForSequenceClassification.from_pretrained(
    model_id,
    num_labels=len(labels),
    dtype="float32",
)

os.environ.setdefault("TENSORBOARD_LOGGING_DIR", f"{output}/logs")
training_args = TrainingArguments(
    output_dir=output,
    num_train_epochs=1,
    per_device_train_batch_size=4,
    per_device_eval_batch_size=4,
    learning_rate=5e-4,
    warmup_steps=0.1,
    bf16=True,  # Use BF16 precision
    # logging & evaluation strategies
    logging_strategy="steps",
    logging_steps=2,
    eval_strategy="epoch",
    save_strategy="epoch",
    save_total_limit=2,
    load_best_model_at_end=True,
    dataloader_drop_last=True,
    # push to hub parameters
    report_to="tensorboard" if os.environ.get("TENSORBOARD") else "none",
    push_to_hub=False,
    average_tokens_across_devices=False,
    optim="adamw_torch",
    use_cpu=neuron_device().type == "cpu",
)

trainer = Trainer(
    model=model,
    args=training_args,
    train_dataset=dataset["train"],
    eval_dataset=dataset["test"],
    processing_class=tokenizer,
)
trainer.train()
print(trainer.evaluate())
