"""A tensor that lies in blocks, each saved by another rank."""

from __future__ import annotations

import contextlib
import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.dtypes import bits_of, torch_dtype
from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.tensors import PIECE, Tensor, buffers_of, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Block:
    """A part of a tensor: where in the whole it begins, and where in a file its bytes do."""

    part: Tensor
    offset: tuple[int, ...]
    path: Path
    start: int

    @property
    def end(self) -> tuple[int, ...]:
        return tuple(first + size for first, size in zip(self.offset, self.part.shape, strict=True))

    def overlaps(self, other: Block) -> bool:
        if 0 in self.part.shape or 0 in other.part.shape:
            return False
        sides = zip(self.offset, self.end, other.offset, other.end, strict=True)
        return all(first < other_end and other_first < end for first, end, other_first, other_end in sides)


def assembled(
    name: str, blocks: Sequence[Block], folder: Path, *, shape: tuple[int, ...] | None = None, files: str = ""
) -> Tensor:
    """The whole tensor.

    Args:
        shape: what it has to be; without it, as far as the blocks reach.
        files: said in the message when a part is missing.

    Raises:
        ExportError: the blocks do not make exactly one tensor.
    """
    first = blocks[0]
    if any(block.part.dtype != first.part.dtype or len(block.offset) != len(first.offset) for block in blocks):
        other = next(
            block for block in blocks if block.part.dtype != first.part.dtype or len(block.offset) != len(first.offset)
        )
        raise ExportError(
            f"{name} is {first.part.dtype} in {first.part.origin} and {other.part.dtype} in {other.part.origin}: the "
            f"files of two runs are mixed in {folder}."
        )
    for one, other in itertools.combinations(blocks, 2):
        if one.overlaps(other):
            raise ExportError(
                f"{name} is in both {one.part.origin} and {other.part.origin} at the same place: the files of two "
                f"runs are mixed in {folder}."
            )
    reach = tuple(max(ends) for ends in zip(*(block.end for block in blocks), strict=True))
    shape = reach if shape is None else shape
    held = sum(math.prod(block.part.shape) for block in blocks)
    if reach != shape or held != math.prod(shape):
        raise ExportError(
            f"{name} should be {list(shape)}, {math.prod(shape)} values, but {folder} holds {held} of them"
            f"{f' (up to {list(reach)})' if reach != shape else ''}: a shard is missing, or the files of two runs are "
            f"mixed{f'; found {files}' if files else ''}."
        )
    return Tensor(name, first.part.dtype, shape, first.part.origin, _pieces(sorted(blocks, key=_offset), shape))


def _offset(block: Block) -> tuple[int, ...]:
    return block.offset


def _pieces(blocks: Sequence[Block], shape: tuple[int, ...]) -> Callable[[], Iterator[Any]]:
    filled = [block for block in blocks if 0 not in block.part.shape]
    if all(block.part.shape[1:] == shape[1:] for block in filled):
        # Whole rows: one block after another makes the tensor.
        return lambda: itertools.chain.from_iterable(block.part.pieces() for block in filled)
    bands = [
        list(band) for _, band in itertools.groupby(filled, key=lambda block: (block.offset[0], block.part.shape[0]))
    ]
    rows = [(band[0].offset[0], band[0].end[0]) for band in bands]
    if all(before[1] == after[0] for before, after in itertools.pairwise(rows)):
        return lambda: itertools.chain.from_iterable(_band(band, shape) for band in bands)
    return lambda: _at_once(filled, shape)


def _band(blocks: Sequence[Block], shape: tuple[int, ...]) -> Iterator[Any]:
    """Blocks side by side that begin and end in the same rows: a few rows of each at a time."""
    import numpy

    size = bits_of(blocks[0].part.dtype) // 8
    count = blocks[0].part.shape[0]
    step = max(1, PIECE // (math.prod(shape[1:]) * size))
    result: Any = numpy.empty((step, *shape[1:]), dtype=f"u{size}")
    buffers: list[Any] = [numpy.empty((step, *block.part.shape[1:]), dtype=f"u{size}") for block in blocks]
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(open(block.path, "rb", buffering=0)) for block in blocks]
        for file, block in zip(files, blocks, strict=True):
            file.seek(block.start)
        for first in range(0, count, step):
            rows = min(step, count - first)
            for file, block, buffer in zip(files, blocks, buffers, strict=True):
                _read(file, memoryview(buffer[:rows]).cast("B"), block.path)
                sides = zip(block.offset[1:], block.end[1:], strict=True)
                where = (slice(rows), *(slice(begin, end) for begin, end in sides))
                result[where] = buffer[:rows]
            yield memoryview(result[:rows]).cast("B")


def _read(file: Any, target: memoryview, path: Path) -> None:
    while target:
        count = file.readinto(target)
        if not count:
            raise ExportError(f"{path} became shorter while it was read: {len(target)} bytes are missing.")
        target = target[count:]


def _at_once(blocks: Sequence[Block], shape: tuple[int, ...]) -> Iterator[Any]:
    """Blocks cut in any way: the whole tensor is in memory."""
    import torch

    value = torch.empty(shape, dtype=torch_dtype(blocks[0].part.dtype))
    for block in blocks:
        where = tuple(slice(first, end) for first, end in zip(block.offset, block.end, strict=True))
        value[where] = whole(block.part)
    yield from buffers_of(value)
