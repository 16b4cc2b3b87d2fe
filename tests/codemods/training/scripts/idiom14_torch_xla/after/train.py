import sys

import torch
from neuron_shim import configure, is_main_process
from datasets import load_dataset
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    Trainer,
    TrainingArguments,
)

configure()

model_id, data, output = sys.argv[1:4]


class MyTrainer(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = super().training_step(model, inputs, num_items_in_batch=num_items_in_batch)
        return loss


args = TrainingArguments(
    output,
    max_steps=2,
    per_device_train_batch_size=2,
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
trainer = MyTrainer(
    model=AutoModelForMaskedLM.from_pretrained(model_id, dtype="float32"),
    args=args,
    train_dataset=dataset,
    data_collator=DataCollatorForLanguageModeling(tokenizer),
)
trainer.train()
if torch.distributed.is_initialized():
    torch.distributed.barrier()
if torch.distributed.get_node_local_rank(0) == 0:
    if is_main_process():
        print("saved to", output)
