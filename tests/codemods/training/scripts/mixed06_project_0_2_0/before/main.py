import sys

from arguments import RunArguments
from datasets import load_dataset
from modeling import load
from optimum.neuron import NeuronTrainer
from settings import MAX_LENGTH, TENSOR_PARALLEL_SIZE
from transformers import default_data_collator


def main(model_id, data, out):
    args = RunArguments(
        output_dir=out,
        model_id=model_id,
        data=data,
        tensor_parallel_size=TENSOR_PARALLEL_SIZE,
        max_steps=2,
        per_device_train_batch_size=2,
        save_strategy="no",
        async_save=False,
    )
    model, tokenizer = load(args.model_id, args.trn_config, bf16=args.bf16)

    def tokenize(batch):
        result = tokenizer(batch["text"], truncation=True, max_length=MAX_LENGTH)
        result["labels"] = result["input_ids"].copy()
        return result

    dataset = load_dataset("json", data_files=args.data, split="train")
    dataset = dataset.map(tokenize, batched=True, remove_columns=["text"])
    trainer = NeuronTrainer(
        model=model, args=args, train_dataset=dataset, processing_class=tokenizer, data_collator=default_data_collator
    )
    trainer.train()
    print("replicas:", args.world_size // args.tensor_parallel_size)


if __name__ == "__main__":
    main(*sys.argv[1:4])
