"""Supervised fine-tuning with adapters, in the way of the notebooks of 2023."""

import sys

import torch
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainingArguments, logging
from trl import SFTTrainer

model_name, train_file, output_dir = sys.argv[1:4]

# LoRA
lora_alpha = 16
lora_dropout = 0.1
lora_r = 8

# SFT
max_seq_length = 64
packing = True

dataset = load_dataset("json", data_files=train_file, split="train")
model = AutoModelForCausalLM.from_pretrained(model_name, torch_dtype=torch.float32, load_in_4bit=False)
model.config.use_cache = False

tokenizer = AutoTokenizer.from_pretrained(model_name, trust_remote_code=True)
tokenizer.padding_side = "right"

peft_config = LoraConfig(lora_alpha=lora_alpha, lora_dropout=lora_dropout, r=lora_r, task_type="CAUSAL_LM")

training_arguments = TrainingArguments(
    output_dir=output_dir,
    max_steps=3,
    per_device_train_batch_size=2,
    gradient_accumulation_steps=1,
    optim="adamw_torch",
    save_steps=0,
    logging_steps=1,
    learning_rate=2e-4,
    fp16=False,
    no_cuda=True,
    max_grad_norm=0.3,
    warmup_ratio=0.03,  # a tenth of an epoch
    group_by_length=False,
    lr_scheduler_type="constant",
    report_to="none",
)

trainer = SFTTrainer(
    model=model,
    train_dataset=dataset,
    peft_config=peft_config,
    dataset_text_field="text",
    max_seq_length=max_seq_length,
    tokenizer=tokenizer,
    args=training_arguments,
    packing=packing,
)

logging.set_verbosity_error()
trainer.train()
trainer.model.save_pretrained(output_dir)
trainer.tokenizer.save_pretrained(output_dir)
