import sys

from datasets import load_dataset
from neuron_shim import configure
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    Trainer,
    TrainingArguments,
)

configure()

model_id, data, output = sys.argv[1:4]
max_steps = 3
save_strategy = "steps"

args = TrainingArguments(
    output,
    max_steps=max_steps,
    per_device_train_batch_size=2,
    save_strategy=save_strategy,
    average_tokens_across_devices=False,
    optim="adamw_torch",
    report_to="all",
)
tokenizer = AutoTokenizer.from_pretrained(model_id)
dataset = load_dataset("json", data_files=data, split="train")
dataset = dataset.map(
    lambda rows: tokenizer(rows["sentence"], padding="max_length", max_length=32, truncation=True),
    batched=True,
    remove_columns=["sentence", "label"],
)
trainer = Trainer(
    model=AutoModelForMaskedLM.from_pretrained(model_id, dtype="float32"),
    args=args,
    train_dataset=dataset,
    data_collator=DataCollatorForLanguageModeling(tokenizer),
)
trainer.train()
trainer.save_model()
