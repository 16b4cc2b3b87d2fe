"""A tensor that lies in blocks, each saved by another rank."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.dtypes import torch_dtype
from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.tensors import Tensor, buffers_of, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Block:
    """A part of a tensor, and where in the whole it begins."""

    part: Tensor
    offset: tuple[int, ...]

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
            block
            for block in blocks
            if block.part.dtype != first.part.dtype or len(block.offset) != len(first.offset)
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
    ordered = sorted(blocks, key=lambda block: block.offset)
    pieces = _in_a_row(ordered) if _only_rows(ordered, shape) else _filled(ordered, shape)
    return Tensor(name, first.part.dtype, shape, first.part.origin, pieces)


def _only_rows(blocks: Sequence[Block], shape: tuple[int, ...]) -> bool:
    """Whether each block has whole rows, so that one after another makes the tensor."""
    return all(block.part.shape[1:] == shape[1:] for block in blocks)


def _in_a_row(blocks: Sequence[Block]) -> Callable[[], Iterator[Any]]:
    return lambda: itertools.chain.from_iterable(block.part.pieces() for block in blocks)


def _filled(blocks: Sequence[Block], shape: tuple[int, ...]) -> Callable[[], Iterator[Any]]:
    def pieces() -> Iterator[Any]:
        import torch

        value = torch.empty(shape, dtype=torch_dtype(blocks[0].part.dtype))
        for block in blocks:
            where = tuple(slice(first, end) for first, end in zip(block.offset, block.end, strict=True))
            value[where] = whole(block.part)
        yield from buffers_of(value)

    return pieces
