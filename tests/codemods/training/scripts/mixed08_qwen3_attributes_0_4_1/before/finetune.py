import sys

import optimum.neuron
import optimum.neuron.models.training
import torch
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoTokenizer

model_id, data, out = sys.argv[1:4]

training_args = optimum.neuron.NeuronTrainingArguments(
    output_dir=out,
    do_train=True,
    max_steps=2,
    learning_rate=5e-4,
    per_device_train_batch_size=2,
    gradient_accumulation_steps=1,
    gradient_checkpointing=False,
    logging_steps=1,
    tensor_parallel_size=4,
    zero_1=False,
    stochastic_rounding_enabled=True,
    optimizer_use_master_weights=True,
    dataloader_prefetch_size=2,
    save_strategy="no",
)
model = optimum.neuron.models.training.Qwen3ForCausalLM.from_pretrained(
    model_id, training_args.trn_config, torch_dtype=torch.bfloat16, attn_implementation="flash_attention_2"
)
tokenizer = AutoTokenizer.from_pretrained(model_id)
dataset = load_dataset("json", data_files=data, split="train")


def format_row(row):
    return f"### {row['instruction']}\n### {row['response']}"


sft_config = optimum.neuron.NeuronSFTConfig(max_length=64, packing=True, **training_args.to_dict())
trainer = optimum.neuron.NeuronSFTTrainer(
    args=sft_config,
    model=model,
    peft_config=LoraConfig(r=4, target_modules=["q_proj", "o_proj"], task_type="CAUSAL_LM"),
    processsing_class=tokenizer,
    train_dataset=dataset,
    formatting_func=format_row,
)
trainer.train()
trainer.push_to_hub() if training_args.push_to_hub else trainer.save_model(out)
