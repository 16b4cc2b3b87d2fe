"""A converted folder loads where there is only torch, transformers and safetensors, and computes the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from neuron_shim.checkpoint.export import export_checkpoint

from . import generator, models, sweep
from .generator import Case

RELOAD = Path(__file__).with_name("reload.py")


def reloaded(*arguments: Path) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-I", str(RELOAD), *map(str, arguments)],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    result: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return result


CASES = {
    "granite": (2, Case("json", tp=8)),
    "llama": (2, Case("json", tp=8, pp=2, multiplier=4, fuse_qkv=True)),
    "llama_tied": (4, Case("json0", tp=2)),
    "llama_biased": (2, Case("pt_fq", tp=4)),
    "llama_twelve": (6, Case("json", tp=4, multiplier=2, xser=False)),
    "llama_odd": (8, Case("pt", tp=4)),
    "qwen3": (2, Case("json", tp=4)),
    "qwen3_wide": (2, Case("json", tp=8, pp=2, fuse_qkv=True)),
    "mistral": (8, Case("pt_fq", tp=2)),
    "bert": (8, Case("dir", tp=2, xser=False)),
    "roberta": (8, Case("pt", tp=4)),
    "gpt_neo": (8, Case("tpxser", tp=2)),
    "gpt_neox": (8, Case("tpxser_gqa", tp=2)),
    "t5": (8, Case("pt", tp=4)),
}


@pytest.mark.slow
def test_logits(tmp_path: Path) -> None:
    """Of each architecture; one process for all, which takes most of the time to start."""
    folders = []
    for kind, (kv_heads, case) in CASES.items():
        original, source, converted = (tmp_path / kind / name for name in ("original", "source", "converted"))
        models.built(kind, kv_heads).save_pretrained(original)
        write = generator.write_json_model if case.in_json else generator.write_before_0_2
        write(models.described(kind, kv_heads), case, source)
        export_checkpoint(source, converted)
        folders += [converted, original]
    assert reloaded(*folders) == dict.fromkeys(map(str, folders[::2]), True)


def test_every_architecture_is_among_them() -> None:
    runs = (*sweep.in_json(), *sweep.before_0_2(), *sweep.adapters())
    assert set(CASES) == {run.kind for run in runs}


@pytest.mark.slow
def test_logits_with_an_adapter(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    model, case = models.described("llama", 2), Case("json", tp=8, fuse_qkv=True, xser=False)
    models.built("llama", 2).save_pretrained(tmp_path / "original")
    targets = generator.LINEARS
    adapter = generator.adapter_state(model, case, targets)
    config = generator.adapter_config(targets, "")
    generator.write_adapter(model, case, adapter, tmp_path / "source" / "adapter_default")
    generator.write_json(tmp_path / "source" / "adapter_default" / "adapter_config.json", config)
    generator.write_json(tmp_path / "adapter" / "adapter_config.json", config)
    save_file(adapter, tmp_path / "adapter" / "adapter_model.safetensors")
    export_checkpoint(tmp_path / "source", tmp_path / "converted")
    told = reloaded(tmp_path / "converted", tmp_path / "original", tmp_path / "adapter")
    assert told == {str(tmp_path / "converted"): True}
