import sys

import torch
from datasets import load_dataset
from neuron_shim import configure, parallel_sizes
from transformers.distributed import DistributedConfig
from trl import SFTConfig, SFTTrainer
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer

configure()

MODEL, DATA, OUT = sys.argv[1:4]
TP = 2


# TODO(neuron-migrate NM121): formatting_func gets one example and returns one string natively; this function returns a list: let it format a single example and return the string: https://huggingface.co/docs/trl/sft_trainer#trl.SFTTrainer
def formatting_prompts_func(example):
    return [f"### Q: {q}\n### A: {a}" for q, a in zip(example["instruction"], example["response"])]


def build(trainer_cls, **extra):
    config = SFTConfig(
        output_dir=OUT,
        max_length=64,
        max_steps=2,
        per_device_train_batch_size=2,
        bf16=False,
        eval_strategy="no",
        save_strategy="no",
        lr_scheduler_type="cosine",
        optim="adamw_torch",
        neftune_noise_alpha=None,
        activation_checkpointing=False,
        average_tokens_across_devices=False,
        learning_rate=5e-5,
        logging_steps=500,
        report_to="all",
    )
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    model = AutoModelForCausalLM.from_pretrained(
        MODEL,
        dtype=torch.float32,
        distributed_config=DistributedConfig(**parallel_sizes(tp_size=1)),
    )
    dataset = load_dataset("json", data_files=DATA, split="train")
    return trainer_cls(model=model, args=config, processing_class=tokenizer, train_dataset=dataset, **extra)


def train():
    peft_config = LoraConfig(r=8, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM")
    # TODO(neuron-migrate NM126): packing: if this reaches SFTTrainer, it belongs into SFTConfig, as packing: https://huggingface.co/docs/transformers/main_classes/trainer
    trainer = build(SFTTrainer, peft_config=peft_config, formatting_func=formatting_prompts_func, packing=False)
    trainer.train()
    trainer.save_model(OUT)


if __name__ == "__main__":
    train()
