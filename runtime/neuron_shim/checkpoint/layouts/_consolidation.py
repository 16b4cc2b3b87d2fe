"""What model parallelism does to tensors, and how it is undone: every whole tensor is slices of the ranks' tensors.

The formulas were found in, and checked against, what Optimum Neuron 0.0.8 to 0.4.5 wrote:

- A plain tensor is cut along one dimension in equal parts, or every rank has all of it.
- Fused linears: a rank has its part of each, one after another.
- Grouped queries on more ranks than key/value heads (T > K): there are m copies of the K heads, as slots
  j = copy * K + head, spread over the ranks in this order; the H query heads follow the slots, s = H / (K m) to each.
- Before release 0.0.21, in that case, rank r simply had key/value head floor(K r / T), and the copies drifted apart.
- An adapter's B is cut as the rows of its weight, its A as the columns; fused linears share one A.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.stored import Slice, Stored, joined, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from neuron_shim.checkpoint.layouts._rank_files import RankFile
    from neuron_shim.checkpoint.tensors import Tensor


@dataclass(frozen=True)
class GroupedQueries:
    """An attention module whose key/value heads were multiplied."""

    module: str
    fused: str
    query: str
    key: str
    value: str
    output: str
    heads: int
    kv_heads: int
    multiplier: int
    head_rows: int | None = None
    """Rows of a head, if the metadata tell."""


@dataclass(frozen=True)
class FusedLinears:
    """Linears of one module whose rows are in one tensor."""

    module: str
    fused: str
    names: tuple[str, ...]
    rows: tuple[int, ...]
    """Of the whole linears."""


@dataclass(frozen=True)
class Stage:
    """A pipeline stage as its ranks saved it."""

    ranks: Sequence[RankFile]
    names: Sequence[str]
    """Of the tensors that are this stage's, as they are called in the files."""

    cut: Mapping[str, int | None]
    """Dimension in which the metadata say that a tensor was cut, None if they say that it was not."""

    metadata: Path
    attention: Sequence[GroupedQueries] = ()
    fused: Sequence[FusedLinears] = ()


@dataclass(frozen=True)
class Whole:
    """A tensor put together, in as many ways as there are copies; they should be equal."""

    name: str
    dim: int
    copies: tuple[tuple[Slice, ...], ...]
    how: str
    """For people: what was done."""

    kv: bool = False
    """Whether the copies are of key/value heads, each slice being one head."""

    overruled: bool = False
    """Whether the shape of the model told how the tensor was cut, and the metadata said otherwise."""

    def tensor(self, copy: int = 0) -> Tensor:
        return joined(self.name, self.dim, self.copies[copy])

    def widened(self) -> Tensor:
        """All copies as heads of their own, which keeps the query heads in their order."""
        slices = [copy[head] for head in range(len(self.copies[0])) for copy in self.copies]
        return joined(self.name, self.dim, slices)


# Which dimension an adapter's or a plain parameter has the heads or rows of its linear in is told by its last words.
_TAIL = re.compile(r"(?P<before>(?:lora_B\.)?)(?P<kind>weight|bias)_(?P<part>q|k|v|qkv)")
_SHARED = re.compile(r"lora_A\.weight|lora_embedding_A")


def consolidated(stage: Stage, expected: Mapping[str, tuple[int, ...]], kv_heads: int | None) -> Iterator[Whole]:
    """Each whole tensor of a stage.

    Args:
        expected: shapes that the model has, as far as they are known; they overrule the metadata.
        kv_heads: of the model, if known: to recognise how releases before 0.0.21 spread them.

    Raises:
        ExportError: the files do not fit each other, the metadata or the model.
    """
    attention = {f"{some.module}.{some.fused}": some for some in stage.attention}
    outputs = {f"{some.module}.{some.output}": some for some in stage.attention}
    linears = {f"{some.module}.{some.fused}": some for some in stage.fused}
    cut: list[Sequence[Stored]] = []
    for name in stage.names:
        module, tail = _divided(name)
        parts = [rank.tensor(name) for rank in stage.ranks]
        if module in attention:
            made = list(_grouped(stage, attention[module], tail, parts, expected))
        elif module in linears:
            made = list(_split(stage, linears[module], tail, parts))
        elif module in outputs and tail in ("weight", "lora_A.weight"):
            made = [_output_projection(stage, outputs[module], name, parts)]
        else:
            made = [_plain(stage, name, parts, expected.get(name), kv_heads)]
        if any(len(some.copies) == 1 and not some.kv for some in made):
            cut.append(parts)
        yield from made
    _check_ranks_differ(stage, cut)


def _check_ranks_differ(stage: Stage, cut: Sequence[Sequence[Stored]]) -> None:
    """A rank's file under the name of another one would make a wrong model: its parts would be there twice.

    The beginnings of what was cut are compared, until no two ranks are alike. Zeros say nothing: an adapter's B is so
    before it is trained.
    """
    alike = set(itertools.combinations(range(len(stage.ranks)), 2))
    same: set[tuple[int, int]] = set()
    for parts in cut:
        ranks = set(itertools.chain.from_iterable(alike))
        begins = {rank: bytes(next(parts[rank].rows(0, 1), b"")) for rank in ranks}
        alike = {(one, other) for one, other in alike if begins[one] == begins[other]}
        same |= {pair for pair in alike if any(begins[pair[0]])}
    for one, other in sorted(alike & same):
        raise ExportError(
            f"{stage.ranks[other].path} holds the same parts as {stage.ranks[one].path}: the file of one rank is "
            f"there under two names. Copy each from where it was written."
        )


def _divided(name: str) -> tuple[str, str]:
    """The name of a linear, and which of its tensors this is."""
    match = re.fullmatch(
        r"(.*?)\.((?:lora_[A-Za-z_]+\.)?(?:weight|bias)(?:_qkv|_q|_k|_v)?|lora_[A-Za-z_]+(?:\.\w+)?)", name
    )
    return (match[1], match[2]) if match else (name, "")


# --- plain tensors


def _plain(
    stage: Stage, name: str, parts: Sequence[Stored], expected: tuple[int, ...] | None, kv_heads: int | None
) -> Whole:
    size = len(parts)
    shape = parts[0].shape
    if name not in stage.cut and expected is None:
        raise ExportError(
            f"{stage.metadata} does not say how {name} was cut. Name the folder of the model's config.json "
            f"(--config), whose shapes tell it."
        )
    dim = stage.cut.get(name)
    if expected is not None:
        dim = _fitting(stage, name, shape, size, expected, dim, kv_heads)
        if dim == _SPREAD:
            return _one_head_a_rank(name, parts, expected)
    if dim is None or size == 1:
        made = _replicated(name, parts)
    else:
        made = Whole(name, dim, (tuple(whole(part, dim) for part in parts),), f"{size} ranks along dimension {dim}")
    return replace(made, overruled=size > 1 and name in stage.cut and dim != stage.cut[name])


def _replicated(name: str, parts: Sequence[Stored]) -> Whole:
    how = f"the same on {len(parts)} ranks" if len(parts) > 1 else "as it is"
    return Whole(name, 0, tuple((whole(part),) for part in parts), how)


_SPREAD = -1


def _fitting(
    stage: Stage,
    name: str,
    shape: tuple[int, ...],
    size: int,
    expected: tuple[int, ...],
    told: int | None,
    kv_heads: int | None,
) -> int | None:
    """The dimension in which the parts have to be joined to make the expected shape, whatever the metadata say."""
    if told is not None and told < len(shape) and _joined_shape(shape, told, size) == expected:
        return told
    if shape == expected:
        return None
    for dim in range(len(shape)):
        if _joined_shape(shape, dim, size) == expected:
            return dim
    spread = kv_heads is not None and size > kv_heads and size % kv_heads == 0 and shape[:1] != ()
    if spread and kv_heads is not None and re.search(r"\.[kv]_proj\.(weight|bias)$", name):
        if (shape[0] * kv_heads, *shape[1:]) == expected:
            return _SPREAD
    said = "each rank has all of it" if told is None else f"it was cut along dimension {told} over {size} ranks"
    raise ExportError(
        f"{name} is {list(shape)} in {stage.ranks[0].path} and should be {list(expected)} as a whole, but "
        f"{stage.metadata.name} says that {said}: the shards do not belong to this config, or were cut in another way "
        f"than is known here."
    )


def _joined_shape(shape: tuple[int, ...], dim: int, size: int) -> tuple[int, ...]:
    return (*shape[:dim], shape[dim] * size, *shape[dim + 1 :])


def _one_head_a_rank(name: str, parts: Sequence[Stored], expected: tuple[int, ...]) -> Whole:
    """Releases before 0.0.21: each rank has one key/value head, the same as its neighbours had at the start."""
    heads = expected[0] // parts[0].shape[0]
    each = len(parts) // heads
    copies = tuple(tuple(whole(parts[head * each + copy]) for head in range(heads)) for copy in range(each))
    return Whole(name, 0, copies, f"{heads} heads, of each {each} copies that were trained apart", kv=True)


# --- fused linears


def _split(stage: Stage, linears: FusedLinears, tail: str, parts: Sequence[Stored]) -> Iterator[Whole]:
    names = [f"{linears.module}.{name}.{tail}" for name in linears.names]
    if _SHARED.fullmatch(tail):
        for name in names:
            yield _shared(name, parts, linears.names)
        return
    size = len(parts)
    sizes = [rows // size for rows in linears.rows]
    for rank, part in zip(stage.ranks, parts, strict=True):
        if part.shape[:1] != (sum(sizes),) or any(rows % size for rows in linears.rows):
            raise ExportError(
                f"{linears.module}.{linears.fused}.{tail} is {list(part.shape)} in {rank.path}, but {stage.metadata} "
                f"makes it {sum(linears.rows)} rows ({' + '.join(map(str, linears.rows))}) over {size} ranks, "
                f"{sum(linears.rows) / size:g} in each: the metadata or the shard is of another run."
            )
    for index, name in enumerate(names):
        start, rows = sum(sizes[:index]), sizes[index]
        slices = tuple(Slice(part, start, rows) for part in parts)
        yield Whole(name, 0, (slices,), f"rows of {linears.fused} on {size} ranks")


def _shared(name: str, parts: Sequence[Stored], linears: Sequence[str]) -> Whole:
    return replace(_replicated(name, parts), how=f"one for {', '.join(linears)}, the same on {len(parts)} ranks")


# --- grouped queries


@dataclass(frozen=True)
class _Slots:
    """Where heads lie when K key/value heads are there m times, over T ranks."""

    heads: int
    kv_heads: int
    multiplier: int
    size: int

    @property
    def slots(self) -> int:
        return self.kv_heads * self.multiplier

    @property
    def queries(self) -> int:
        """Query heads of a slot."""
        return self.heads // self.slots

    @property
    def each(self) -> int:
        """Slots of a rank."""
        return self.slots // self.size

    def fits(self) -> bool:
        if min(self.heads, self.kv_heads, self.multiplier) < 1:
            return False
        return self.slots % self.size == 0 and self.heads % self.slots == 0

    def slot(self, block: int) -> int:
        """Of the ``block``-th group of query heads, counted as the model counts them."""
        head, copy = divmod(block, self.multiplier)
        return copy * self.kv_heads + head

    def place(self, slot: int) -> tuple[int, int]:
        """Rank, and number within it."""
        return divmod(slot, self.each)


def _slots(stage: Stage, spec: GroupedQueries) -> _Slots:
    slots = _Slots(spec.heads, spec.kv_heads, spec.multiplier, len(stage.ranks))
    if not slots.fits():
        raise ExportError(
            f"{stage.metadata} says that {spec.kv_heads} key/value heads and {spec.heads} query heads of "
            f"{spec.module} were on {len(stage.ranks)} ranks with kv_size_multiplier {spec.multiplier}, which is "
            f"impossible."
        )
    return slots


def _grouped(
    stage: Stage,
    spec: GroupedQueries,
    tail: str,
    parts: Sequence[Stored],
    expected: Mapping[str, tuple[int, ...]],
) -> Iterator[Whole]:
    slots = _slots(stage, spec)
    if _SHARED.fullmatch(tail):
        for projection in (spec.query, spec.key, spec.value):
            yield _shared(f"{spec.module}.{projection}.{tail}", parts, (spec.query, spec.key, spec.value))
        return
    match = _TAIL.fullmatch(tail)
    if match is None:
        raise ExportError(f"{spec.module}.{spec.fused}.{tail} in {stage.ranks[0].path} is not known here.")
    last = f"{match['before']}{match['kind']}"
    q_name, k_name, v_name = (f"{spec.module}.{name}.{last}" for name in (spec.query, spec.key, spec.value))
    local = parts[0].shape[0]
    in_units = {"q": slots.heads, "k": slots.slots, "v": slots.slots, "qkv": slots.heads + 2 * slots.slots}
    rows, rest = divmod(local * slots.size, in_units[match["part"]])
    known = _head_rows(spec, q_name, k_name, expected)
    if rest or (known is not None and known != rows):
        raise ExportError(
            f"{spec.module}.{spec.fused}.{tail} is {list(parts[0].shape)} in {stage.ranks[0].path}, but "
            f"{stage.metadata} makes it {spec.heads} query and {spec.kv_heads} key/value heads, with "
            f"kv_size_multiplier {spec.multiplier}, on {slots.size} "
            f"ranks{f' with {known} rows a head' if known else ''}: the multiplier or the shard is of another run."
        )
    queries = slots.heads // slots.size * rows
    pairs = slots.each * rows
    start = {"q": 0, "k": queries, "v": queries + pairs} if match["part"] == "qkv" else {"q": 0, "k": 0, "v": 0}
    if match["part"] in ("q", "qkv"):
        yield Whole(q_name, 0, (_query_blocks(slots, parts, rows, start["q"]),), _reordered(slots))
    for letter, name in (("k", k_name), ("v", v_name)):
        if match["part"] in (letter, "qkv"):
            copies = _copies(slots, parts, rows, start[letter])
            yield Whole(name, 0, copies, f"{slots.kv_heads} heads, {slots.multiplier} copies", kv=True)


def _head_rows(spec: GroupedQueries, q_name: str, k_name: str, expected: Mapping[str, tuple[int, ...]]) -> int | None:
    for name, heads in ((q_name, spec.heads), (k_name, spec.kv_heads)):
        if name in expected:
            return expected[name][0] // heads
    return spec.head_rows


def _query_blocks(slots: _Slots, parts: Sequence[Stored], rows: int, start: int) -> tuple[Slice, ...]:
    length = slots.queries * rows
    places = [slots.place(slots.slot(block)) for block in range(slots.slots)]
    return tuple(Slice(parts[rank], start + number * length, length) for rank, number in places)


def _copies(slots: _Slots, parts: Sequence[Stored], rows: int, start: int) -> tuple[tuple[Slice, ...], ...]:
    """Of the key/value heads, a slice for each head."""
    return tuple(
        tuple(_head(slots, parts, copy * slots.kv_heads + head, rows, start) for head in range(slots.kv_heads))
        for copy in range(slots.multiplier)
    )


def _head(slots: _Slots, parts: Sequence[Stored], slot: int, rows: int, start: int) -> Slice:
    rank, number = slots.place(slot)
    return Slice(parts[rank], start + number * rows, rows)


def _reordered(slots: _Slots) -> str:
    return f"{slots.heads} heads of {slots.size} ranks, put back in order"


def _output_projection(stage: Stage, spec: GroupedQueries, name: str, parts: Sequence[Stored]) -> Whole:
    slots = _slots(stage, spec)
    columns, rest = divmod(parts[0].shape[1] * slots.size, slots.heads)
    if rest:
        raise ExportError(
            f"{name} is {list(parts[0].shape)} in {stage.ranks[0].path}, which does not make {spec.heads} heads on "
            f"{slots.size} ranks."
        )
    return Whole(name, 1, (_query_blocks(slots, parts, columns, 0),), _reordered(slots))
