"""Trains a classifier on all cores: torchrun --nproc_per_node=2 data_parallel.py FOLDER"""

import json
import os
import sys

import numpy as np
import torch
import torch_xla.core.xla_model as xm
import torch_xla.distributed.parallel_loader as pl
import torch_xla.distributed.xla_backend
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

os.environ["NEURON_CC_FLAGS"] = "--model-type=transformer --cache_dir=./cache"
os.environ["NEURON_FUSE_SOFTMAX"] = "1"
torch.distributed.init_process_group("xla")

EPOCHS = 2
BATCH_SIZE = 8


def make_data(samples):
    generator = torch.Generator().manual_seed(7)
    x = torch.randn(samples, 16, generator=generator)
    return TensorDataset(x, (x[:, 0] > 0).long() + (x[:, 1] > 0).long())


def evaluate(model, loader):
    model.eval()
    correct, seen = 0, 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(-1) == y).sum().item()
            seen += len(y)
    model.train()
    return xm.mesh_reduce("accuracy", correct / seen, np.mean)


def main(folder):
    # Only the first process of a machine makes the folder.
    if xm.is_master_ordinal():
        os.makedirs(folder, exist_ok=True)
    xm.rendezvous("folder")

    torch.manual_seed(0)
    device = xm.xla_device()
    world_size = xm.xrt_world_size()
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 3)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05 * world_size, momentum=0.9)
    loss_fn = torch.nn.CrossEntropyLoss()

    train_set, test_set = make_data(128), make_data(32)
    sampler = None
    if world_size > 1:
        sampler = DistributedSampler(train_set, num_replicas=world_size, rank=xm.get_ordinal(), shuffle=True)
    train_loader = DataLoader(train_set, batch_size=BATCH_SIZE, sampler=sampler, shuffle=False)
    train_device_loader = pl.MpDeviceLoader(train_loader, device)
    test_device_loader = pl.MpDeviceLoader(DataLoader(test_set, batch_size=BATCH_SIZE), device)

    losses = []
    for epoch in range(EPOCHS):
        for step, (x, y) in enumerate(train_device_loader):
            optimizer.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            xm.optimizer_step(optimizer)  # averages the gradients, then steps
            if step % 4 == 0:
                reduced = xm.all_reduce(xm.REDUCE_SUM, loss.detach(), scale=1.0 / world_size)
                losses.append(reduced.item())
        accuracy = evaluate(model, test_device_loader)
        xm.master_print(f"epoch {epoch}: accuracy {accuracy:.3f} on {xm.xrt_world_size()} cores", flush=True)

    xm.save({"model": model.state_dict(), "losses": losses}, os.path.join(folder, "checkpoint.pt"))
    if xm.is_master_ordinal(local=False):
        with open(os.path.join(folder, "losses.json"), "w") as file:
            json.dump({"losses": losses, "accuracy": accuracy}, file)


if __name__ == "__main__":
    main(sys.argv[1])
