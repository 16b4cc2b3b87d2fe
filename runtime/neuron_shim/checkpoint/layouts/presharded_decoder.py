"""A decoder that was exported for inference with its weights: checkpoint/weights/tpN_sharded_checkpoint.safetensors.

Optimum Neuron 0.2 to 0.4.5 writes them when a local model is exported, one file for each core. Queries keep their
order; a key/value head is repeated beside itself, T / K times where K divides T, else as often as queries need it.
What is uneven is padded with zeros, which are cut off again
(models/inference/backend/modules/attention/gqa.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.layouts import Request, config_of
from neuron_shim.checkpoint.layouts._assembly import model_of
from neuron_shim.checkpoint.layouts._consolidation import Whole
from neuron_shim.checkpoint.layouts._rank_files import listed, ranks_of
from neuron_shim.checkpoint.layouts._target import target_of
from neuron_shim.checkpoint.safetensors_file import read_header
from neuron_shim.checkpoint.source import read_json
from neuron_shim.checkpoint.stored import Slice, Stored, stored_in, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from neuron_shim.checkpoint.source import Checkpoint

NAME = "a decoder exported by Optimum Neuron 0.2 to 0.4 for inference"
NEURON_CONFIG = "neuron_config.json"
_FILE = re.compile(r"tp(?P<tp>\d+)_sharded_checkpoint\.safetensors")
_RENAMED = (
    (".qkv_proj.", "."),
    (".o_proj.o_proj.", ".o_proj."),
    (".q_layernorm.", ".q_norm."),
    (".k_layernorm.", ".k_norm."),
)


def evidence(source: Any) -> tuple[str, ...]:
    if not isinstance(source, Path):
        return ()
    files = tuple(str(path.relative_to(source)) for path in _weights(source).values())
    alone = (source / NEURON_CONFIG).is_file() and (source / "model.pt").is_file()
    return files or ((NEURON_CONFIG,) if alone else ())


def _weights(source: Path) -> dict[tuple[int, int], Path]:
    return listed(source / "checkpoint" / "weights", _FILE) or listed(source / "weights", _FILE)


def open_checkpoint(source: Path, request: Request) -> Checkpoint:
    files = _weights(source)
    neuron = read_json(source / NEURON_CONFIG) if (source / NEURON_CONFIG).is_file() else {}
    if not files:
        raise ExportError(_without_weights(source, neuron))
    told = neuron.get("tp_degree")
    size = told if isinstance(told, int) else max(rank for rank, _ in files) + 1
    paths = ranks_of(files, 0, size, why=f"says {NEURON_CONFIG}" if told else "as the other files tell")
    target = target_of(config_of(source, request))
    if target.model is None:
        raise ExportError(f"{source} was exported from a model that is not one of transformers' own, which is needed.")
    ranks = [stored_in(read_header(path)) for path in paths]
    for path, rank in zip(paths, ranks, strict=True):
        if differing := sorted(rank.keys() ^ ranks[0].keys()):
            raise ExportError(f"{differing[0]} is in only one of {paths[0]} and {path}: two exports are mixed.")
    heads = _heads(target.config, size)
    wholes = list(_wholes(ranks, paths, heads, target.shapes))
    note = f"The weights are in {neuron.get('torch_dtype', 'the dtype of the export')}, to which the export cast them."
    return model_of(NAME, source, wholes, target, request, [note])


def _without_weights(source: Path, neuron: Mapping[str, Any]) -> str:
    named = neuron.get("checkpoint_id")
    if named is None:
        return f"{source} holds a compiled graph and no weights: load the model that it was exported from."
    revision = neuron.get("checkpoint_revision")
    at = f" at revision {revision}" if revision else ""
    return f"{source} holds a compiled graph and no weights; they are those of {named}{at}: load that."


@dataclass(frozen=True)
class _Heads:
    """Attention heads as they were spread: ``padded`` query and ``kv_padded`` key/value heads over ``size`` cores."""

    size: int
    heads: int
    kv_heads: int
    rows: int

    @property
    def replicated(self) -> bool:
        return self.size % self.kv_heads == 0

    @property
    def padded(self) -> int:
        return -(-self.heads // self.size) * self.size

    @property
    def kv_padded(self) -> int:
        if self.heads == self.kv_heads:
            return self.padded
        if self.kv_heads < self.size or self.kv_heads % self.size:
            return self.size if self.replicated else self.padded
        return self.kv_heads

    @property
    def repeats(self) -> int:
        if self.kv_padded == self.kv_heads:
            return 1
        return self.size // self.kv_heads if self.replicated else self.heads // self.kv_heads

    def query(self, head: int) -> int:
        """Where a query head is: pads are behind each group, or all at the end."""
        if not self.replicated:
            return head
        group = self.heads // self.kv_heads
        return head // group * (group + (self.padded - self.heads) // self.kv_heads) + head % group


def _heads(config: Mapping[str, Any], size: int) -> _Heads:
    heads = int(config["num_attention_heads"])
    rows = config.get("head_dim") or int(config["hidden_size"]) // heads
    return _Heads(size, heads, int(config.get("num_key_value_heads") or heads), int(rows))


def _wholes(
    ranks: Sequence[Mapping[str, Stored]],
    paths: Sequence[Path],
    heads: _Heads,
    shapes: Mapping[str, tuple[int, ...]],
) -> Iterator[Whole]:
    for full in ranks[0]:
        if full.endswith("rank_util.rank"):
            continue
        parts = [rank[full] for rank in ranks]
        name = _name(full, shapes)
        module, _, kind = name.rpartition(".")
        if module.endswith(".Wqkv"):
            yield from _fused(module.removesuffix(".Wqkv"), kind, parts, heads, paths[0])
        elif module.endswith(".q_proj"):
            yield Whole(name, 0, (_queries(parts, heads, 0),), f"{heads.heads} heads of {heads.size} cores")
        elif module.endswith((".k_proj", ".v_proj")):
            yield _pairs(name, parts, heads, 0)
        elif module.endswith(".o_proj") and kind == "weight":
            yield Whole(name, 1, (_queries(parts, heads, 0),), f"{heads.heads} heads of {heads.size} cores")
        else:
            yield _padded(name, parts, shapes.get(name), paths[0])


def _name(full: str, shapes: Mapping[str, tuple[int, ...]]) -> str:
    for before, after in _RENAMED:
        full = full.replace(before, after)
    return full if full in shapes else f"model.{full}"


def _fused(module: str, kind: str, parts: Sequence[Stored], heads: _Heads, path: Path) -> Iterator[Whole]:
    queries, pairs = heads.padded // heads.size * heads.rows, heads.kv_padded // heads.size * heads.rows
    if parts[0].shape[0] != queries + 2 * pairs:
        raise ExportError(
            f"{module}.Wqkv.{kind} is {list(parts[0].shape)} in {path}, but {heads.heads} query and {heads.kv_heads} "
            f"key/value heads of {heads.rows} rows on {heads.size} cores make {queries + 2 * pairs} rows in each: the "
            f"shards do not belong to this config."
        )
    yield Whole(f"{module}.q_proj.{kind}", 0, (_queries(parts, heads, 0),), f"{heads.heads} heads of Wqkv")
    yield _pairs(f"{module}.k_proj.{kind}", parts, heads, queries)
    yield _pairs(f"{module}.v_proj.{kind}", parts, heads, queries + pairs)


def _queries(parts: Sequence[Stored], heads: _Heads, start: int) -> tuple[Slice, ...]:
    each = heads.padded // heads.size
    places = [divmod(heads.query(head), each) for head in range(heads.heads)]
    return tuple(Slice(parts[rank], start + number * heads.rows, heads.rows) for rank, number in places)


def _pairs(name: str, parts: Sequence[Stored], heads: _Heads, start: int) -> Whole:
    each = heads.kv_padded // heads.size

    def head(number: int) -> Slice:
        rank, index = divmod(number, each)
        return Slice(parts[rank], start + index * heads.rows, heads.rows)

    copies = tuple(
        tuple(head(number * heads.repeats + copy) for number in range(heads.kv_heads)) for copy in range(heads.repeats)
    )
    return Whole(name, 0, copies, f"{heads.kv_heads} heads, {heads.repeats} copies")


def _padded(name: str, parts: Sequence[Stored], expected: tuple[int, ...] | None, path: Path) -> Whole:
    shape, size = parts[0].shape, len(parts)
    if expected is None:
        raise ExportError(f"{name} in {path} is not known here: only decoders built as Llama, Qwen and Granite are.")
    if shape == expected:
        return Whole(name, 0, tuple((whole(part),) for part in parts), f"the same on {size} cores")
    for dim in range(len(shape)):
        others = shape[:dim] + shape[dim + 1 :] == expected[:dim] + expected[dim + 1 :]
        if others and shape[dim] == -(-expected[dim] // size):
            ends = [min(expected[dim], (rank + 1) * shape[dim]) - rank * shape[dim] for rank in range(size)]
            slices = tuple(Slice(part, 0, end) for part, end in zip(parts, ends, strict=True) if end > 0)
            return Whole(name, dim, (slices,), f"{size} cores along dimension {dim}")
    raise ExportError(
        f"{name} is {list(shape)} in {path} and should be {list(expected)} as a whole: the shards do not belong to "
        f"this config."
    )
