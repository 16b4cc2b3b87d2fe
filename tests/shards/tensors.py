"""Compare tensors to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def contents(folder: Path) -> dict[str, Any]:
    """All tensors in the safetensors files of a folder."""
    from safetensors.torch import load_file

    tensors: dict[str, Any] = {}
    for path in sorted(folder.glob("*.safetensors")):
        tensors |= load_file(path)
    return tensors


def differing(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Names whose tensors are not equal in dtype, shape and every bit."""
    import torch

    def same(name: str) -> bool:
        a, b = one.get(name), other.get(name)
        if a is None or b is None or a.dtype != b.dtype or a.shape != b.shape:
            return False
        return torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8))

    return sorted(name for name in one.keys() | other.keys() if not same(name))
