"""Tensors that lie in files, and whole ones made of slices of them.

Everything that model parallelism did to a tensor is undone by putting slices of the ranks' tensors one after another
along one dimension: nothing is loaded for that, a few rows are in memory at a time.
"""

from __future__ import annotations

import contextlib
import math
import mmap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_shim.checkpoint.dtypes import bits_of
from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.tensors import PIECE, Tensor, read_range

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from neuron_shim.checkpoint.safetensors_file import Header

BAND = 4 * PIECE
"""Bytes of a tensor that is cut by columns, of which each source gives a few rows: larger pieces, fewer reads."""


@dataclass(frozen=True)
class Stored:
    """A tensor in a file, maybe a view of a larger one: ``start`` is the byte of its first element."""

    path: Path
    start: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In elements."""

    @property
    def itemsize(self) -> int:
        return bits_of(self.dtype) // 8

    @property
    def contiguous(self) -> bool:
        expected = 1
        for length, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if length != 1 and stride != expected:
                return False
            expected *= length
        return True

    @property
    def row(self) -> int:
        """Bytes of one entry of dimension 0."""
        return math.prod(self.shape[1:]) * self.itemsize

    def rows(self, begin: int, count: int) -> Iterator[memoryview]:
        """Rows ``begin`` to ``begin + count``, in pieces of whole elements."""
        if self.contiguous:
            yield from read_range(self.path, self.start + begin * self.row, count * self.row)
            return
        step = max(1, PIECE // max(1, self.row))
        for first in range(begin, begin + count, step):
            yield memoryview(self._view(first, min(step, begin + count - first))).cast("B")

    def reader(self, files: contextlib.ExitStack) -> Callable[[int, int], Any]:
        """A function from ``begin`` and ``count`` to these rows as an array of bytes, valid until its next call."""
        import numpy

        if not self.contiguous:
            return lambda begin, count: self._view(begin, count).reshape(count, -1).view(numpy.uint8)
        file = files.enter_context(self.path.open("rb", buffering=0))
        buffer: Any = numpy.empty(0, dtype=numpy.uint8)

        def read(begin: int, count: int) -> Any:
            nonlocal buffer
            size = count * self.row
            if len(buffer) < size:
                buffer = numpy.empty(size, dtype=numpy.uint8)
            target = memoryview(buffer)[:size]
            file.seek(self.start + begin * self.row)
            while target:
                filled = file.readinto(target)
                if not filled:
                    raise ExportError(
                        f"{self.path} became shorter while it was read: {len(target)} bytes are missing."
                    )
                target = target[filled:]
            return buffer[:size].reshape(count, self.row)

        return read

    def _view(self, begin: int, count: int) -> Any:
        """A contiguous copy of some rows of a tensor whose elements lie apart."""
        import numpy

        with open(self.path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            shape = (count, *self.shape[1:])
            strides = tuple(stride * self.itemsize for stride in self.strides)
            first = self.start + begin * strides[0]
            view: Any = numpy.ndarray(shape, f"u{self.itemsize}", mapped, first, strides)
            copy = numpy.ascontiguousarray(view).copy()
            del view
            return copy


@dataclass(frozen=True)
class _Stacked(Stored):
    parts: tuple[Stored, ...] = ()

    def _places(self, begin: int, count: int) -> Iterator[tuple[Stored, int, int]]:
        """Parts, and which of their rows are meant."""
        start = 0
        for part in self.parts:
            first, last = max(begin, start), min(begin + count, start + part.shape[0])
            if first < last:
                yield part, first - start, last - first
            start += part.shape[0]

    def rows(self, begin: int, count: int) -> Iterator[memoryview]:
        for part, first, rows in self._places(begin, count):
            yield from part.rows(first, rows)

    def reader(self, files: contextlib.ExitStack) -> Callable[[int, int], Any]:
        import numpy

        readers = {part: part.reader(files) for part in self.parts}
        return lambda begin, count: numpy.concatenate(
            [readers[part](first, rows) for part, first, rows in self._places(begin, count)]
        )


def stacked(parts: Sequence[Stored], shape: tuple[int, ...]) -> Stored:
    """One tensor whose rows are in several, one after another; what they have beyond ``shape`` is left out."""
    first = parts[0]
    strides = tuple(math.prod(shape[dim + 1 :]) for dim in range(len(shape)))
    return _Stacked(first.path, first.start, first.dtype, shape, strides, tuple(parts))


class Slice(NamedTuple):
    """Entries ``begin`` to ``begin + length`` along the dimension in which slices are joined."""

    source: Stored
    begin: int
    length: int


def whole(source: Stored, dim: int = 0) -> Slice:
    return Slice(source, 0, source.shape[dim] if source.shape else 1)


def joined(name: str, dim: int, slices: Sequence[Slice]) -> Tensor:
    """One tensor out of slices, in this order.

    Raises:
        ExportError: they do not fit together.
    """
    first = slices[0].source
    for source, begin, length in slices:
        if source.dtype != first.dtype:
            raise ExportError(
                f"{name} is {first.dtype} in {first.path} and {source.dtype} in {source.path}: the files of two runs "
                f"are mixed."
            )
        if _without(source.shape, dim) != _without(first.shape, dim):
            raise ExportError(
                f"{name} is {list(first.shape)} in {first.path} and {list(source.shape)} in {source.path}, which do "
                f"not fit together: the files of two runs are mixed."
            )
        if begin < 0 or (source.shape and begin + length > source.shape[dim]):
            raise ExportError(
                f"{name} is {list(source.shape)} in {source.path}, but entries {begin} to {begin + length} of "
                f"dimension {dim} are needed."
            )
    if not first.shape:
        return Tensor(name, first.dtype, (), first.path.name, lambda: read_range(first.path, first.start, first.row))
    total = sum(some.length for some in slices)
    shape = (*first.shape[:dim], total, *first.shape[dim + 1 :])
    merged = _merged(slices)
    pieces = (lambda: _one_after_another(merged)) if dim == 0 else (lambda: _side_by_side(merged, shape))
    return Tensor(name, first.dtype, shape, first.path.name, pieces)


def _without(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return shape[:dim] + shape[dim + 1 :]


def _merged(slices: Sequence[Slice]) -> list[Slice]:
    """Neighbours that are neighbours in their source too are one slice."""
    merged: list[Slice] = []
    for some in slices:
        if merged and merged[-1].source is some.source and merged[-1].begin + merged[-1].length == some.begin:
            merged[-1] = merged[-1]._replace(length=merged[-1].length + some.length)
        else:
            merged.append(some)
    return merged


def _one_after_another(slices: Sequence[Slice]) -> Iterator[Any]:
    for source, begin, length in slices:
        yield from source.rows(begin, length)


def _side_by_side(slices: Sequence[Slice], shape: tuple[int, ...]) -> Iterator[Any]:
    """Slices of columns: a few rows of each source are read at once, and each row is put together from them."""
    import numpy

    count = shape[0]
    unit = math.prod(shape[2:]) * slices[0].source.itemsize  # bytes of one column
    result: Any = numpy.empty(
        (max(1, min(count, BAND // max(1, shape[1] * unit))), shape[1] * unit), dtype=numpy.uint8
    )
    places: dict[Stored, list[tuple[int, int, int]]] = {}
    column = 0
    for source, begin, length in slices:
        places.setdefault(source, []).append((column * unit, begin * unit, length * unit))
        column += length
    with contextlib.ExitStack() as files:
        readers = {source: source.reader(files) for source in places}
        for first in range(0, count, len(result)):
            rows = min(len(result), count - first)
            for source, wanted in places.items():
                read = readers[source](first, rows)
                for target, begin, length in wanted:
                    result[:rows, target : target + length] = read[:, begin : begin + length]
            yield memoryview(result[:rows]).cast("B")


def stored_in(header: Header) -> dict[str, Stored]:
    """The tensors of a safetensors file."""
    found = {}
    for entry in header.entries:
        strides = tuple(math.prod(entry.shape[dim + 1 :]) for dim in range(len(entry.shape)))
        found[entry.name] = Stored(header.path, entry.start, entry.dtype, entry.shape, strides)
    return found
