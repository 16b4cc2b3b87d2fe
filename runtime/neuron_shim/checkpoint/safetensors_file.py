"""The safetensors file format: check a header before anything is believed, and write a file as a stream.

A file is 8 bytes of header length, a JSON header, and the tensors' bytes without gaps
(https://huggingface.co/docs/safetensors/index#format). The libraries write a file from tensors that are all in
memory; this writer holds one piece.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import struct
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.checksum import Checksum
from neuron_shim.checkpoint.dtypes import bits_of
from neuron_shim.checkpoint.errors import ANEW, ExportError, check_is_file
from neuron_shim.checkpoint.tensors import Tensor, read_range

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

MAX_HEADER = 100_000_000  # what the safetensors library takes at most
PAGE = 4096


@dataclass(frozen=True)
class Entry:
    """One tensor in a file: ``start`` counts from the beginning of the file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    size: int


@dataclass(frozen=True)
class Header:
    path: Path
    entries: tuple[Entry, ...]
    metadata: Mapping[str, str]

    def tensors(self) -> Iterator[Tensor]:
        return (self.tensor(entry) for entry in self.entries)

    def tensor(self, entry: Entry) -> Tensor:
        def pieces() -> Iterator[memoryview]:
            return read_range(self.path, entry.start, entry.size)

        return Tensor(entry.name, entry.dtype, entry.shape, self.path.name, pieces)


def read_header(path: Path) -> Header:
    """The header of a whole file.

    Raises:
        ExportError: the file is cut short or longer than it says, or is no safetensors file.
    """
    try:
        check_is_file(path)
        with open(path, "rb") as file:
            length = os.fstat(file.fileno()).st_size
            first = file.read(8)
            announced = struct.unpack("<Q", first)[0] if len(first) == 8 else 0
            if not 2 <= announced <= MAX_HEADER:
                raise ExportError(f"{path} is not a safetensors file: it has {length} bytes and no valid header.")
            if 8 + announced > length:
                raise ExportError(
                    f"{path} is cut short: its header alone should have {announced} bytes, the file has {length}. "
                    f"{ANEW}"
                )
            text = file.read(announced)
    except OSError as error:
        raise ExportError(f"{path} cannot be read: {error.strerror or error}.") from error
    try:
        fields = json.loads(text)
        metadata = fields.pop("__metadata__", {})
        entries = tuple(_entry(name, field, 8 + announced) for name, field in fields.items())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ExportError(f"{path} is not a safetensors file: its header cannot be read ({error}).") from error
    _check_layout(path, entries, 8 + announced, length)
    return Header(path, entries, metadata)


def _entry(name: str, field: Mapping[str, Any], data: int) -> Entry:
    begin, end = field["data_offsets"]
    if not all(type(number) is int and number >= 0 for number in (begin, end, *field["shape"])):
        raise ValueError(f"{name} is {field}")
    return Entry(name, field["dtype"], tuple(field["shape"]), data + begin, end - begin)


def _check_layout(path: Path, entries: Sequence[Entry], data: int, length: int) -> None:
    position = data
    for entry in sorted(entries, key=lambda entry: (entry.start, entry.size)):
        if entry.start != position or entry.size * 8 != math.prod(entry.shape) * bits_of(entry.dtype):
            raise ExportError(
                f"{path} is damaged: {entry.name} ({entry.dtype} {list(entry.shape)}) is said to lie in bytes "
                f"{entry.start} to {entry.start + entry.size}, where it cannot be."
            )
        position += entry.size
    if position > length:
        raise ExportError(f"{path} is cut short: its header announces {position} bytes, the file has {length}. {ANEW}")
    if position < length:
        raise ExportError(f"{path} has {length} bytes, but its header announces only {position}.")


def write_file(path: Path, tensors: Sequence[Tensor], written: Callable[[Entry, int], None], *, jobs: int = 1) -> None:
    """Write one file in this order, down to the disk: the header first, which says where each tensor goes.

    Args:
        jobs: how many tensors are written at once.
        written: told of each tensor that is complete in the file, with the checksum of what was meant to be written.
    """
    with open(path, "xb", buffering=0) as file:
        header = encode_header(tensors)
        _write(file, header)
        ends = list(itertools.accumulate((tensor.nbytes for tensor in tensors), initial=len(header)))
        if jobs == 1:
            for tensor, start in zip(tensors, ends, strict=False):
                write_tensor(file, tensor, start, written)
        else:
            _write_at_once(path, list(zip(tensors, ends, strict=False)), written, jobs)
        os.fsync(file.fileno())


def write_tensor(file: Any, tensor: Tensor, start: int, written: Callable[[Entry, int], None]) -> None:
    """Write a tensor where the file stands, which is at ``start``."""
    checksum, size = Checksum(), 0
    for piece in tensor.pieces():
        checksum.add(piece)
        _write(file, piece)
        size += len(piece)
    if size != tensor.nbytes:
        raise ExportError(f"{tensor.origin} gave {size} bytes of {tensor.name} instead of {tensor.nbytes}.")
    written(Entry(tensor.name, tensor.dtype, tensor.shape, start, size), checksum.value)


def _write_at_once(
    path: Path, tensors: Sequence[tuple[Tensor, int]], written: Callable[[Entry, int], None], jobs: int
) -> None:
    """Each tensor by a thread, at its place in the file. After a failure none is begun that was not."""

    def write(tensor: Tensor, start: int) -> None:
        with open(path, "r+b", buffering=0) as file:
            file.seek(start)
            write_tensor(file, tensor, start, written)

    with ThreadPoolExecutor(jobs, "write") as threads:
        running = [threads.submit(write, tensor, start) for tensor, start in tensors]
        try:
            for done in as_completed(running):
                done.result()
        except BaseException:
            threads.shutdown(cancel_futures=True)
            raise


def encode_header(tensors: Sequence[Tensor]) -> bytes:
    """The file up to its first tensor, padded to whole pages: most tensors then begin and end where pages do.

    Written so they take two thirds of the time, and they can be mapped as they are. The format allows any length, and
    spaces at the end (https://huggingface.co/docs/safetensors/index#format).
    """
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    position = 0
    for tensor in tensors:
        end = position + tensor.nbytes
        header[tensor.name] = {
            "dtype": tensor.dtype,
            "shape": list(tensor.shape),
            "data_offsets": [position, end],
        }
        position = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-(8 + len(text)) % PAGE)
    return struct.pack("<Q", len(text)) + text


def _write(file: Any, data: Any) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
