from dataclasses import dataclass

import torch
from datasets import load_dataset
from neuron_shim import configure, parallel_sizes
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    HfArgumentParser,
    LlamaForCausalLM,
    Qwen3ForCausalLM,
    Trainer,
    TrainingArguments,
    default_data_collator,
)
from transformers.distributed import DistributedConfig

configure()


@dataclass
class ScriptArguments:
    model_id: str
    data: str
    kind: str = "auto"


def load(script_args, training_args):
    cls = {"llama": LlamaForCausalLM, "qwen3": Qwen3ForCausalLM}.get(script_args.kind)
    if cls is not None:
        return cls.from_pretrained(
            script_args.model_id,
            distributed_config=DistributedConfig(**parallel_sizes(model=script_args.model_id)),
            dtype=torch.float32,
        )
    return AutoModelForCausalLM.from_pretrained(
        script_args.model_id,
        dtype=torch.float32,
        attn_implementation="sdpa",
        distributed_config=DistributedConfig(**parallel_sizes(model=script_args.model_id)),
    )


def main():
    parser = HfArgumentParser((ScriptArguments, TrainingArguments))
    parser.set_defaults(optim="adamw_torch", report_to="all", save_only_model=True)
    script_args, training_args = parser.parse_args_into_dataclasses()
    tokenizer = AutoTokenizer.from_pretrained(script_args.model_id)
    model = load(script_args, training_args)
    dataset = load_dataset("json", data_files=script_args.data, split="train")

    def tokenize(batch):
        result = tokenizer(batch["text"], truncation=True, max_length=64)
        result["labels"] = result["input_ids"].copy()
        return result

    dataset = dataset.map(tokenize, batched=True, remove_columns=dataset.column_names)
    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=dataset,
        processing_class=tokenizer,
        data_collator=default_data_collator,
    )
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
