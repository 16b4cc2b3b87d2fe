"""A run that is cut off and resumed has the losses of one that was not; without the optimizer it does not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from neuron_shim.checkpoint import resume

from .models import decoder
from .processes import launch

Log = list[tuple[int, float, float]]
PEFT_OLD_NAME = "ignore:.is_gradient_checkpointing. is deprecated:FutureWarning"


@pytest.fixture
def train(tmp_path: Path) -> Callable[..., Log]:
    decoder(tied=True).save_pretrained(tmp_path / "base")

    def run(output: str, mode: str, stop: int = 0, *, processes: int = 1, **settings: Any) -> Log:
        sizes = {"FSDP_SIZE": str(processes)} if processes > 1 else {}
        out = launch("train.py", tmp_path / output, mode, stop, processes=processes, **sizes, **settings)
        log: Log = json.loads(out.splitlines()[-1])
        return log

    return run


def agrees(one: Log, other: Log, *, within: float = 1e-5) -> bool:
    return len(one) == len(other) and all(
        left[0] == right[0] and left[1:] == pytest.approx(right[1:], abs=within)
        for left, right in zip(one, other, strict=True)
    )


def check(train: Callable[..., Log], folder: Path, **settings: Any) -> None:
    """Cut off at step 5, one step after the checkpoint of step 4 and in the middle of the second epoch."""
    whole = train("whole", "fresh", **settings)
    assert [step for step, _, _ in whole] == list(range(1, 9))
    cut = train("cut", "fresh", 5, **settings)
    assert agrees(cut, whole[:5])
    shutil.copytree(folder / "cut", folder / "control")

    resumed = train("cut", "resume", **settings)
    control = train("control", "control", **settings)

    print(f"whole   {whole[4:]}\nresumed {resumed[4:]}\ncontrol {control[4:]}")
    assert agrees(resumed, whole)
    assert not agrees(control, whole, within=1e-3)


@pytest.mark.slow
def test_one_process(tmp_path: Path) -> None:
    from .train import main

    def train(output: str, mode: str, stop: int = 0) -> Log:
        return main(tmp_path / output, mode, stop)

    decoder(tied=True).save_pretrained(tmp_path / "base")
    check(train, tmp_path)
    checkpoint = tmp_path / "cut" / "checkpoint-4"
    assert json.loads((checkpoint / "resume.json").read_text(encoding="utf-8")) == {"global_step": 4, "world_size": 1}


@pytest.mark.slow
def test_two_processes(train: Callable[..., Log], tmp_path: Path) -> None:
    check(train, tmp_path, processes=2)
    names = {path.name for path in (tmp_path / "cut" / "checkpoint-4").iterdir()}
    assert {"optimizer_distributed", "scheduler.pt", "rng_state_0.pth", "rng_state_1.pth", "resume.json"} <= names


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_on_the_simulated_device(
    processes: int, train: Callable[..., Log], compiled: dict[str, str], tmp_path: Path
) -> None:
    """With dropout, which draws from the random numbers of the device."""
    check(train, tmp_path, processes=processes, simulated=True, **compiled)
    assert (tmp_path / "cut" / "checkpoint-4" / "rng_state_neuron_0.pth").exists()


@pytest.mark.slow
def test_lora_in_two_processes(train: Callable[..., Log], tmp_path: Path) -> None:
    check(train, tmp_path, processes=2, LORA="1", PYTHONWARNINGS=PEFT_OLD_NAME)


@pytest.mark.slow
def test_resumed_on_another_number_of_processes(train: Callable[..., Log], tmp_path: Path) -> None:
    """Without dropout, since the random numbers of the ranks cannot be the same."""
    whole = train("whole", "fresh", processes=2, DROPOUT="0")
    train("cut", "fresh", 5, processes=2, DROPOUT="0")
    resumed = train("cut", "resume", DROPOUT="0")
    assert agrees(resumed, whole, within=1e-4)


@pytest.mark.slow
def test_optimizer_that_trainer_saved(train: Callable[..., Log], tmp_path: Path) -> None:
    """Or that was converted to the same; it is cut as the model is."""
    whole = train("cut", "plain", DROPOUT="0")
    shutil.rmtree(tmp_path / "cut" / "checkpoint-8")
    shutil.rmtree(tmp_path / "cut" / "checkpoint-6")
    resumed = train("cut", "resume", processes=2, DROPOUT="0")
    assert agrees(resumed, whole, within=1e-4)


class Layers(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.linear = torch.nn.LayerNorm(3), torch.nn.Linear(3, 2, bias=False)


def stepped(*, trained: bool) -> tuple[Layers, torch.optim.Optimizer]:
    """Groups as Trainer makes them, with one that is empty, as under LoRA."""
    model = Layers()
    groups = [
        {"params": [model.linear.weight], "weight_decay": 0.1},
        {"params": []},
        {"params": list(model.norm.parameters())},
    ]
    optimizer = torch.optim.AdamW(groups, lr=1e-3 if trained else 1.0)
    if trained:
        model.linear(model.norm(torch.rand(4, 3))).sum().backward()
        optimizer.step()
    return model, optimizer


def test_state_of_a_whole_model(tmp_path: Path) -> None:
    _, trained = stepped(trained=True)
    torch.save(trained.state_dict(), tmp_path / "optimizer.pt")
    model, fresh = stepped(trained=False)
    with resume._quiet(), resume._without_empty_groups(fresh):
        resume._load_whole_state(model, fresh, tmp_path / "optimizer.pt")
    saved, loaded = trained.state_dict(), fresh.state_dict()
    assert [group["lr"] for group in loaded["param_groups"] if group["params"]] == [1e-3, 1e-3]
    assert all(
        torch.equal(loaded["state"][n][key], fields[key]) for n, fields in saved["state"].items() for key in fields
    )
    saved["param_groups"][0]["params"] = []
    torch.save(saved, tmp_path / "optimizer.pt")
    with pytest.raises(ValueError, match=r"optimizer.pt is of an optimizer of 2 parameters, but this one has 3\.$"):
        resume._load_whole_state(model, fresh, tmp_path / "optimizer.pt")


# --- refused


class Args:
    def __init__(self, **settings: Any) -> None:
        self.save_only_model, self.process_index = True, 0
        self.__dict__.update(settings)


class Driven:
    """As much of a Trainer as the callback looks at."""

    is_deepspeed_enabled = is_fsdp_enabled = is_distributed_loading_by_transformers = False

    def __init__(self, **settings: Any) -> None:
        self.args = Args(**settings)
        self.loaded: list[str] = []

    def _load_from_checkpoint(self, folder: str, model: Any = None) -> None:
        self.loaded.append(folder)

    def _load_optimizer_and_scheduler(self, folder: str | None) -> None: ...
    def _load_rng_state(self, folder: str | None) -> None: ...
    def _save_rng_state(self, folder: str) -> None: ...


def test_needs_save_only_model() -> None:
    from neuron_shim import ResumeCallback

    with pytest.raises(RuntimeError, match="give the training arguments save_only_model=True"):
        ResumeCallback(Driven(save_only_model=False))


def test_leaves_what_accelerate_shards() -> None:
    from neuron_shim import ResumeCallback

    trainer = Driven()
    trainer.is_fsdp_enabled = True
    with pytest.raises(RuntimeError, match="accelerate shards this model"):
        ResumeCallback(trainer)


def test_another_trainer() -> None:
    from neuron_shim import ResumeCallback

    with pytest.raises(RuntimeError, match="object has no _load_from_checkpoint: ResumeCallback was written for"):
        ResumeCallback(object())


def test_checkpoint_that_is_not_whole(tmp_path: Path) -> None:
    from neuron_shim import ResumeCallback

    trainer: Any = Driven()
    ResumeCallback(trainer)
    for step in (8, 9, 10, 12):
        (tmp_path / f"checkpoint-{step}").mkdir()
    last = tmp_path / "checkpoint-12"
    with pytest.raises(FileNotFoundError, match="there is no whole one beside it"):
        trainer._load_from_checkpoint(str(last))
    for step in (9, 10):
        (tmp_path / f"checkpoint-{step}" / "resume.json").touch()
    with pytest.raises(
        FileNotFoundError, match=r"checkpoint-12 has no resume.json.* last whole one is \S+checkpoint-10"
    ):
        trainer._load_from_checkpoint(str(last))
    assert trainer.loaded == []
    trainer._load_from_checkpoint(str(tmp_path / "checkpoint-10"))
    (last / "optimizer.pt").touch()
    trainer._load_from_checkpoint(str(last))
    assert trainer.loaded == [str(tmp_path / "checkpoint-10"), str(last)]
