import sys

import torch
from datasets import load_dataset
from optimum.neuron import NeuronSFTConfig, NeuronSFTTrainer
from optimum.neuron.distributed import lazy_load_for_parallelism
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer

MODEL, DATA, OUT = sys.argv[1:4]
TP = 2


def formatting_prompts_func(example):
    return [f"### Q: {q}\n### A: {a}" for q, a in zip(example["instruction"], example["response"])]


def build(trainer_cls, **extra):
    config = NeuronSFTConfig(
        output_dir=OUT,
        max_seq_length=64,
        max_steps=2,
        per_device_train_batch_size=2,
        tensor_parallel_size=TP,
        bf16=False,
        eval_strategy="no",
        save_strategy="no",
        lr_scheduler_type="cosine",
        optim="adamw_torch",
        neftune_noise_alpha=None,
        use_liger=False,
    )
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    with lazy_load_for_parallelism(tensor_parallel_size=TP):
        model = AutoModelForCausalLM.from_pretrained(MODEL, torch_dtype=torch.float32)
    dataset = load_dataset("json", data_files=DATA, split="train")
    return trainer_cls(model=model, args=config, tokenizer=tokenizer, train_dataset=dataset, **extra)


def train():
    peft_config = LoraConfig(r=8, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM")
    trainer = build(NeuronSFTTrainer, peft_config=peft_config, formatting_func=formatting_prompts_func, packing=False)
    trainer.train()
    trainer.save_model(OUT)


if __name__ == "__main__":
    train()
