"""What an export repairs by itself, and what it leaves to the user."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.export import ExportReport, export_checkpoint

from . import generator, models
from .generator import Case
from .tensors import contents, differing


def exported(source: Path, **settings: Any) -> tuple[ExportReport, dict[str, Any], dict[str, Any]]:
    destination = source.with_name("model")
    report = export_checkpoint(source, destination, **settings)
    assert report is not None
    config = json.loads((destination / "config.json").read_text(encoding="utf-8"))
    return report, contents(destination), config


# --- key/value heads that were trained apart


def apart(folder: Path, layout: str, multiplier: int | None = None) -> dict[str, list[Any]]:
    """A run on 4 ranks with 2 key/value heads, whose copies have drifted; all heads, in the order of the queries."""
    import torch

    model = models.described("llama", 2)
    case = Case(layout, tp=4, multiplier=multiplier, xser=False)
    (generator.write_json_model if case.in_json else generator.write_before_0_2)(model, case, folder)
    dice = torch.Generator().manual_seed(3)
    heads: dict[str, list[Any]] = {}
    for rank in range(4):
        path = next(folder.rglob(f"*tp_rank_{rank:02d}*.pt" if case.in_json else f"tp_rank_{rank:02d}*/checkpoint.pt"))
        content = torch.load(path, weights_only=True)
        state = content if case.in_json else content["model"]
        for name in state:
            if re.search(r"\.[kv]_proj\.weight$|weight_[kv]$", name):
                noise = torch.randn(state[name].shape, generator=dice) / 100
                state[name] = state[name] + (noise if rank % 2 or (case.in_json and rank > 1) else 0)
                plain = re.sub(r"qkv_proj\.weight_([kv])", r"\1_proj.weight", name)
                heads.setdefault(plain, []).append(state[name])
        torch.save(content, path)
    if case.in_json:  # rank r has head r % 2, so the copies of head 0 are on ranks 0 and 2
        heads = {name: [some[0], some[2], some[1], some[3]] for name, some in heads.items()}
    return heads


@pytest.mark.parametrize("layout", ["dir", "json"])
def test_nothing_is_chosen_for_the_user(layout: str, tmp_path: Path) -> None:
    apart(tmp_path / "source", layout)
    with pytest.raises(ExportError) as caught:
        export_checkpoint(tmp_path / "source", tmp_path / "model", dry_run=True)
    told = str(caught.value)
    print(told)
    assert re.match(
        r"4 tensors have copies that should be equal and differ, most of all model\.layers\.\d\.self_attn", told
    )
    assert re.search(r"by 0\.0\d+, where its largest value is ", told)
    assert "--kv first, --kv mean, --kv widened (exact:" in told


@pytest.mark.parametrize("layout", ["dir", "json"])
def test_first(layout: str, tmp_path: Path) -> None:
    import torch

    heads = apart(tmp_path / "source", layout)
    report, found, config = exported(tmp_path / "source", kv="first")
    for name, some in heads.items():
        assert torch.equal(found[name], torch.cat([some[0], some[2]]))
    assert config["num_key_value_heads"] == 2
    assert any("The first of them is kept." in note for note in report.notes)


@pytest.mark.parametrize("layout", ["dir", "json"])
def test_mean(layout: str, tmp_path: Path) -> None:
    import torch

    heads = apart(tmp_path / "source", layout)
    report, found, _ = exported(tmp_path / "source", kv="mean")
    for name, some in heads.items():
        means = [(one.double() + other.double()) / 2 for one, other in (some[:2], some[2:])]
        assert torch.equal(found[name], torch.cat(means).float())
    assert any("Their mean is kept." in note for note in report.notes)


@pytest.mark.parametrize("layout", ["dir", "json"])
def test_widened_computes_what_the_ranks_did(layout: str, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    heads = apart(tmp_path / "source", layout)
    _, found, config = exported(tmp_path / "source", kv="widened")
    assert config["num_key_value_heads"] == 4
    for name, some in heads.items():
        assert torch.equal(found[name], torch.cat(some))
    AutoModelForCausalLM.from_pretrained(tmp_path / "model")


def test_equal_copies_need_no_choice(tmp_path: Path) -> None:
    generator.write_before_0_2(models.described("llama", 2), Case("dir", tp=4, xser=False), tmp_path / "source")
    report, found, config = exported(tmp_path / "source", kv="widened")
    assert config["num_key_value_heads"] == 2
    assert differing(found, models.described("llama", 2).state) == []
    assert not any("copies that should" in note for note in report.notes)


def test_other_copies_cannot_be_widened(tmp_path: Path) -> None:
    import torch

    generator.write_json_model(models.described("llama", 8), Case("json", tp=2, xser=False), tmp_path / "source")
    path = tmp_path / "source" / "shards" / "model" / "dp_rank_00_tp_rank_01_pp_rank_00.pt"
    content = torch.load(path, weights_only=True)
    content["model.norm.weight"] += 1
    torch.save(content, path)
    with pytest.raises(ExportError, match="Only key/value heads can be widened: choose --kv first or --kv mean"):
        export_checkpoint(tmp_path / "source", tmp_path / "model", kv="widened")
    _, found, _ = exported(tmp_path / "source", kv="mean")
    expected = models.described("llama", 8).state["model.norm.weight"] + 0.5
    torch.testing.assert_close(found["model.norm.weight"], expected)


# --- repairs


@pytest.mark.parametrize("kind", ["llama", "bert", "gpt_neox", "t5"])
def test_metadata_that_lie(kind: str, tmp_path: Path) -> None:
    model = models.described(kind)
    generator.write_before_0_2(model, Case("pt", tp=4, xser=False), tmp_path / "source", lies=True)
    report, found, config = exported(tmp_path / "source")
    assert differing(found, model.state) == []
    assert config["vocab_size"] == models.VOCABULARY
    assert any(note.startswith("Joined as the shapes of the model ask, not as ") for note in report.notes)


def test_vocabulary_of_one_rank(tmp_path: Path) -> None:
    generator.write_before_0_2(models.described("llama"), Case("dir", tp=4, xser=False), tmp_path / "source")
    said = json.loads((tmp_path / "source" / "config.json").read_text(encoding="utf-8"))["vocab_size"]
    report, _, config = exported(tmp_path / "source")
    assert (said, config["vocab_size"]) == (16, 64)
    assert "config.json says vocab_size: 64 now, as the embedding has rows; it said 16." in report.notes


def test_granite_is_granite(tmp_path: Path) -> None:
    generator.write_json_model(models.described("granite", 2), Case("json", tp=4), tmp_path / "source")
    report, _, config = exported(tmp_path / "source")
    assert config["model_type"] == "granite"
    assert config["logits_scaling"] == 2.0
    assert any("model_type: granite now" in note for note in report.notes)


def test_cache_is_on_again(tmp_path: Path) -> None:
    generator.write_json_model(models.described("llama"), Case("json", tp=2, pp=2), tmp_path / "source")
    (tmp_path / "source" / "generation_config.json").write_text('{"use_cache": false, "top_k": 5}', encoding="utf-8")
    _, _, config = exported(tmp_path / "source")
    assert config["use_cache"] is True
    text = (tmp_path / "model" / "generation_config.json").read_text(encoding="utf-8")
    assert json.loads(text) == {"use_cache": True, "top_k": 5}


def test_ranks_and_stages_of_an_earlier_run(tmp_path: Path) -> None:
    """A run was saved over one with more ranks and stages, in the same folder."""
    model = models.described("llama")
    source = tmp_path / "source"
    generator.write_json_model(model, Case("json", tp=4, pp=2, xser=False), source)
    generator.write_json_model(models.described("llama", 4), Case("json", tp=2, xser=False), tmp_path / "later")
    shutil.copytree(tmp_path / "later", source, dirs_exist_ok=True)
    report, found, _ = exported(source)
    assert differing(found, models.described("llama", 4).state) == []
    assert any("left over from an earlier run with more stages" in note for note in report.notes)
    assert any("left over from an earlier run with more ranks" in note for note in report.notes)


def test_old_ranks_of_an_earlier_run(tmp_path: Path) -> None:
    source = tmp_path / "source"
    generator.write_before_0_2(models.described("llama"), Case("pt", tp=4, xser=False), source)
    generator.write_before_0_2(models.described("llama", 4), Case("pt", tp=2, xser=False), tmp_path / "later")
    shutil.copytree(tmp_path / "later", source, dirs_exist_ok=True)
    report, found, _ = exported(source)
    assert differing(found, models.described("llama", 4).state) == []
    assert any("left over from an earlier run with more ranks" in note for note in report.notes)


def test_buffers_are_left_out(tmp_path: Path) -> None:
    generator.write_before_0_2(models.described("llama"), Case("flat", tp=2, xser=False), tmp_path / "source")
    report, found, _ = exported(tmp_path / "source")
    assert not any("inv_freq" in name for name in found)
    assert any(note.startswith("Left out, because LlamaForCausalLM has no such parameters: ") for note in report.notes)


def test_dtype_and_several_files(tmp_path: Path) -> None:
    import torch

    model = models.described("llama", 2)
    generator.write_json_model(model, Case("json", tp=8, multiplier=4), tmp_path / "source")
    report, found, config = exported(tmp_path / "source", dtype="bf16", max_shard_size="10KB")
    assert config["dtype"] == "bfloat16"
    assert len(report.files) > 3
    expected = {name: value.to(torch.bfloat16) for name, value in model.state.items()}
    assert differing(found, expected) == []


def test_more_than_a_hundred_ranks_are_in_order(tmp_path: Path) -> None:
    import torch

    from neuron_shim.checkpoint.layouts import _rank_files, tensor_parallel_shards

    for rank in range(120):
        torch.save(rank, tmp_path / f"tp_rank_{rank:02d}")
    found = _rank_files.listed(tmp_path, tensor_parallel_shards.FORMS[0][0])
    paths = _rank_files.ranks_of(found, 0, 120, why="as is known")
    assert [int(path.name.removeprefix("tp_rank_")) for path in paths] == list(range(120))


@pytest.mark.parametrize("layout", ["json", "pt"])
def test_model_that_transformers_does_not_know(layout: str, tmp_path: Path) -> None:
    """The metadata alone are believed then; second names and buffers, which they do not have, are left out."""
    model = models.described("llama_tied", 4)
    case = Case(layout, tp=2, xser=False)
    (generator.write_json_model if case.in_json else generator.write_before_0_2)(model, case, tmp_path / "source")
    path = tmp_path / "source" / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**config, "architectures": ["Custom"]}), encoding="utf-8")
    report, found, _ = exported(tmp_path / "source")
    assert differing(found, model.state) == []
    assert any("shapes and missing tensors were not checked" in note for note in report.notes)


def test_checkpoint_one_folder_below(tmp_path: Path) -> None:
    generator.write_json_model(models.described("llama"), Case("json", tp=2), tmp_path / "run" / "checkpoint-5")
    with pytest.raises(ExportError) as caught:
        export_checkpoint(tmp_path / "run", tmp_path / "model")
    assert str(caught.value) == (
        f"{tmp_path / 'run'} holds no checkpoint itself, but {tmp_path / 'run' / 'checkpoint-5'} is model-parallel "
        f"shards of Optimum Neuron 0.2 to 0.4: name that."
    )


def test_weights_in_fp32_that_are_numbers_of_bf16(tmp_path: Path) -> None:
    """As a run with XLA_USE_BF16 saved them."""
    import torch

    model = models.described("llama")
    rounded = {name: value.bfloat16().float() for name, value in model.state.items()}
    generator.write_json_model(dataclasses.replace(model, state=rounded), Case("json", tp=2), tmp_path / "source")
    told = "Every weight in fp32 is a number of bf16: with --dtype bf16 nothing would be lost, at half the size."
    report, found, _ = exported(tmp_path / "source")
    assert told in report.notes
    assert differing(found, rounded) == []
    report = export_checkpoint(tmp_path / "source", tmp_path / "half", dtype="bf16")
    assert report is not None
    assert told not in report.notes
    assert differing({name: value.float() for name, value in contents(tmp_path / "half").items()}, rounded) == []
    assert contents(tmp_path / "half")["lm_head.weight"].dtype == torch.bfloat16


def test_report_on_a_terminal(tmp_path: Path) -> None:
    """Sentences are wrapped, names are not cut."""
    from neuron_shim.checkpoint.command import as_text

    generator.write_json_model(models.described("llama"), Case("json", tp=2), tmp_path / "source")
    report = export_checkpoint(tmp_path / "source", tmp_path / "model", dry_run=True)
    assert report is not None
    wide, narrow = as_text(report), as_text(report, 80)
    assert narrow.split() == wide.split()
    long = [line for line in narrow.splitlines() if len(line) > 80]
    assert all(len(max(line.split(), key=len)) > 40 for line in long)
    assert "\n    " in narrow
