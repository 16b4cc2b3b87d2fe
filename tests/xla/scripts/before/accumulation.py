"""Trains a small language model with accumulated gradients, in processes of xmp.spawn: accumulation.py FOLDER"""

import argparse
import json
import os

import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.debug.metrics as met
import torch_xla.distributed.parallel_loader as pl
import torch_xla.distributed.xla_multiprocessing as xmp
import torch_xla.runtime as xr
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
        self.device = torch_xla.device()
        self.rank, self.world_size = xr.global_ordinal(), xr.world_size()
        torch.manual_seed(3)
        self.model = Model().to(self.device)
        xm.broadcast_master_param(self.model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=flags.lr)
        dataset = Tokens()
        sampler = DistributedSampler(dataset, self.world_size, self.rank, shuffle=False)
        loader = DataLoader(dataset, batch_size=2, sampler=sampler, drop_last=True)
        self.loader = pl.MpDeviceLoader(loader, self.device, loader_prefetch_size=4)
        self.losses = []

    def log(self, step, loss, norm):
        self.losses.append(loss.item())
        if self.rank == 0:
            print(f"step {step}: loss {loss.item():.4f}, norm {norm:.4f}", flush=True)

    def train(self):
        step, running = 0, torch.zeros(1, device=self.device)
        for micro, batch in enumerate(self.loader, start=1):
            with torch_xla.step():
                logits = self.model(batch["input_ids"])
                loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten())
                (loss / ACCUMULATION).backward()
                running += loss.detach() / ACCUMULATION
            if micro % ACCUMULATION:
                continue
            # All-reduce and then clip: the order matters.
            xm.reduce_gradients(self.optimizer)
            norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
            self.optimizer.step()
            self.optimizer.zero_grad()
            mean = xm.all_reduce("sum", running / self.world_size)
            step += 1
            xm.add_step_closure(self.log, args=(step, mean, norm))
            running.zero_()
            xm.mark_step()
            if step == MAX_STEPS:
                break
        xm.wait_device_ops()


def main(index, flags):
    trainer = Trainer(flags)
    trainer.train()
    xm.rendezvous("trained")
    if index == 0:
        xm.master_print(met.metrics_report())
        xm.save(trainer.model.state_dict(), os.path.join(flags.folder, "model.pt"), master_only=False)
        with open(os.path.join(flags.folder, "losses.json"), "w") as file:
            json.dump({"losses": trainer.losses}, file)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--lr", type=float, default=0.01)
    flags = parser.parse_args()
    os.makedirs(flags.folder, exist_ok=True)
    os.environ["XLA_IR_DEBUG"] = "1"
    os.environ["NEURONCORE_NUM_DEVICES"] = "2"
    xmp.spawn(main, args=(flags,), start_method="fork")
