# Release 0.4.0
from dataclasses import dataclass, field

import torch
from datasets import load_dataset
from neuron_shim import configure, parallel_sizes
from trl import SFTConfig, SFTTrainer
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, HfArgumentParser, TrainingArguments
from transformers.distributed import DistributedConfig

configure()


def train(model_id, tokenizer, dataset, training_args):
    dtype = torch.bfloat16 if training_args.bf16 else torch.float32
    model = AutoModelForCausalLM.from_pretrained(
        model_id,
        dtype=dtype,
        # Use FlashAttention2 for better performance and to be able to use larger sequence lengths.
        attn_implementation="sdpa",
        distributed_config=DistributedConfig(**parallel_sizes(tp_size=1)),
    )

    lora_config = LoraConfig(
        r=8,
        lora_alpha=16,
        lora_dropout=0.05,
        target_modules=["embed_tokens", "q_proj", "v_proj", "o_proj", "k_proj", "up_proj", "down_proj", "gate_proj"],
        bias="none",
        task_type="CAUSAL_LM",
    )

    args = training_args.to_dict()

    sft_config = SFTConfig(
        max_length=64,
        packing=True,
        packing_strategy="wrapped",
        **args,
    )

    def formatting_function(example):
        return f"### Instruction\n{example['instruction']}\n### Answer\n{example['response']}"

    trainer = SFTTrainer(
        args=sft_config,
        model=model,
        peft_config=lora_config,
        processing_class=tokenizer,
        train_dataset=dataset,
        formatting_func=formatting_function,
    )
    trainer.train()


@dataclass
class ScriptArguments:
    model_id: str = field(default="Qwen/Qwen3-8B")
    data: str = field(default="data.jsonl")


if __name__ == "__main__":
    parser = HfArgumentParser([ScriptArguments, TrainingArguments])
    parser.set_defaults(
        average_tokens_across_devices=False,
        optim="adamw_torch",
        report_to="all",
        save_only_model=True,
    )
    script_args, training_args = parser.parse_args_into_dataclasses()

    tokenizer = AutoTokenizer.from_pretrained(script_args.model_id)
    tokenizer.pad_token = tokenizer.eos_token

    dataset = load_dataset("json", data_files=script_args.data, split="train")
    train(
        model_id=script_args.model_id,
        tokenizer=tokenizer,
        dataset=dataset,
        training_args=training_args,
    )
