import argparse

import torch
from datasets import load_dataset
from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
from optimum.neuron.distributed import lazy_load_for_parallelism
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_id")
    parser.add_argument("--data")
    parser.add_argument("--output_dir")
    args = parser.parse_args()

    training_args = NeuronTrainingArguments(
        output_dir=args.output_dir,
        per_device_train_batch_size=2,
        max_steps=3,
        logging_steps=1,
        tensor_parallel_size=2,
        pipeline_parallel_size=1,
    )

    with lazy_load_for_parallelism(
        tensor_parallel_size=training_args.tensor_parallel_size,
        pipeline_parallel_size=training_args.pipeline_parallel_size,
    ):
        # Only this rank's share of the weights is in memory.
        model = AutoModelForCausalLM.from_pretrained(args.model_id, torch_dtype=torch.float32)
        model.config.use_cache = False

    tokenizer = AutoTokenizer.from_pretrained(args.model_id)
    dataset = load_dataset("json", data_files=args.data, split="train")
    dataset = dataset.map(
        lambda rows: tokenizer(rows["text"], truncation=True, max_length=64), batched=True, remove_columns=["text"]
    )
    trainer = NeuronTrainer(
        model,
        training_args,
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
        train_dataset=dataset,
        tokenizer=tokenizer,
    )
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
