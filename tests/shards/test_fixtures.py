"""Checkpoints that the real Optimum Neuron wrote become the models that they were made from, to the bit.

A few of them are kept here. All are tried where NEURON_SHARDS names the folder that has INDEX.tsv and the trees.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from neuron_shim.checkpoint.export import export_checkpoint

from .tensors import contents, differing

ALL = os.environ.get("NEURON_SHARDS", "")


def as_float32(tensors: dict[str, Any]) -> dict[str, Any]:
    """The old code had loaded some bfloat16 models so, before it saved them."""
    return {name: value.float() for name, value in tensors.items()}


@pytest.mark.parametrize(
    ("tree", "layout"),
    [
        ("real/t_tp4", "model-parallel shards of Optimum Neuron 0.2 to 0.4"),
        ("realo/t010_tp4", "model-parallel shards of Optimum Neuron 0.0.22 to 0.1"),
    ],
)
def test_tied_llama(tree: str, layout: str, kept: Path, tmp_path: Path) -> None:
    report = export_checkpoint(kept / tree, tmp_path / "model", config=kept / "tiny" / "llama_tied")
    assert report is not None
    assert report.layout == layout
    original = as_float32(contents(kept / "tiny" / "llama_tied"))
    assert differing(contents(tmp_path / "model"), original) == []


def test_shards_folder_itself(kept: Path, tmp_path: Path) -> None:
    export_checkpoint(kept / "real" / "t_tp4" / "shards", tmp_path / "model")
    original = as_float32(contents(kept / "tiny" / "llama_tied"))
    assert differing(contents(tmp_path / "model"), original) == []


def test_adapter(kept: Path, tmp_path: Path) -> None:
    export_checkpoint(kept / "real" / "F_tp8_kv2_fuse_noxser", tmp_path / "adapter")
    assert differing(contents(tmp_path / "adapter"), contents(kept / "tiny" / "lora_all")) == []


def test_adapter_of_0_1(kept: Path, tmp_path: Path) -> None:
    """The old code had not loaded the values of the original: names and shapes are compared."""
    report = export_checkpoint(kept / "realo" / "L010_tp2", tmp_path / "adapter")
    assert report is not None
    found = {name: value.shape for name, value in contents(tmp_path / "adapter").items()}
    wanted = {name: value.shape for name, value in contents(kept / "tiny" / "lora_all").items()}
    extra = {"base_model.model.model.embed_tokens.weight": (128, 64), "base_model.model.lm_head.weight": (128, 64)}
    assert found == {**wanted, **extra}
    assert "whole weights that were saved with the adapter" in report.notes[0]


def rows() -> list[list[str]]:
    if not ALL:
        return []
    lines = Path(ALL, "INDEX.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return [line.split("\t") for line in lines]


@pytest.mark.skipif(not ALL, reason="NEURON_SHARDS names no folder with the fixtures")
@pytest.mark.parametrize("row", rows(), ids=lambda row: str(row[0]))
def test_all(row: list[str], tmp_path: Path) -> None:
    tree, original, adapters, *_, note = row
    for pair in adapters.split(";") if adapters else [""]:
        name, _, adapter = pair.partition("=")
        source, wanted = Path(ALL, tree), Path(ALL, adapter or original)
        export_checkpoint(source, tmp_path / f"to-{name}", adapter=name or None, config=Path(ALL, original))
        found = contents(tmp_path / f"to-{name}")
        if not wanted.exists() or "values differ" in note or "not equality" in note:
            assert found
            continue
        expected = contents(wanted)
        if tree.split("/")[-1].startswith("t"):
            expected = as_float32(expected)
        assert differing(found, expected) == []
