"""The migrated examples, as they are, on the simulated device: they train as in one process on the CPU."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.training import tables
from tests.training.assets import Assets
from tests.training.runs import EXAMPLES, REPOSITORY, Example, Launch, Run, train_example

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.libraries]


class OnDevice(Launch):
    """The same processes, each with the simulated device."""

    def command(self) -> list[str]:
        return [*super().command(), "-m", "neuron_shim.simulate"]


def run_example(example: Example, assets: Path, folder: Path, launch: Launch) -> Run:
    script = REPOSITORY / "examples" / example.name / "after" / example.script
    return train_example(example, script, Assets(assets), folder, launch)


@pytest.fixture(scope="module")
def on_cpu(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Example], Run]:
    return cache(lambda example: run_example(example, assets, tmp_path_factory.mktemp(example.name), Launch()))


@pytest.mark.parametrize("spread", [False, True], ids=["one process", "spread"])
@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_trains_as_on_the_cpu(
    example: Example,
    spread: bool,
    on_cpu: Callable[[Example], Run],
    assets: Path,
    compiled: dict[str, str],
    tmp_path: Path,
) -> None:
    launch = example.spread if spread else Launch()
    there = OnDevice(launch.processes, launch.tp_size, launch.fsdp_size, {**launch.environment, **compiled})

    run, wanted = run_example(example, assets, tmp_path, there), on_cpu(example)

    print(tables.comparison(str(example), ("CPU", wanted), ("simulated", run)))
    assert run.device == "neuron:0"
    assert len(run.steps) == len(wanted.steps) == 6
    for found, step in zip(run.steps, wanted.steps, strict=True):
        assert found.loss == pytest.approx(step.loss, abs=1e-3)
        assert found.grad_norm == pytest.approx(step.grad_norm, abs=1e-3)
