"""The migrated examples train: alone, and on several processes to the same losses; what they save needs no shim."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from . import tables
from .runs import EXAMPLES, Launch, reload, train, train_example

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .assets import Assets
    from .runs import Example, Run

TOLERANCE = 1e-3

each_example = pytest.mark.parametrize("example", EXAMPLES, ids=str)


def assert_saved_is_trained(example: Example, run: Run) -> None:
    reloaded = reload(example.loader, run)
    print(tables.checkpoint(example.loader, reloaded))
    assert reloaded.loaded == reloaded.trained > 0
    assert reloaded.only_in_one == []
    assert reloaded.other_shape_or_dtype == []
    assert reloaded.unequal == []


def largest_difference(numbers: list[float], others: list[float]) -> float:
    return max(abs(a - b) for a, b in zip(numbers, others, strict=True))


@pytest.mark.slow
@each_example
def test_one_process_trains_and_saves(example: Example, one_process: Callable[[Example], Run]) -> None:
    run = one_process(example)
    print(tables.training(example.name, run))

    assert len(run.steps) == 6
    assert all(math.isfinite(step.loss) and 0 < step.grad_norm < 100 for step in run.steps)
    assert run.steps[-1].loss < run.steps[0].loss - 50 * TOLERANCE
    assert (run.world_size, run.tp_size, run.fsdp_size) == (1, 1, 1)
    assert run.trainable_dtypes == ("torch.float32",)
    assert_saved_is_trained(example, run)


@pytest.mark.slow
@each_example
def test_several_processes_train_as_one(
    example: Example,
    one_process: Callable[[Example], Run],
    script_of: Callable[[Example], Path],
    assets: Assets,
    tmp_path: Path,
) -> None:
    one = one_process(example)
    launch = example.spread
    several = train_example(example, script_of(example), assets, tmp_path, launch)
    print(tables.comparison(example.name, ("one", one), ("several", several)))

    assert (several.world_size, several.tp_size) == (launch.processes, launch.tp_size or 1)
    assert several.fsdp_size == (launch.fsdp_size or 1)
    if launch.tp_size or launch.fsdp_size:
        assert several.parameters_on_rank_0 < several.parameters / 2, "the model is not sharded"
    assert several.parameters == one.parameters

    losses = [step.loss for step in one.steps]
    norms = [step.grad_norm for step in one.steps]
    assert largest_difference(losses, [step.loss for step in several.steps]) < TOLERANCE
    assert largest_difference(norms, [step.grad_norm for step in several.steps]) < TOLERANCE
    # Steps differ among each other by more than that: a run on other data, or one that learns less, could not pass.
    assert largest_difference(losses[1:], losses[:-1]) > 10 * TOLERANCE
    assert largest_difference(norms[1:], norms[:-1]) > 10 * TOLERANCE
    assert_saved_is_trained(example, several)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lora_sft", "full_finetune"])
def test_bf16_keeps_trained_weights_in_float32(
    name: str,
    one_process: Callable[[Example], Run],
    script_of: Callable[[Example], Path],
    assets: Assets,
    tmp_path: Path,
) -> None:
    example = next(example for example in EXAMPLES if example.name == name)
    launch = Launch(environment={"HARNESS_USE_CPU": "1"})
    arguments = example.command_line(assets, tmp_path / "output", launch)
    if "--no_bf16" in arguments:
        arguments.remove("--no_bf16")
    else:
        arguments.append("--bf16")
    run = train(script_of(example), arguments, tmp_path, launch)
    print(tables.comparison(name, ("float32", one_process(example)), ("bf16", run)))

    assert run.trainable_dtypes == ("torch.float32",)
    assert run.frozen_dtypes == (("torch.bfloat16",) if name == "lora_sft" else ())
    losses = [step.loss for step in one_process(example).steps]
    # Eight bits of mantissa: near float32, and not equal to it, or nothing was computed in bf16.
    assert 0 < largest_difference(losses, [step.loss for step in run.steps]) < 0.1
