from dataclasses import dataclass, field

import torch
from datasets import load_dataset
from neuron_shim import configure, parallel_sizes
from trl import SFTConfig, SFTTrainer
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, HfArgumentParser, TrainingArguments, set_seed
from transformers.distributed import DistributedConfig

configure()


def format_dolly(examples):
    instruction = f"### Instruction\n{examples['instruction']}"
    context = f"### Context\n{examples['context']}" if len(examples["context"]) > 0 else None
    response = f"### Answer\n{examples['response']}"
    prompt = "\n\n".join([i for i in [instruction, context, response] if i is not None])
    return prompt


def training_function(script_args, training_args):
    dataset = load_dataset("json", data_files=script_args.data, split="train")

    tokenizer = AutoTokenizer.from_pretrained(script_args.model_id)
    tokenizer.pad_token = tokenizer.eos_token

    model = AutoModelForCausalLM.from_pretrained(
        script_args.model_id,
        dtype=torch.bfloat16 if training_args.bf16 else torch.float32,
        distributed_config=DistributedConfig(**parallel_sizes(tp_size=1)),
    )

    config = LoraConfig(
        r=16,
        lora_alpha=16,
        lora_dropout=0.05,
        target_modules=["q_proj", "gate_proj", "v_proj", "o_proj", "k_proj", "up_proj", "down_proj"],
        bias="none",
        task_type="CAUSAL_LM",
    )

    args = training_args.to_dict()
    sft_config = SFTConfig(
        max_length=1024,
        packing=False,
        **args,
        dataset_kwargs={"add_special_tokens": False, "append_concat_token": True},
    )

    trainer = SFTTrainer(
        args=sft_config,
        model=model,
        peft_config=config,
        processing_class=tokenizer,
        train_dataset=dataset,
        formatting_func=format_dolly,
    )

    trainer.train()
    trainer.save_model(training_args.output_dir)


@dataclass
class ScriptArguments:
    model_id: str = field(default="meta-llama/Meta-Llama-3-8B", metadata={"help": "The model to train from."})
    data: str = field(default="dolly.jsonl")


def main():
    parser = HfArgumentParser([ScriptArguments, TrainingArguments])
    parser.set_defaults(
        average_tokens_across_devices=False,
        optim="adamw_torch",
        report_to="all",
        save_only_model=True,
    )
    script_args, training_args = parser.parse_args_into_dataclasses()

    set_seed(training_args.seed)
    training_function(script_args, training_args)


if __name__ == "__main__":
    main()
