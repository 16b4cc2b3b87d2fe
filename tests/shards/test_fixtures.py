"""Checkpoints that the real Optimum Neuron wrote become the models that they were made from, to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuron_shim.checkpoint.export import export_checkpoint

from .tensors import contents, differing


def as_float32(tensors: dict[str, Any]) -> dict[str, Any]:
    """The old code had loaded some bfloat16 models so, before it saved them."""
    return {name: value.float() for name, value in tensors.items()}


def test_tied_llama_of_0_4(kept: Path, tmp_path: Path) -> None:
    report = export_checkpoint(kept / "real" / "t_tp4", tmp_path / "model")
    assert report is not None
    assert report.layout == "model-parallel shards of Optimum Neuron 0.2 to 0.4"
    original = as_float32(contents(kept / "tiny" / "llama_tied"))
    assert differing(contents(tmp_path / "model"), original) == []
