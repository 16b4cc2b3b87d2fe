"""Started by launch.sh, which writes run.yaml first."""
import os
import sys
from dataclasses import dataclass
from functools import partial

os.environ["NEURON_CC_FLAGS"] = "--model-type transformer --retry_failed_compilation"
os.environ["XLA_USE_BF16"] = "1"

import torch_xla.core.xla_model as xm
from datasets import load_dataset
from optimum.neuron import NeuronHfArgumentParser, NeuronTrainer, NeuronTrainingArguments
from optimum.neuron.utils import is_precompilation
from transformers import AutoModelForMaskedLM, AutoTokenizer, DataCollatorForLanguageModeling


@dataclass
class ScriptArguments:
    model: str
    data: str
    pad_to_max_length: bool = True


def main():
    parser = NeuronHfArgumentParser((ScriptArguments, NeuronTrainingArguments))
    if sys.argv[1].endswith((".yaml", ".yml")):
        script_args, training_args = parser.parse_yaml_file(sys.argv[1])
    else:
        script_args, training_args = parser.parse_args_into_dataclasses()

    world = int(os.environ.get("WORLD_SIZE", 1))
    replicas = world // getattr(training_args, "tensor_parallel_size", 1)
    print(f"{replicas} replicas of {training_args.tensor_parallel_size} cores, zero: {training_args.zero_1}")
    if is_precompilation():
        training_args.max_steps = 4
        training_args.save_strategy = "no"
    elif training_args.skip_cache_push:
        print("cache is not pushed")

    tokenizer = AutoTokenizer.from_pretrained(script_args.model)
    padding = "max_length" if script_args.pad_to_max_length else False
    dataset = load_dataset("json", data_files=script_args.data, split="train")
    dataset = dataset.map(
        lambda rows: tokenizer(rows["sentence"], padding=padding, max_length=32, truncation=True),
        batched=True,
        remove_columns=dataset.column_names,
    )
    make_trainer = partial(
        NeuronTrainer, args=training_args, tokenizer=tokenizer, data_collator=DataCollatorForLanguageModeling(tokenizer)
    )
    trainer = make_trainer(model=AutoModelForMaskedLM.from_pretrained(script_args.model), train_dataset=dataset)
    trainer.train()
    xm.rendezvous("done")
    if xm.is_master_ordinal(local=False) and not is_precompilation():
        trainer.save_model()


if __name__ == "__main__":
    main()
