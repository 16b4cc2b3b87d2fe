# LoRA supervised fine-tuning of a chat model on instruction/response records.
#
# The data file has one JSON object per line: {"instruction": ..., "context": ..., "response": ...}

from dataclasses import dataclass, field
from typing import Optional

import torch
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, HfArgumentParser, TrainingArguments, set_seed

from neuron_shim import configure, parallel_sizes
from transformers.distributed import DistributedConfig
from trl import SFTConfig, SFTTrainer

configure()


@dataclass
class ScriptArguments:
    model_id: str = field(metadata={"help": "Checkpoint to fine-tune (Hub id or local folder)."})
    train_file: str = field(metadata={"help": "A .jsonl file with instruction, context and response."})
    max_seq_length: int = field(default=2048, metadata={"help": "Tokens in one packed sample."})
    lora_r: int = field(default=16, metadata={"help": "Rank of the adapters."})
    lora_alpha: int = field(default=32, metadata={"help": "Scale of the adapters."})
    max_samples: Optional[int] = field(default=None, metadata={"help": "Keep only the first records."})


# ---- Data ----


def format_record(record):
    parts = [f"### Instruction\n{record['instruction']}"]
    if record.get("context"):
        parts.append(f"### Context\n{record['context']}")
    parts.append(f"### Answer\n{record['response']}")
    return "\n\n".join(parts)


# ---- Training ----


def train(script_args, training_args):
    dataset = load_dataset("json", data_files=script_args.train_file, split="train")
    if script_args.max_samples is not None:
        dataset = dataset.select(range(script_args.max_samples))

    tokenizer = AutoTokenizer.from_pretrained(script_args.model_id)
    tokenizer.pad_token = tokenizer.eos_token

    # The model is sharded over the Neuron cores while it loads.
    dtype = torch.bfloat16 if training_args.bf16 else torch.float32
    model = AutoModelForCausalLM.from_pretrained(
        script_args.model_id,
        dtype=dtype,
        # NKI kernel: faster, and no attention matrix in memory
        attn_implementation="sdpa",
        distributed_config=DistributedConfig(**parallel_sizes(tp_size=1)),
    )

    lora_config = LoraConfig(
        r=script_args.lora_r,
        lora_alpha=script_args.lora_alpha,
        lora_dropout=0.0,
        target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
        bias="none",
        task_type="CAUSAL_LM",
    )

    args = training_args.to_dict()
    sft_config = SFTConfig(
        max_length=script_args.max_seq_length,
        packing=True,
        packing_strategy="wrapped",
        **args,
    )

    trainer = SFTTrainer(
        model=model,
        args=sft_config,
        peft_config=lora_config,
        processing_class=tokenizer,
        train_dataset=dataset,
        formatting_func=format_record,
    )
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    parser = HfArgumentParser([ScriptArguments, TrainingArguments])
    parser.set_defaults(
        average_tokens_across_devices=False,
        optim="adamw_torch",
        report_to="all",
        save_only_model=True,
    )
    script_args, training_args = parser.parse_args_into_dataclasses()

    set_seed(training_args.seed)
    train(script_args, training_args)
