"""Compiles a classifier ahead of time and asks it: traced_inference.py FOLDER"""

import json
import os
import sys

import torch
from accelerate.utils import send_to_device
from neuron_shim import compile_static, neuron_device
from torch.utils.data import DataLoader, TensorDataset


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4))

    def forward(self, x, mask):
        return self.layers(x * mask).softmax(-1)


def main(folder):
    os.makedirs(folder, exist_ok=True)
    rank, world_size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    torch.manual_seed(0)
    model = Classifier()
    model.eval()

    example = (torch.rand(4, 8), torch.ones(4, 8))
    filename = os.path.join(folder, f"model-{rank}.pt")
    model_neuron = compile_static(model.to(neuron_device()).requires_grad_(False))

    x = torch.linspace(0, 1, 32 * 8).view(32, 8)
    loader = DataLoader(
        TensorDataset(x[rank::world_size], torch.ones(32 // world_size, 8)), batch_size=4, drop_last=True
    )
    answers = []
    for inputs in loader:
        scores = send_to_device(model_neuron(*send_to_device(inputs, neuron_device())), "cpu")
        answers += scores.numpy().max(axis=-1).tolist()
    with open(os.path.join(folder, f"answers-{rank}.json"), "w") as file:
        json.dump(answers, file)


if __name__ == "__main__":
    main(sys.argv[1])
