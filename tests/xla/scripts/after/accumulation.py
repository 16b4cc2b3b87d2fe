"""Trains a small language model with accumulated gradients, in processes of xmp.spawn: accumulation.py FOLDER"""

import argparse
import json
import os

import torch
from accelerate.utils import send_to_device
from neuron_shim import average_gradients, neuron_device
from torch.utils.data import DataLoader, Dataset, DistributedSampler

ACCUMULATION = 4
MAX_STEPS = 6


class Tokens(Dataset):
    """Sequences in which each token follows from the one before."""

    def __len__(self):
        return 112

    def __getitem__(self, index):
        ids = (torch.arange(13) * (index % 5 + 1) + index) % 17
        return {"input_ids": ids[:-1], "labels": ids[1:]}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(17, 24)
        self.body = torch.nn.Sequential(torch.nn.Linear(24, 48), torch.nn.Tanh(), torch.nn.Linear(48, 24))
        self.head = torch.nn.Linear(24, 17)

    def forward(self, input_ids):
        return self.head(self.body(self.embedding(input_ids)))


class Trainer:
    def __init__(self, flags):
        self.flags = flags
        self.device = neuron_device()
        self.rank, self.world_size = torch.distributed.get_rank(), torch.distributed.get_world_size()
        torch.manual_seed(3)
        self.model = Model().to(self.device)
        for tensor in (*self.model.parameters(), *self.model.buffers()):
            torch.distributed.broadcast(tensor.detach(), src=0)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=flags.lr)
        dataset = Tokens()
        sampler = DistributedSampler(dataset, self.world_size, self.rank, shuffle=False)
        loader = DataLoader(dataset, batch_size=2, sampler=sampler, drop_last=True)
        self.loader = loader
        self.losses = []

    def log(self, step, loss, norm):
        self.losses.append(loss.item())
        if self.rank == 0:
            print(f"step {step}: loss {loss.item():.4f}, norm {norm:.4f}", flush=True)

    def train(self):
        step, running = 0, torch.zeros(1, device=self.device)
        for micro, batch in enumerate(self.loader, start=1):
            batch = send_to_device(batch, self.device)
            logits = self.model(batch["input_ids"])
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten())
            (loss / ACCUMULATION).backward()
            running += loss.detach() / ACCUMULATION
            if micro % ACCUMULATION:
                continue
            # All-reduce and then clip: the order matters.
            average_gradients(self.optimizer)
            norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
            self.optimizer.step()
            self.optimizer.zero_grad()
            mean = (running / self.world_size).detach().clone()
            torch.distributed.all_reduce(mean)
            step += 1
            self.log(step, mean, norm)
            running.zero_()
            if step == MAX_STEPS:
                break
        if torch.accelerator.is_available():
            torch.accelerator.synchronize()


def main(index, flags):
    trainer = Trainer(flags)
    trainer.train()
    torch.distributed.barrier()
    if index == 0:
        torch.save(send_to_device(trainer.model.state_dict(), "cpu"), os.path.join(flags.folder, "model.pt"))
        with open(os.path.join(flags.folder, "losses.json"), "w") as file:
            json.dump({"losses": trainer.losses}, file)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--lr", type=float, default=0.01)
    flags = parser.parse_args()
    os.makedirs(flags.folder, exist_ok=True)
    torch.distributed.init_process_group()
    main(torch.distributed.get_rank(), flags)
