"""A converted folder loads where there is only torch, transformers and safetensors, and computes the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from neuron_shim.checkpoint.export import export_checkpoint

from . import generator, models
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "case"),
    [
        ("granite", Case("json", tp=8)),
        ("llama", Case("json", tp=8, multiplier=4, fuse_qkv=True)),
        ("qwen3", Case("json", tp=4)),
        ("mistral", Case("pt_fq", tp=2)),
        ("t5", Case("pt", tp=4)),
        ("bert", Case("dir", tp=2, xser=False)),
    ],
    ids=lambda value: value if isinstance(value, str) else value.layout,
)
def test_logits(kind: str, case: Case, tmp_path: Path) -> None:
    kv_heads = 8 if kind in ("mistral", "t5", "bert") else 2
    models.built(kind, kv_heads).save_pretrained(tmp_path / "original")
    write = generator.write_json_model if case.in_json else generator.write_before_0_2
    write(models.described(kind, kv_heads), case, tmp_path / "source")
    export_checkpoint(tmp_path / "source", tmp_path / "model")
    assert reloaded(tmp_path / "model", tmp_path / "original")["equal"] is True


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
    assert told["equal"] is True
