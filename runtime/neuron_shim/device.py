"""Which device this process computes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_shim.environment import local_rank, world_size
from neuron_shim.notice import say_once

if TYPE_CHECKING:
    import torch


def neuron_device() -> torch.device:
    """The device of this process: a NeuronCore, else another accelerator, else the CPU.

    On Neuron the device carries no index: TorchNeuron binds each process of a run to the core of its LOCAL_RANK,
    which is then the only one it sees
    (https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/guides/torch-distributed.html). On a machine with
    several GPUs the index is LOCAL_RANK, as in accelerate (accelerate/state.py, ``PartialState.set_device``); without
    a launcher it is left to torch. Only names the device, and starts no runtime, so it may be called before the
    process group exists (not verified on hardware).

    Says once, on rank 0, if the device is not a NeuronCore.

    Raises:
        ValueError: LOCAL_RANK or WORLD_SIZE is set and is not a whole number.
    """
    import torch

    kind = accelerator_kind()
    if kind == "neuron":
        return torch.device("neuron")
    if kind is None:
        device = torch.device("cpu")
    elif (rank := local_rank()) is None:
        device = torch.device(kind)
    else:
        # A launcher may show each process a single GPU, which then has index 0 whatever the rank.
        device = torch.device(kind, rank % max(torch.accelerator.device_count(), 1))
    say_once("device", f"no Neuron device found, running on {device.type}.")
    return device


def accelerator_kind() -> str | None:
    """The device type that this run can use, such as "neuron" or "cuda"; None if only the CPU is left.

    "mps" counts in a single process only: neither torch.distributed nor accelerate can spread a run over it
    (transformers/distributed/utils.py, ``_ensure_torch_distributed``, falls back to the CPU too).
    """
    import torch

    # The same question as transformers' is_torch_neuron_available (transformers/utils/import_utils.py), which the
    # libraries ask before they create the process group: it must not start the Neuron runtime.
    neuron = getattr(torch, "neuron", None)
    if neuron is not None and neuron.is_available():
        return "neuron"
    if not torch.accelerator.is_available():
        return None
    found = torch.accelerator.current_accelerator()
    if found is None or (found.type == "mps" and world_size() > 1):
        return None
    return str(found.type)
