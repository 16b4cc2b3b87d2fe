import sys

import transformers
import trl
from neuron_shim import configure, parallel_sizes
from transformers.distributed import DistributedConfig
import torch
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoTokenizer

configure()

model_id, data, out = sys.argv[1:4]

training_args = transformers.TrainingArguments(
    output_dir=out,
    do_train=True,
    max_steps=2,
    learning_rate=5e-4,
    per_device_train_batch_size=2,
    gradient_accumulation_steps=1,
    activation_checkpointing=False,
    logging_steps=1,
    save_strategy="no",
    average_tokens_across_devices=False,
    log_level="info",
    log_level_replica="critical",
    optim="adamw_torch",
    per_device_eval_batch_size=1,
    report_to="all",
)
model = transformers.Qwen3ForCausalLM.from_pretrained(
    model_id,
    dtype=torch.bfloat16,
    attn_implementation="sdpa",
    distributed_config=DistributedConfig(**parallel_sizes(tp_size=1)),
)
tokenizer = AutoTokenizer.from_pretrained(model_id)
dataset = load_dataset("json", data_files=data, split="train")


def format_row(row):
    return f"### {row['instruction']}\n### {row['response']}"


sft_config = trl.SFTConfig(
    max_length=64,
    packing=True,
    packing_strategy="wrapped",
    **training_args.to_dict(),
)
trainer = trl.SFTTrainer(
    args=sft_config,
    model=model,
    peft_config=LoraConfig(r=4, target_modules=["q_proj", "o_proj"], task_type="CAUSAL_LM"),
    processing_class=tokenizer,
    train_dataset=dataset,
    formatting_func=format_row,
)
trainer.train()
trainer.push_to_hub() if training_args.push_to_hub else trainer.save_model(out)
