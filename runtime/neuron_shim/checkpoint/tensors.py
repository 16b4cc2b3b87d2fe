"""A tensor that is to be exported: described at once, read when its turn comes, a piece at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.dtypes import bits_of, torch_dtype
from neuron_shim.checkpoint.errors import ExportError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import torch

PIECE = 1 << 18
"""Bytes held at a time; a multiple of every element size, so that no element is ever cut in two.

Small enough to stay in the processor's cache between reading, checksum and writing, where two threads share it, and
large enough that they seldom wait for the interpreter: 256 KiB took a tenth longer, 4 MiB too
(``benchmarks/shards.py``).
"""


@dataclass(frozen=True)
class Tensor:
    """``pieces`` yields the bytes in row-major order, little-endian, in buffers of whole elements.

    A buffer holds its bytes until the next one is asked for.

    Reading may be collective. On a rank that does not write, ``pieces`` takes part in that and yields nothing.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    origin: str
    pieces: Callable[[], Iterator[Any]]

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * bits_of(self.dtype) // 8

    def renamed(self, name: str) -> Tensor:
        return replace(self, name=name)


def read_range(path: Path, start: int, size: int) -> Iterator[memoryview]:
    """``size`` bytes of a file. Read, not mapped: mapped pages would count as memory of this process."""
    buffer = memoryview(bytearray(min(size, PIECE)))
    with open(path, "rb", buffering=0) as file:
        file.seek(start)
        while size:
            piece = buffer[: min(size, PIECE)]
            filled = 0
            while filled < len(piece):
                count = file.readinto(piece[filled:])
                if not count:
                    raise ExportError(f"{path} became shorter while it was read: {size - filled} bytes are missing.")
                filled += count
            yield piece
            size -= filled


def buffers_of(value: torch.Tensor) -> Iterator[Any]:
    """The bytes of a CPU tensor, in pieces."""
    import torch

    flat = value.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
    for start in range(0, len(flat), PIECE):
        yield flat[start : start + PIECE]


def whole(tensor: Tensor) -> torch.Tensor | None:
    """All of it in memory; None on a rank that does not write."""
    import torch

    dtype = torch_dtype(tensor.dtype)
    if tensor.nbytes == 0:
        return torch.empty(tensor.shape, dtype=dtype)
    data = None
    filled = 0
    for piece in tensor.pieces():
        if data is None:
            data = torch.empty(tensor.nbytes, dtype=torch.uint8)
        size = len(piece)
        data[filled : filled + size] = torch.frombuffer(piece, dtype=torch.uint8)
        filled += size
    return None if data is None else data.view(dtype).reshape(tensor.shape)


def cast(tensor: Tensor, dtype: str) -> Tensor:
    """The same values in another floating-point dtype, rounded to nearest as ``Tensor.to`` does."""
    if tensor.dtype == dtype:
        return tensor
    source, target = torch_dtype(tensor.dtype), torch_dtype(dtype)
    # bfloat16 reaches as far as float32, and float16 less far than either.
    narrower = (tensor.dtype, dtype) not in {("BF16", "F32"), ("F16", "F32"), ("F16", "BF16")}

    def pieces() -> Iterator[Any]:
        import torch

        for piece in tensor.pieces():
            before = torch.frombuffer(piece, dtype=source)
            after = before.to(target)
            if narrower and bool(torch.isinf(after).any()):
                _check_range(tensor.name, before, after)
            yield from buffers_of(after)

    return replace(tensor, dtype=dtype, pieces=pieces)


def _check_range(name: str, before: torch.Tensor, after: torch.Tensor) -> None:
    import torch

    lost = torch.isinf(after) & ~torch.isinf(before)
    if bool(lost.any()):
        largest = float(before[lost].abs().max())
        raise ExportError(
            f"{name} holds {largest:g}, which {after.dtype} cannot ({torch.finfo(after.dtype).max:g} is its largest "
            f"number). Export to bf16 or fp32."
        )
