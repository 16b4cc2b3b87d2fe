"""What PEFT writes: adapter_config.json and adapter_model.safetensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.layouts import Request, adapter_config_of, small_files
from neuron_shim.checkpoint.safetensors_file import read_header
from neuron_shim.checkpoint.source import ADAPTER_CONFIG, Checkpoint

NAME = "a PEFT adapter"
IS_ADAPTER = True
WEIGHTS = "adapter_model.safetensors"
SHARDED = "adapter_shards"  # of Optimum Neuron, which keeps the same config beside them


def evidence(source: Any) -> tuple[str, ...]:
    if not isinstance(source, Path):
        return ()
    if (source / SHARDED).is_dir() and not (source / WEIGHTS).is_file():
        return ()
    return tuple(name for name in (WEIGHTS, ADAPTER_CONFIG) if (source / name).is_file())


def open_checkpoint(source: Path, request: Request) -> Checkpoint:
    if not (source / WEIGHTS).is_file():
        pickled = " (adapter_model.bin is a pickle and is not read)" if (source / "adapter_model.bin").exists() else ""
        raise ExportError(f"{source / WEIGHTS} is missing{pickled}.")
    config = adapter_config_of(source)
    companions, left, notes = small_files(source, config, request)
    tensors = tuple(read_header(source / WEIGHTS).tensors())
    return Checkpoint(
        NAME, tensors, config, companions, is_adapter=True, left_behind=left, notes=notes, independent=True
    )
