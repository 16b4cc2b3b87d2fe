"""What ``save_pretrained`` and Trainer write: model.safetensors, or shards and model.safetensors.index.json."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.layouts import Request, config_of, small_files
from neuron_shim.checkpoint.safetensors_file import read_header
from neuron_shim.checkpoint.source import Checkpoint, read_json

if TYPE_CHECKING:
    from neuron_shim.checkpoint.tensors import Tensor

NAME = "a model folder"
SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
SHARDS = "model-?????-of-?????.safetensors"


def evidence(source: Any) -> tuple[str, ...]:
    if not isinstance(source, Path):
        return ()
    names = (path.name for path in sorted(source.iterdir()))
    return tuple(name for name in names if name in (SINGLE, INDEX) or fnmatch.fnmatchcase(name, SHARDS))


def open_checkpoint(source: Path, request: Request) -> Checkpoint:
    found = evidence(source)
    tensors = _indexed(source, found) if INDEX in found else _single(source, found)
    config = config_of(source, request)
    companions, left, notes = small_files(source, config, request)
    return Checkpoint(NAME, tensors, config, companions, left_behind=left, notes=notes, independent=True)


def _single(source: Path, found: tuple[str, ...]) -> tuple[Tensor, ...]:
    if found == (SINGLE,):
        return tuple(read_header(source / SINGLE).tensors())
    shard = next(name for name in found if name != SINGLE)
    if SINGLE in found:
        raise ExportError(f"{source} holds {SINGLE} and {shard} without an index: the files of two runs are mixed.")
    raise ExportError(
        f"{source / INDEX} is missing, though there is {shard}: the checkpoint was interrupted while it was saved."
    )


def _indexed(source: Path, found: tuple[str, ...]) -> tuple[Tensor, ...]:
    where = read_json(source / INDEX).get("weight_map")
    if not isinstance(where, dict) or not all(isinstance(name, str) for name in where.values()):
        raise ExportError(f"{source / INDEX} has no weight_map.")
    files = sorted(set(where.values()))
    if missing := [name for name in files if Path(name).name != name or not (source / name).is_file()]:
        raise ExportError(
            f"{missing[0]} is missing from {source}: {len(missing)} of {len(files)} shards are not there."
        )
    if strangers := [name for name in found if name not in (INDEX, *files)]:
        raise ExportError(
            f"{source} holds {strangers[0]}, which {INDEX} does not name (it names {files[0]} and {len(files) - 1} "
            f"more): the files of two runs are mixed."
        )
    tensors = [tensor for name in files for tensor in read_header(source / name).tensors()]
    held = {tensor.name: tensor.origin for tensor in tensors}
    if differing := sorted(name for name in held.keys() | where if held.get(name) != where.get(name)):
        name = differing[0]
        raise ExportError(
            f"{name} is in {held.get(name, 'no shard')} of {source}, but {INDEX} says {where.get(name, 'nothing')}: "
            f"the files of two runs are mixed."
        )
    if len(held) != len(tensors):
        raise ExportError(f"{source} holds {len(tensors) - len(held)} tensors in two shards.")
    return tuple(tensors)
