"""A stand-in for TorchNeuron on a machine without it: the device can be named and found, nothing more.

Renaming torch's private backend cannot be undone, so only processes of their own import this. What touches the
stand-in beyond asking whether it is there is recorded in ``touched``: on Neuron, that would start its runtime.
"""

from __future__ import annotations

import types

import torch

touched: list[str] = []


class _Neuron(types.ModuleType):
    def is_available(self) -> bool:
        return True

    def __getattr__(self, name: str) -> object:
        if not name.startswith("__"):
            touched.append(name)
        raise AttributeError(name)


torch.utils.rename_privateuse1_backend("neuron")
torch._register_device_module("neuron", _Neuron("torch.neuron"))
