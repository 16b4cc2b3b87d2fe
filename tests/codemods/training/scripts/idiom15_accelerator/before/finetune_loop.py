import argparse

import torch
from datasets import load_dataset
from optimum.neuron import NeuronAccelerator
from optimum.neuron.distributed import make_optimizer_constructor_lazy
from optimum.neuron.models.training import NeuronModelForCausalLM, TrainingNeuronConfig
from torch.utils.data import DataLoader
from transformers import AutoTokenizer, default_data_collator, get_scheduler


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_id")
    parser.add_argument("--data")
    parser.add_argument("--output_dir")
    args = parser.parse_args()

    trn_config = TrainingNeuronConfig(
        tensor_parallel_size=8,
        pipeline_parallel_size=1,
        sequence_parallel_enabled=True,
        checkpoint_dir=None,
    )
    accelerator = NeuronAccelerator(
        trn_config=trn_config,
        zero_1=True,
        mixed_precision="bf16",
        gradient_accumulation_steps=2,
    )
    model = NeuronModelForCausalLM.from_pretrained(args.model_id, trn_config, torch_dtype=torch.bfloat16)
    model = accelerator.patch_model_for_neuron(model)
    tokenizer = AutoTokenizer.from_pretrained(args.model_id)

    def tokenize(batch):
        result = tokenizer(batch["text"], truncation=True, max_length=64)
        result["labels"] = result["input_ids"].copy()
        return result

    dataset = load_dataset("json", data_files=args.data, split="train").select(range(8))
    dataset = dataset.map(tokenize, batched=True, remove_columns=["text"])
    loader = DataLoader(dataset, batch_size=2, collate_fn=default_data_collator, drop_last=True)
    AdamW = make_optimizer_constructor_lazy(torch.optim.AdamW)
    optimizer = AdamW(model.parameters(), lr=5e-4)
    scheduler = get_scheduler("linear", optimizer, num_warmup_steps=0, num_training_steps=len(loader))

    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    model.train()
    for step, batch in enumerate(loader):
        with accelerator.accumulate(model):
            loss = model(**batch).loss
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0, postpone_clipping_to_optimizer_step=True)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        if accelerator.is_local_main_process:
            print(f"step {step}: {loss.item():.4f}")
    accelerator.wait_for_everyone()
    accelerator.unwrap_model(model).save_pretrained(args.output_dir)


if __name__ == "__main__":
    main()
