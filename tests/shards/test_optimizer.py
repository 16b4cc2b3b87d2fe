"""The state of the optimizer comes back to the bit, and Trainer goes on from it."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.export import ExportReport, export_checkpoint

from . import generator, models
from .generator import Case, Model, Optimizer
from .tensors import contents, differing

KEYS = ("exp_avg", "exp_avg_sq")
LATER = ("pt", "pt_fq", "json0", "json")  # with the optimizer in a folder of its own
BESIDE = {"scheduler.pt": {"last_epoch": 3}, "trainer_state.json": {"global_step": 3}}


def moments_of(model: Model) -> dict[str, dict[str, Any]]:
    dice = torch.Generator().manual_seed(9)
    return {
        key: {name: torch.rand(value.shape, generator=dice) for name, value in model.state.items()} for key in KEYS
    }


def write(model: Model, case: Case, folder: Path, **how: Any) -> dict[str, Any]:
    moments = moments_of(model)
    optimizer = Optimizer(moments, group={"lr": 0.001, "betas": (0.9, 0.999)}, **how)
    if case.layout in LATER:
        (generator.write_json_model if case.in_json else generator.write_before_0_2)(model, case, folder)
        generator.write_optimizer(model, case, optimizer, folder)
    else:
        generator.write_before_0_2(
            model, case, folder, optimizer=lambda rank, stage: optimizer.saved_by(model, case, rank, stage)
        )
    if case.pp > 1:
        generator.write_json(folder / "config.json", model.config)
    torch.save(BESIDE["scheduler.pt"], folder / "scheduler.pt")
    generator.write_json(folder / "trainer_state.json", BESIDE["trainer_state.json"])
    return moments


def exported(source: Path, **given: Any) -> tuple[ExportReport, dict[str, Any]]:
    destination = source.with_name("model")
    report = export_checkpoint(source, destination, optimizer=True, **given)
    assert report is not None
    return report, torch.load(destination / "optimizer.pt", weights_only=True)


def as_trainer_has_it(kind: str, kv_heads: int, moments: dict[str, dict[str, Any]]) -> tuple[dict[str, Any], int]:
    """The moments by the numbers that Trainer gives parameters, and how many of them decay."""
    from transformers import Trainer

    model = models.built(kind, kv_heads)
    decaying = set(Trainer.get_decay_parameter_names(None, model))
    names = [name for name, _ in model.named_parameters()]
    order = sorted(names, key=lambda name: name not in decaying)
    entries = {f"{number} {key}": moments[key][name] for number, name in enumerate(order) for key in KEYS}
    return entries, len(decaying.intersection(names))


@pytest.mark.parametrize(
    ("kind", "kv_heads", "case", "how"),
    [
        ("llama", 8, Case("json", tp=2, xser=False), {}),
        ("llama", 2, Case("json", tp=4, pp=2, fuse_qkv=True), {"dp": 3, "zero": True}),
        ("llama_biased", 2, Case("json", tp=8, multiplier=4), {"dp": 1, "zero": True}),
        ("granite", 8, Case("json", tp=2, xser=False), {"dp": 2, "zero": True}),
        ("qwen3", 2, Case("json", tp=2), {}),
        ("llama", 2, Case("pt_fq", tp=4, pp=2), {}),
        ("llama", 4, Case("pt", tp=2, xser=False), {"dp": 5, "zero": True}),
        ("bert", 8, Case("pt", tp=4), {}),
        ("t5", 8, Case("pt", tp=2), {}),
        ("llama", 8, Case("flat", tp=2), {}),
        ("llama_tied", 8, Case("ppflat", tp=2), {}),
        ("llama", 4, Case("dir", tp=4, pp=2), {}),
        ("bert", 8, Case("dir", tp=2), {}),
        ("llama", 8, Case("tpxser", tp=2, pp=2), {"zero": True}),
        ("llama", 2, Case("tpxser_gqa", tp=4), {}),
    ],
    ids=str,
)
def test_moments(kind: str, kv_heads: int, case: Case, how: dict[str, Any], tmp_path: Path) -> None:
    model = models.described(kind, kv_heads)
    moments = write(model, case, tmp_path / "source", **how)
    report, found = exported(tmp_path / "source")
    expected, decaying = as_trainer_has_it(kind, kv_heads, moments)
    state = {f"{number} {key}": found["state"][number][key] for number in found["state"] for key in KEYS}
    assert differing(state, expected) == []
    assert {float(fields["step"]) for fields in found["state"].values()} == {3.0}
    count = len(found["state"])
    assert found["param_groups"] == [
        {"lr": 0.001, "betas": (0.9, 0.999), "weight_decay": 0.1, "params": list(range(decaying))},
        {"lr": 0.001, "betas": (0.9, 0.999), "weight_decay": 0.0, "params": list(range(decaying, count))},
    ]
    assert differing(contents(tmp_path / "model"), model.state) == []
    assert {"optimizer.pt", *BESIDE} <= set(report.companions)
    assert not {*BESIDE}.intersection(report.left_behind)
    assert json.loads((tmp_path / "model" / "trainer_state.json").read_text()) == BESIDE["trainer_state.json"]


def test_without_being_asked_it_stays(tmp_path: Path) -> None:
    write(models.described("llama"), Case("json", tp=2), tmp_path / "source")
    report = export_checkpoint(tmp_path / "source", tmp_path / "model")
    assert report is not None
    assert "The state of the optimizer stays where it is. --optimizer converts it, for Trainer to resume from." in (
        report.notes
    )
    assert not (tmp_path / "model" / "optimizer.pt").exists()
    assert set(BESIDE) <= set(report.left_behind)


def test_where_nothing_lies_beside_it(tmp_path: Path) -> None:
    write(models.described("llama"), Case("json", tp=2), tmp_path / "source")
    for name in BESIDE:
        (tmp_path / "source" / name).unlink()
    report, _ = exported(tmp_path / "source", dry_run=False)
    told = f"scheduler.pt and trainer_state.json are not in {tmp_path / 'source'}: Trainer resumes only with them."
    assert told in report.notes


def test_dry_run_counts_it(tmp_path: Path) -> None:
    write(models.described("llama"), Case("json", tp=2), tmp_path / "source")
    report = export_checkpoint(tmp_path / "source", tmp_path / "model", optimizer=True, dry_run=True)
    assert report is not None
    assert "optimizer.pt" in report.companions
    assert not (tmp_path / "model").exists()


def _change(folder: Path, name: str, change: Callable[[Any], None]) -> None:
    path = folder / "shards" / "optim" / name
    content = torch.load(path, weights_only=True)
    change(content)
    torch.save(content, path)


FIRST = "dp_rank_00_tp_rank_00_pp_rank_00.pt"
ZERO: dict[str, Any] = {"dp": 2, "zero": True}


def frozen(content: Any) -> None:
    content["param_groups"][0]["params"].pop()


def without_one(content: Any) -> None:
    del content["state"][3]


def of_another_model(content: Any) -> None:
    content["state"][1]["exp_avg"] = torch.ones(3, 5)


def a_number_in_place_of_a_tensor(content: Any) -> None:
    content["state"][1]["exp_avg"] = 5


def fewer_rows(content: Any) -> None:
    content["base_state"][1]["exp_avg"] = torch.ones(3, 32)


def nothing(content: Any) -> None:
    content.clear()


def without_groups(content: Any) -> None:
    del content["param_groups"]


@pytest.mark.parametrize(
    ("how", "name", "change", "message"),
    [
        ({}, FIRST, frozen, "some were frozen, or the optimizer was made by hand"),
        ({}, FIRST, without_one, "has no state of parameter 3, which is model.layers.0."),
        ({}, FIRST, of_another_model, "exp_avg of parameter 1 is [3, 5] in"),
        (
            {},
            FIRST.replace("tp_rank_00", "tp_rank_01"),
            a_number_in_place_of_a_tensor,
            "exp_avg of parameter 1 is 5 in",
        ),
        (ZERO, FIRST, fewer_rows, "only the first one saved its part), or the files are of two runs."),
        ({}, FIRST, nothing, "holds no state of an optimizer."),
        ({}, FIRST, without_groups, "holds no state of an optimizer as torch writes it (KeyError('param_groups'))."),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_refused(how: Any, name: str, change: Callable[[Any], None], message: str, tmp_path: Path) -> None:
    write(models.described("llama"), Case("json", tp=2, xser=False), tmp_path / "source", **how)
    _change(tmp_path / "source", name, change)
    with pytest.raises(ExportError) as caught:
        exported(tmp_path / "source")
    assert message in str(caught.value)
    assert name in str(caught.value)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("how", "gone"),
    [
        ({}, FIRST.replace("tp_rank_00", "tp_rank_01")),
        (ZERO, FIRST),
        (ZERO, FIRST.replace("tp_rank_00", "tp_rank_01")),
    ],
    ids=["rank", "first of ZeRO", "first of ZeRO on rank 1"],
)
def test_missing_file(how: Any, gone: str, tmp_path: Path) -> None:
    write(models.described("llama"), Case("json", tp=2, xser=False), tmp_path / "source", **how)
    path = tmp_path / "source" / "shards" / "optim" / gone
    path.unlink()
    with pytest.raises(ExportError) as caught:
        exported(tmp_path / "source")
    assert str(caught.value) == f"{path} is missing: without it the optimizer's state is not whole."


def test_state_of_which_the_rest_was_never_saved(tmp_path: Path) -> None:
    write(models.described("llama"), Case("dir", tp=2), tmp_path / "source", **ZERO)
    with pytest.raises(ExportError, match=r"before 0\.0\.22 only the first one saved its part"):
        exported(tmp_path / "source")


def test_file_of_an_earlier_run(tmp_path: Path) -> None:
    write(models.described("llama"), Case("json", tp=2, xser=False), tmp_path / "source")
    folder = tmp_path / "source" / "shards" / "optim"
    shutil.copy(folder / FIRST, folder / FIRST.replace("dp_rank_00", "dp_rank_01"))
    with pytest.raises(ExportError, match=r"is of another run: .* was not cut over data-parallel ranks"):
        exported(tmp_path / "source")


def test_where_there_is_none(tmp_path: Path) -> None:
    generator.write_json_model(models.described("llama"), Case("json", tp=2), tmp_path / "source")
    with pytest.raises(ExportError, match="holds no state of an optimizer that can be converted"):
        exported(tmp_path / "source")


def test_model_that_transformers_does_not_know(tmp_path: Path) -> None:
    write(models.described("llama"), Case("json", tp=2), tmp_path / "source")
    path = tmp_path / "source" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "architectures": ["Custom"]}), encoding="utf-8")
    with pytest.raises(ExportError, match="only converted for models that are transformers' own"):
        exported(tmp_path / "source")


def test_scheduler_that_would_run_code(tmp_path: Path) -> None:
    write(models.described("llama"), Case("json", tp=2), tmp_path / "source")

    class Hostile:
        def __reduce__(self) -> Any:
            return os.system, ("true",)

    torch.save({"last_epoch": Hostile()}, tmp_path / "source" / "scheduler.pt")
    with pytest.raises(ExportError, match=r"scheduler.pt names (posix|nt).system in its pickle"):
        exported(tmp_path / "source")
    assert not (tmp_path / "model").exists()


def with_masters(kind: str, kv_heads: int) -> tuple[Model, dict[str, Any]]:
    """A model in bfloat16, and the weights it was rounded from."""
    model = models.described(kind, kv_heads)
    state = {name: value.bfloat16() for name, value in model.state.items()}
    return replace(model, state=state, config={**model.config, "torch_dtype": "bfloat16"}), model.state


@pytest.mark.parametrize(
    ("kind", "kv_heads", "case", "dp"),
    [
        ("llama", 8, Case("json", tp=2, xser=False), 3),
        ("llama", 2, Case("json", tp=4, pp=2, fuse_qkv=True), 2),
        ("llama_tied", 4, Case("json", tp=2), 1),
    ],
    ids=str,
)
def test_weights_in_fp32(kind: str, kv_heads: int, case: Case, dp: int, tmp_path: Path) -> None:
    model, masters = with_masters(kind, kv_heads)
    write(model, case, tmp_path / "source", dp=dp, zero=True, masters=masters)
    told = "The optimizer kept the weights in fp32. --master-weights exports those, without rounding."
    report = export_checkpoint(tmp_path / "source", tmp_path / "rounded")
    assert report is not None
    assert told in report.notes
    assert differing(contents(tmp_path / "rounded"), model.state) == []

    report, found = exported(tmp_path / "source", master_weights=True)
    assert told not in report.notes
    assert differing(contents(tmp_path / "model"), masters) == []
    assert all(line.endswith(", as the optimizer has it") for line in report.plan)
    config = json.loads((tmp_path / "model" / "config.json").read_text(encoding="utf-8"))
    assert config["dtype"] == "float32"
    assert set(found["state"][0]) == {"step", *KEYS}


def test_weights_in_fp32_of_another_step(tmp_path: Path) -> None:
    model, masters = with_masters("llama", 8)
    write(model, Case("json", tp=2, xser=False), tmp_path / "source", zero=True, masters=masters)

    def changed(content: Any) -> None:
        for value in content["sharded_master_weights"].values():
            value += 1

    _change(tmp_path / "source", FIRST, changed)
    with pytest.raises(ExportError, match=r"model.embed_tokens.weight in fp32, in .* are of two steps or runs"):
        export_checkpoint(tmp_path / "source", tmp_path / "model", master_weights=True)


def test_no_weights_in_fp32(tmp_path: Path) -> None:
    write(models.described("llama"), Case("json", tp=2), tmp_path / "source", **ZERO)
    with pytest.raises(ExportError, match=r"source holds no weights in fp32: only ZeRO-1 in 0.4 saved them"):
        export_checkpoint(tmp_path / "source", tmp_path / "model", master_weights=True)


def test_damaged_state_that_nobody_asked_for(tmp_path: Path) -> None:
    write(models.described("llama"), Case("json", tp=2), tmp_path / "source")
    (tmp_path / "source" / "shards" / "optim" / FIRST).write_bytes(b"PK")
    export_checkpoint(tmp_path / "source", tmp_path / "model")
    with pytest.raises(ExportError, match="is cut short or damaged"):
        exported(tmp_path / "source", overwrite=True)


def test_other_idea_of_weight_decay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import Trainer

    write(models.described("llama"), Case("json", tp=2), tmp_path / "source")
    monkeypatch.setattr(
        Trainer, "get_decay_parameter_names", lambda _, model: [n for n, _ in model.named_parameters()]
    )
    with pytest.raises(ExportError, match=r"model.layers.0.input_layernorm.weight had no weight decay in .*optim, "):
        exported(tmp_path / "source")


def test_copies_that_differ(tmp_path: Path) -> None:
    """Of key/value heads; the choice is that for the weights."""
    model, case = models.described("llama", 2), Case("json", tp=4, xser=False)
    moments = write(model, case, tmp_path / "source")

    def changed(content: Any) -> None:
        for fields in content["state"].values():
            fields["exp_avg"] += 1

    _change(tmp_path / "source", FIRST.replace("tp_rank_00", "tp_rank_03"), changed)
    with pytest.raises(ExportError, match=r"exp_avg of model.*copies"):
        exported(tmp_path / "source")
    with pytest.raises(ValueError, match="cannot be widened"):
        exported(tmp_path / "source", kv="widened")
    report, found = exported(tmp_path / "source", kv="mean")
    assert any("Their mean is kept." in note for note in report.notes)
    expected, _ = as_trainer_has_it("llama", 2, moments)
    assert any(
        math.isclose(
            float((found["state"][number]["exp_avg"] - expected[f"{number} exp_avg"]).max()), 0.5, abs_tol=1e-6
        )
        for number in found["state"]
    )


def test_optimizer_without_a_state(tmp_path: Path) -> None:
    """SGD has none but its groups; other ones have plain numbers."""
    model = models.described("llama")
    write(model, Case("json", tp=2, xser=False), tmp_path / "source")

    def plain(content: Any) -> None:
        content["state"] = {number: {"step": 7} for number in content["state"]}

    for rank in range(2):
        _change(tmp_path / "source", FIRST.replace("tp_rank_00", f"tp_rank_{rank:02d}"), plain)
    _, found = exported(tmp_path / "source")
    assert found["state"][0] == {"step": 7}


@pytest.mark.slow
@pytest.mark.libraries
@pytest.mark.parametrize("how", [{}, ZERO], ids=["plain", "ZeRO-1"])
def test_trainer_goes_on_as_if_nothing_had_happened(how: Any, tmp_path: Path) -> None:
    """Two steps, sharded as Optimum Neuron saved them, exported, resumed: the weights of four steps in one run."""
    from transformers import Trainer, TrainingArguments

    data = [{"input_ids": torch.arange(n, n + 8) % 64, "labels": torch.arange(n, n + 8) % 64} for n in range(32)]

    def trainer(output: Path, folder: Path) -> Trainer:
        from transformers import LlamaForCausalLM

        arguments = TrainingArguments(
            output_dir=str(output),
            max_steps=4,
            save_steps=2,
            per_device_train_batch_size=2,
            learning_rate=1e-2,
            weight_decay=0.1,
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
        )
        return Trainer(LlamaForCausalLM.from_pretrained(folder), arguments, train_dataset=data)

    models.built("llama", 2).save_pretrained(tmp_path / "start")
    trainer(tmp_path / "native", tmp_path / "start").train()
    half = tmp_path / "native" / "checkpoint-2"

    described = models.described("llama", 2)
    saved = contents(half)
    model = Model("llama", {name: saved[name] for name in described.state}, described.config)
    optimizer = torch.load(half / "optimizer.pt", weights_only=True)
    whole = trainer(tmp_path / "other", half).model
    decaying = set(Trainer.get_decay_parameter_names(None, whole))
    order = sorted((name for name, _ in whole.named_parameters()), key=lambda name: name not in decaying)
    numbers = {name: number for number, name in enumerate(order)}
    moments = {key: {name: optimizer["state"][numbers[name]][key] for name in model.state} for key in KEYS}
    case = Case("json", tp=4, pp=2, fuse_qkv=True)
    group = {
        key: value for key, value in optimizer["param_groups"][0].items() if key not in ("params", "weight_decay")
    }
    generator.write_json_model(model, case, tmp_path / "run" / "checkpoint-2")
    saved_state = Optimizer(moments, step=2.0, group=group, **how)
    generator.write_optimizer(model, case, saved_state, tmp_path / "run" / "checkpoint-2")
    for name in BESIDE:
        shutil.copy(half / name, tmp_path / "run" / "checkpoint-2" / name)

    export_checkpoint(tmp_path / "run" / "checkpoint-2", tmp_path / "checkpoint-2", optimizer=True)
    found = torch.load(tmp_path / "checkpoint-2" / "optimizer.pt", weights_only=True)
    assert found["param_groups"] == optimizer["param_groups"]
    for number, fields in optimizer["state"].items():
        for key, value in fields.items():
            assert torch.equal(found["state"][number][key], value), (number, key)
    resumed = trainer(tmp_path / "resumed", tmp_path / "start")
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))
    assert resumed.state.global_step == 4
    assert (
        differing(contents(tmp_path / "resumed" / "checkpoint-4"), contents(tmp_path / "native" / "checkpoint-4"))
        == []
    )
