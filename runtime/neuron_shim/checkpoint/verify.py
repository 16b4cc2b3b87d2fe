"""Read back what was written, before anybody is told that it is there."""

from __future__ import annotations

import contextlib
import mmap
import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from neuron_shim.checkpoint.checksum import Checksum
from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.safetensors_file import read_header

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from typing_extensions import Self

    from neuron_shim.checkpoint.safetensors_file import Entry

MAPPED = 1 << 23
"""Bytes of a file that are summed up at a time."""


class Verifier:
    """Reads back in a thread of its own, a step behind the writing. Leaving the context waits for it.

    Of each tensor the bytes are compared by their checksum; of each file the names, dtypes and shapes, as the
    safetensors library sees them.

    Raises:
        ExportError: a file does not hold what was written.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "verify")
        self._lock = threading.Lock()
        self._running: list[Future[None]] = []
        self._written: dict[Path, list[Entry]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._thread.shutdown(cancel_futures=kind is not None)
        if kind is None:
            self._look(wait=True)

    def tensors_of(self, path: Path) -> Callable[[Entry, int], None]:
        self._written[path] = []

        def written(entry: Entry, checksum: int) -> None:
            self._written[path].append(entry)
            self._running.append(self._thread.submit(_check_tensor, path, entry, checksum))
            self._look(wait=False)

        return written

    def file(self, path: Path) -> None:
        self._running.append(self._thread.submit(_check_file, path, self._written.pop(path)))

    def _look(self, *, wait: bool) -> None:
        with self._lock:
            while self._running and (wait or self._running[0].done()):
                self._running.pop(0).result()


def _check_tensor(path: Path, entry: Entry, expected: int) -> None:
    checksum = Checksum()
    if entry.size:
        with _mapped(path, entry.start, entry.size) as written:
            for start in range(0, entry.size, MAPPED):
                checksum.add(written[start : start + MAPPED])
    if checksum.value != expected:
        raise ExportError(
            f"{path.name} reads back differently from what was written: the checksum of {entry.name} is "
            f"{checksum.value:08x} instead of {expected:08x}. Nothing was kept."
        )


@contextlib.contextmanager
def _mapped(path: Path, start: int, size: int) -> Iterator[memoryview]:
    """Bytes of a file that nobody else changes, without a copy of them.

    On leaving, the system is asked to bring them to the disk, so that the sync at the end of the file has little to
    wait for: that is what Linux does first with pages that are said to be needed no more.
    """
    begin = start - start % mmap.ALLOCATIONGRANULARITY
    length = start - begin + size
    with (
        open(path, "rb") as file,
        mmap.mmap(file.fileno(), length, offset=begin, access=mmap.ACCESS_READ) as whole,
        memoryview(whole) as view,
        view[start - begin :] as part,
    ):
        yield part
        with contextlib.suppress(AttributeError):  # not on every system
            os.posix_fadvise(file.fileno(), start, size, os.POSIX_FADV_DONTNEED)


def _check_file(path: Path, written: list[Entry]) -> None:
    from safetensors import safe_open

    with safe_open(str(path), framework="numpy") as file:  # "numpy" so that torch is not imported
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118  # it is no mapping
        found = {name: (part.get_dtype(), tuple(part.get_shape())) for name, part in slices.items()}
    expected = {entry.name: (entry.dtype, entry.shape) for entry in written}
    if found != expected:
        name = sorted(name for name in found.keys() | expected if found.get(name) != expected.get(name))[0]
        raise ExportError(
            f"{path.name} reads back differently from what was written: {name} is {found.get(name)} instead of "
            f"{expected.get(name)}. Nothing was kept."
        )
    if sorted(read_header(path).entries, key=lambda entry: entry.name) != sorted(
        written, key=lambda entry: entry.name
    ):
        raise ExportError(f"The tensors of {path.name} lie elsewhere than they were written. Nothing was kept.")
