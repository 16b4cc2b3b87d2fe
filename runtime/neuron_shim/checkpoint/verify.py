"""Read back what was written, before anybody is told that it is there."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.safetensors_file import read_header
from neuron_shim.checkpoint.tensors import read_range

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from neuron_shim.checkpoint.safetensors_file import Written


def verify_file(path: Path, written: Sequence[Written]) -> None:
    """Names, dtypes and shapes as the safetensors library sees them, and the CRC-32 of each tensor's bytes.

    Raises:
        ExportError: the file does not hold what was written.
    """
    from safetensors import safe_open

    with safe_open(str(path), framework="numpy") as file:  # "numpy" so that torch is not imported
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118  # no mapping
        found = {name: (part.get_dtype(), tuple(part.get_shape())) for name, part in slices.items()}
    expected = {tensor.name: (tensor.dtype, tensor.shape) for tensor in written}
    if found != expected:
        differing = sorted(name for name in found.keys() | expected if found.get(name) != expected.get(name))
        raise ExportError(
            f"{path.name} reads back differently from what was written: {differing[0]} is "
            f"{found.get(differing[0])} instead of {expected.get(differing[0])}. Nothing was kept."
        )
    checksums = {tensor.name: tensor.crc32 for tensor in written}
    for entry in read_header(path).entries:
        checksum = 0
        for piece in read_range(path, entry.start, entry.size):
            checksum = zlib.crc32(piece, checksum)
        if checksum != checksums[entry.name]:
            raise ExportError(
                f"{path.name} reads back differently from what was written: the checksum of {entry.name} is "
                f"{checksum:08x} instead of {checksums[entry.name]:08x}. Nothing was kept."
            )
