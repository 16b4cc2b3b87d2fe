"""Whatever way a model was spread and saved, it comes back to the bit."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from neuron_shim.checkpoint import architecture
from neuron_shim.checkpoint.export import export_checkpoint
from neuron_shim.checkpoint.layouts import _target

from . import generator, models, sweep
from .sweep import Run
from .tensors import contents, differing


def written(run: Run, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Save a run; what has to come back, and what the export has to be told."""
    model, case = models.described(run.kind, run.kv_heads), run.case
    expected = model.state
    told: dict[str, Any] = {}
    if case.adapter is not None:
        targets = sweep.TARGETS[case.adapter]
        expected = generator.adapter_state(model, case, targets)
        own = folder / "adapter_default" if case.in_json else folder
        generator.write_adapter(model, case, expected, own)
        generator.write_json(own / "adapter_config.json", generator.adapter_config(targets, "base"))
    elif case.in_json:
        generator.write_json_model(model, case, folder)
    else:
        generator.write_before_0_2(model, case, folder)
    # Pipelines left no config; second names of tied weights, which come along with an adapter, are in no metadata.
    if not case.in_json and (case.pp > 1 or (case.adapter is not None and model.second_names)):
        generator.write_json(folder.with_name("base") / "config.json", model.config)
        told["config"] = folder.with_name("base")
    return expected, told


def check(run: Run, folder: Path, **given: Any) -> None:
    expected, told = written(run, folder / "source")
    report = export_checkpoint(folder / "source", folder / "model", **told, **given)
    assert report is not None
    found = contents(folder / "model")
    if run.case.adapter is not None and not run.case.in_json:
        found = {name: value for name, value in found.items() if ".lora_" in name}  # embeddings were saved along
    assert differing(found, expected) == []


QUICK = {
    *("llama-kv2-json-tp8-pp2-fused-xser", "llama-kv2-json-tp8-pp1-m4-plain", "llama-kv8-json0-tp4-pp1-fused-plain"),
    *("granite-kv2-json-tp8-pp1-plain", "qwen3-kv2-json-tp4-pp1-m2-fused-xser", "llama_biased-kv2-json-tp4-pp1-plain"),
    *("llama-kv4-flat-tp4-pp1-plain", "mistral-kv4-ppflat-tp2-pp1-plain", "llama-kv4-dir-tp8-pp2-plain"),
    *("llama-kv2-tpxser-tp4-pp1-xser", "llama_biased-kv2-tpxser_gqa-tp8-pp1-m4-xser", "llama-kv2-pt-tp8-pp2-plain"),
    *("llama-kv1-pt_fq-tp8-pp2-xser", "llama_tied-kv8-pt-tp2-pp1-xser", "bert-kv8-dir-tp4-pp1-plain"),
    *("roberta-kv8-pt-tp8-pp1-xser", "gpt_neo-kv8-tpxser-tp2-pp1-xser", "gpt_neox-kv8-pt_fq-tp4-pp1-xser"),
    *("t5-kv8-pt-tp4-pp1-xser", "llama-kv2-json-tp8-pp2-fused-xser-attention", "llama-kv2-json-tp4-pp2-plain-output"),
    *("llama-kv8-json-tp4-pp1-fused-plain-query_value", "llama-kv4-json-tp8-pp1-m2-xser-all"),
    *("llama-kv4-pt_fq-tp2-pp1-plain-mlp", "t5-kv8-pt-tp2-pp1-plain-t5", "bert-kv8-pt_fq-tp8-pp1-plain-bert"),
    *("llama_odd-kv8-tpxser-tp4-pp1-xser", "qwen3_wide-kv2-json-tp8-pp2-fused-xser"),
}


def quick() -> Iterator[Run]:
    for runs in (sweep.in_json, sweep.before_0_2, sweep.adapters):
        yield from (run for run in runs() if str(run) in QUICK)


def test_the_quick_ones_are_runs() -> None:
    assert {str(run) for run in quick()} == QUICK


@pytest.mark.parametrize("run", list(quick()), ids=str)
def test_some(run: Run, tmp_path: Path) -> None:
    check(run, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("runs", [sweep.in_json, sweep.before_0_2, sweep.adapters], ids=lambda runs: runs.__name__)
def test_all(runs: Callable[[], Iterator[Run]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what makes each last on the disk, and with one empty model for each config: neither is what is tried."""
    known: dict[str, Any] = {}

    def empty_model(config: Mapping[str, Any]) -> Any:
        key = json.dumps(dict(config), sort_keys=True)
        if key not in known:
            known[key] = architecture.empty_model(config)
        return known[key]

    monkeypatch.setattr(_target, "empty_model", empty_model)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    failed = []
    for number, run in enumerate(runs()):
        try:
            check(run, tmp_path / str(number), jobs=1)
            shutil.rmtree(tmp_path / str(number))
        except Exception as error:  # all are told, not the first alone
            failed.append(f"{run}: {error}")
    print(f"{runs.__name__}: {number + 1} runs, {len(failed)} failed")
    assert failed == []
