"""Which tensor goes into which file, as ``save_pretrained`` divides them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_shim.checkpoint.tensors import Tensor

_UNITS = {
    "": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}


def parse_size(size: int | str) -> int:
    """Bytes of 5_000_000_000, "5GB" or "5GiB".

    Raises:
        ValueError: it is not written so, or not above 0.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?B|)\s*", str(size).upper())
    number = int(float(match[1]) * _UNITS[match[2]]) if match else 0
    if number < 1:
        raise ValueError(f"The shard size is {size!r}, but must be a size above 0 such as 5GB or 500MB.")
    return number


def split(tensors: Sequence[Tensor], limit: int, *, stem: str) -> dict[str, list[Tensor]]:
    """File names and what goes into them: in order, a new file when one would pass ``limit``.

    A tensor above the limit has a file of its own (huggingface_hub/serialization/_base.py,
    ``split_state_dict_into_shards_factory``).
    """
    shards: list[list[Tensor]] = []
    current: list[Tensor] = []
    size = 0
    for tensor in tensors:
        if tensor.nbytes > limit:
            shards.append([tensor])
            continue
        if current and size + tensor.nbytes > limit:
            shards.append(current)
            current, size = [], 0
        current.append(tensor)
        size += tensor.nbytes
    if current:
        shards.append(current)
    if len(shards) == 1:
        return {f"{stem}.safetensors": shards[0]}
    return {f"{stem}-{number:05}-of-{len(shards):05}.safetensors": shard for number, shard in enumerate(shards, 1)}
