"""Read back what was written, before anybody is told that it is there."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from neuron_shim.checkpoint.checksum import Checksum
from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.safetensors_file import read_header
from neuron_shim.checkpoint.tensors import read_range

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typing_extensions import Self

    from neuron_shim.checkpoint.safetensors_file import Entry


class Verifier:
    """Reads back in a thread of its own, a step behind the writing. Leaving the context waits for it.

    Of each tensor the bytes are compared by their checksum; of each file the names, dtypes and shapes, as the
    safetensors library sees them.

    Raises:
        ExportError: a file does not hold what was written.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "verify")
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
        while self._running and (wait or self._running[0].done()):
            self._running.pop(0).result()


def _check_tensor(path: Path, entry: Entry, expected: int) -> None:
    checksum = Checksum()
    for piece in read_range(path, entry.start, entry.size):
        checksum.add(piece)
    if checksum.value != expected:
        raise ExportError(
            f"{path.name} reads back differently from what was written: the checksum of {entry.name} is "
            f"{checksum.value:08x} instead of {expected:08x}. Nothing was kept."
        )


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
