"""The state of an optimizer as Trainer saves it, for it to go on: optimizer.pt."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from neuron_shim.checkpoint.dtypes import torch_dtype
from neuron_shim.checkpoint.safetensors_file import Entry, write_tensor
from neuron_shim.checkpoint.tensors import Tensor
from neuron_shim.checkpoint.torch_file import read_torch_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from neuron_shim.checkpoint.source import Checkpoint

NAME = "optimizer.pt"


@dataclass(frozen=True)
class OptimizerState:
    """What ``torch.optim.Optimizer.state_dict`` returns, with the parameters numbered as Trainer numbers them."""

    values: Mapping[int, Mapping[str, Any]]
    """Tensors, and plain values, of each parameter."""

    groups: Sequence[Mapping[str, Any]]
    files: Mapping[str, Path]
    """What else Trainer reads when it resumes."""

    notes: tuple[str, ...]

    @property
    def tensors(self) -> list[Tensor]:
        return [value for values in self.values.values() for value in values.values() if isinstance(value, Tensor)]

    @property
    def bytes(self) -> int:
        return sum(tensor.nbytes for tensor in self.tensors)


class SavedOptimizer(Protocol):
    """What a run saved of its optimizer."""

    @property
    def has_masters(self) -> bool:
        """Whether it has the weights too, in fp32."""

    def state(self, settle: Callable[[Checkpoint], Checkpoint]) -> OptimizerState:
        """The state for Trainer, given what decides about copies that differ."""

    def with_masters(self, checkpoint: Checkpoint) -> Checkpoint:
        """The checkpoint with the weights in fp32."""


def write_optimizer(
    path: Path, state: OptimizerState, counted: Callable[[Tensor], Tensor], written: Callable[[Entry, int], None]
) -> None:
    """Write it as ``torch.save`` does, with one piece of one tensor in memory.

    torch makes the file, with the places of the tensors left empty
    (https://docs.pytorch.org/docs/stable/notes/serialization.html, ``torch.serialization.skip_data``).
    """
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    def empty(value: Any) -> Any:
        return torch.empty(value.shape, dtype=torch_dtype(value.dtype)) if isinstance(value, Tensor) else value

    with FakeTensorMode(), torch.serialization.skip_data(materialize_fake_tensors=True):
        values = {
            number: {key: empty(value) for key, value in fields.items()} for number, fields in state.values.items()
        }
        torch.save({"state": values, "param_groups": [dict(group) for group in state.groups]}, path)
    places = read_torch_file(path)["state"]
    with open(path, "r+b", buffering=0) as file:
        for number, fields in state.values.items():
            for key, value in fields.items():
                if isinstance(value, Tensor):
                    start = places[number][key].start
                    file.seek(start)
                    write_tensor(file, counted(value), start, written)
        os.fsync(file.fileno())
