import argparse

import torch
from datasets import load_dataset
from accelerate import Accelerator, ParallelismConfig
from neuron_shim import configure, parallel_sizes
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, default_data_collator, get_scheduler
from transformers.distributed import DistributedConfig

configure()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_id")
    parser.add_argument("--data")
    parser.add_argument("--output_dir")
    args = parser.parse_args()

    sizes = parallel_sizes(tp_size=8, model=args.model_id)
    accelerator = Accelerator(
        mixed_precision="bf16",
        gradient_accumulation_steps=2,
        parallelism_config=ParallelismConfig(tp_size=sizes["tp_size"], dp_shard_size=sizes["fsdp_size"]),
    )
    model = AutoModelForCausalLM.from_pretrained(
        args.model_id,
        dtype=torch.float32,
        distributed_config=DistributedConfig(**parallel_sizes(tp_size=8, model=args.model_id)),
    )
    tokenizer = AutoTokenizer.from_pretrained(args.model_id)

    def tokenize(batch):
        result = tokenizer(batch["text"], truncation=True, max_length=64)
        result["labels"] = result["input_ids"].copy()
        return result

    dataset = load_dataset("json", data_files=args.data, split="train").select(range(8))
    dataset = dataset.map(tokenize, batched=True, remove_columns=["text"])
    loader = DataLoader(dataset, batch_size=2, collate_fn=default_data_collator, drop_last=True)
    AdamW = torch.optim.AdamW
    optimizer = AdamW(model.parameters(), lr=5e-4)
    scheduler = get_scheduler("linear", optimizer, num_warmup_steps=0, num_training_steps=len(loader))

    model = accelerator.prepare_model(model, evaluation_mode=True)
    optimizer, loader, scheduler = accelerator.prepare(optimizer, loader, scheduler)
    model.train()
    for step, batch in enumerate(loader):
        with accelerator.accumulate(model):
            loss = model(**batch).loss
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        if accelerator.is_local_main_process:
            print(f"step {step}: {loss.item():.4f}")
    accelerator.wait_for_everyone()
    accelerator.unwrap_model(model).save_pretrained(args.output_dir)


if __name__ == "__main__":
    main()
