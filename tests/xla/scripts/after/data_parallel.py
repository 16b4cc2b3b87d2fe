"""Trains a classifier on all cores: torchrun --nproc_per_node=2 data_parallel.py FOLDER"""

import json
import os
import sys

import numpy as np
import torch
from accelerate.utils import send_to_device
from neuron_shim import average_gradients, is_main_process, neuron_device
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

os.environ["NEURON_CC_FLAGS"] = "--model-type=transformer"
torch.distributed.init_process_group()

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
            x, y = send_to_device((x, y), neuron_device())
            correct += (model(x).argmax(-1) == y).sum().item()
            seen += len(y)
    model.train()
    gathered = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(gathered, send_to_device(correct / seen, "cpu"))
    return np.mean(gathered)


def main(folder):
    # Only the first process of a machine makes the folder.
    if torch.distributed.get_node_local_rank(0) == 0:
        os.makedirs(folder, exist_ok=True)
    torch.distributed.barrier()

    torch.manual_seed(0)
    device = neuron_device()
    world_size = torch.distributed.get_world_size()
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 3)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05 * world_size, momentum=0.9)
    loss_fn = torch.nn.CrossEntropyLoss()

    train_set, test_set = make_data(128), make_data(32)
    sampler = None
    if world_size > 1:
        sampler = DistributedSampler(train_set, num_replicas=world_size, rank=torch.distributed.get_rank(), shuffle=True)
    train_loader = DataLoader(
        train_set,
        batch_size=BATCH_SIZE,
        sampler=sampler,
        shuffle=False,
        drop_last=True,
    )
    test_device_loader = DataLoader(test_set, batch_size=BATCH_SIZE)

    losses = []
    for epoch in range(EPOCHS):
        for step, (x, y) in enumerate(train_loader):
            x, y = send_to_device((x, y), device)
            optimizer.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            average_gradients(optimizer)  # averages the gradients, then steps
            optimizer.step()
            if step % 4 == 0:
                reduced = loss.detach().clone()
                torch.distributed.all_reduce(reduced)
                reduced *= 1.0 / world_size
                losses.append(reduced.item())
        accuracy = evaluate(model, test_device_loader)
        if is_main_process():
            print(f"epoch {epoch}: accuracy {accuracy:.3f} on {torch.distributed.get_world_size()} cores", flush=True)

    if is_main_process():
        torch.save(send_to_device({"model": model.state_dict(), "losses": losses}, "cpu"), os.path.join(folder, "checkpoint.pt"))
    torch.distributed.barrier()
    if is_main_process():
        with open(os.path.join(folder, "losses.json"), "w") as file:
            json.dump({"losses": losses, "accuracy": accuracy}, file)


if __name__ == "__main__":
    main(sys.argv[1])
