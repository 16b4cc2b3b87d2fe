"""Train a causal language model in a loop of its own, with the optimizer of transformers, as scripts of 2022 did."""

import argparse

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, Dataset
from transformers import AdamW, AutoModelForCausalLM, AutoTokenizer, get_scheduler


class Lines(Dataset):
    def __init__(self, tokenizer, path, max_len):
        self.tokenizer = tokenizer
        self.max_len = max_len
        with open(path) as file:
            self.lines = [line for line in file.read().splitlines() if line]

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        encoded = self.tokenizer.encode_plus(
            self.lines[index],
            None,
            add_special_tokens=True,
            max_length=self.max_len,
            pad_to_max_length=True,
            truncation=True,
        )
        ids = torch.tensor(encoded["input_ids"], dtype=torch.long)
        mask = torch.tensor(encoded["attention_mask"], dtype=torch.long)
        return {"input_ids": ids, "attention_mask": mask, "labels": ids.masked_fill(mask == 0, -100)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--train_file", required=True)
    parser.add_argument("--output_dir", required=True)
    parser.add_argument("--fp16", action="store_true")
    parser.add_argument("--warmup_ratio", type=float, default=0.1)
    args = parser.parse_args()

    accelerator = Accelerator(cpu=True, dispatch_batches=None)
    tokenizer = AutoTokenizer.from_pretrained(args.model, use_fast=True, use_auth_token=False)
    model = AutoModelForCausalLM.from_pretrained(args.model, low_cpu_mem_usage=True, torch_dtype=torch.float32)

    no_decay = ["bias", "norm.weight"]
    groups = [
        {"params": [p for n, p in model.named_parameters() if not any(d in n for d in no_decay)], "weight_decay": 0.1},
        {"params": [p for n, p in model.named_parameters() if any(d in n for d in no_decay)], "weight_decay": 0.0},
    ]
    optimizer = AdamW(groups, lr=5e-4, correct_bias=True, no_deprecation_warning=True)
    loader = DataLoader(Lines(tokenizer, args.train_file, 32), batch_size=4, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    steps = len(loader)
    scheduler = get_scheduler("linear", optimizer, int(args.warmup_ratio * steps), steps)

    model.train()
    losses = []
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0], losses
    accelerator.unwrap_model(model).save_pretrained(args.output_dir, safe_serialization=False)
    tokenizer.save_pretrained(args.output_dir)


if __name__ == "__main__":
    main()
