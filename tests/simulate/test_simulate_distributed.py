"""Several processes: the collectives, and training under each kind of parallelism, unpatched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .test_simulate_libraries import assert_same_training

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.slow, pytest.mark.libraries]

Training = dict[str, Any]


@pytest.mark.parametrize("processes", [2, 4])
def test_collectives(processes: int, simulated: Callable[..., str]) -> None:
    said = simulated(Path(__file__).with_name("collectives.py"), processes=processes)

    names = [line.removeprefix("ok ") for line in said.splitlines() if line.startswith("ok ")]
    assert len(names) == 24, names


@pytest.mark.parametrize(
    ("processes", "settings", "parameter_type"),
    [
        pytest.param(2, (), "Tensor", id="ddp2"),
        pytest.param(2, ("fsdp_size=2",), "DTensor", id="fsdp2"),
        pytest.param(2, ("tp_size=2",), "DTensor", id="tp2"),
        pytest.param(4, ("tp_size=2", "fsdp_size=2"), "DTensor", id="tp2 x fsdp2"),
    ],
)
@pytest.mark.parametrize("kind", ["trainer", "sft"])
def test_trains_as_one_process_on_the_cpu(
    kind: str,
    processes: int,
    settings: tuple[str, ...],
    parameter_type: str,
    train: Callable[..., Training],
    on_cpu: Callable[[str], Training],
    compiled: dict[str, str],
) -> None:
    sizes = dict(setting.split("=") for setting in settings)
    share = 4 // (processes // int(sizes.get("tp_size", 1)))

    run = train(
        f"kind={kind}", f"per_device_train_batch_size={share}", *settings, variables=compiled, processes=processes
    )

    assert run["distributed_type"] == "MULTI_NEURON"
    assert run["parameter_type"] == parameter_type
    assert_same_training(on_cpu(kind), run)
