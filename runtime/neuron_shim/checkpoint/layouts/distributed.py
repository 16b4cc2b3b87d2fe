"""What ``save_pretrained(distributed_checkpoint=True)`` writes: shard-NNNNN-model-00001-of-00001.safetensors a rank.

Each file says in its metadata where its blocks begin (torch/distributed/checkpoint/_hf_utils.py, DCP_SHARDING_INFO).
None says how large a tensor is or how many files there were, so the architecture is asked whether all is there.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.layouts import Request, config_of, small_files
from neuron_shim.checkpoint.layouts._blocks import Block, assembled
from neuron_shim.checkpoint.layouts._in_memory_names import Expected
from neuron_shim.checkpoint.safetensors_file import read_header
from neuron_shim.checkpoint.source import Checkpoint

if TYPE_CHECKING:
    from neuron_shim.checkpoint.safetensors_file import Header

NAME = "a distributed checkpoint of safetensors"
_SHARD = re.compile(r"shard-\d{5}-model-\d{5}-of-(\d{5})\.safetensors")


def evidence(source: Any) -> tuple[str, ...]:
    if not isinstance(source, Path):
        return ()
    return tuple(path.name for path in sorted(source.iterdir()) if _SHARD.fullmatch(path.name))


def open_checkpoint(source: Path, request: Request) -> Checkpoint:
    files = evidence(source)
    counts = {match[1]: name for name in files if (match := _SHARD.fullmatch(name))}
    if len(counts) > 1:
        raise ExportError(f"{' and '.join(counts.values())} are of two runs, and are mixed in {source}.")
    blocks: dict[str, list[Block]] = {}
    for name in files:
        header = read_header(source / name)
        offsets = _offsets(header)
        for entry in header.entries:
            block = Block(header.tensor(entry), offsets[entry.name], header.path, entry.start)
            blocks.setdefault(entry.name, []).append(block)
    config = config_of(source, request)
    expected = Expected(config)
    expected.check_names(blocks, source)
    found = f"{len(files)} shards, {files[0]} to {files[-1]}"
    tensors = tuple(
        assembled(name, parts, source, shape=expected.shape(name), files=found) for name, parts in blocks.items()
    )
    companions, left, notes = small_files(source, config, request)
    return Checkpoint(
        NAME,
        expected.as_in_files(tensors),
        config,
        companions,
        left_behind=tuple(name for name in left if name not in files),
        notes=(*expected.notes, *notes),
    )


def _offsets(header: Header) -> dict[str, tuple[int, ...]]:
    try:
        told = json.loads(header.metadata["DCP_SHARDING_INFO"])
        return {entry.name: tuple(told[entry.name]["saved_offsets"]) for entry in header.entries}
    except (KeyError, ValueError, TypeError) as error:
        raise ExportError(f"{header.path} does not say where its parts belong ({error}).") from error
