from dataclasses import dataclass

import torch
from datasets import load_dataset
from optimum.neuron import NeuronHfArgumentParser, NeuronTrainer, NeuronTrainingArguments
from optimum.neuron.models.training import LlamaForCausalLM, NeuronModelForCausalLM, Qwen3ForCausalLM
from transformers import AutoTokenizer, default_data_collator


@dataclass
class ScriptArguments:
    model_id: str
    data: str
    kind: str = "auto"


def load(script_args, training_args):
    cls = {"llama": LlamaForCausalLM, "qwen3": Qwen3ForCausalLM}.get(script_args.kind)
    if cls is not None:
        return cls.from_pretrained(script_args.model_id, training_args.trn_config)
    return NeuronModelForCausalLM.from_pretrained(
        script_args.model_id,
        trn_config=training_args.trn_config,
        torch_dtype=torch.bfloat16,
        attn_implementation="flash_attention_2",
    )


def main():
    parser = NeuronHfArgumentParser((ScriptArguments, NeuronTrainingArguments))
    script_args, training_args = parser.parse_args_into_dataclasses()
    tokenizer = AutoTokenizer.from_pretrained(script_args.model_id)
    model = load(script_args, training_args)
    dataset = load_dataset("json", data_files=script_args.data, split="train")

    def tokenize(batch):
        result = tokenizer(batch["text"], truncation=True, max_length=64)
        result["labels"] = result["input_ids"].copy()
        return result

    dataset = dataset.map(tokenize, batched=True, remove_columns=dataset.column_names)
    trainer = NeuronTrainer(
        model=model,
        args=training_args,
        train_dataset=dataset,
        tokenizer=tokenizer,
        data_collator=default_data_collator,
    )
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
