"""Migrated models of each family on the simulated device: one graph, whatever the lengths of the inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.training.runs import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.slow, pytest.mark.libraries]

SCRIPT = Path(__file__).with_name("inference.py")


def test_inputs_reach_the_device_in_one_shape(simulated: Callable[..., str], tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    roots = (REPOSITORY, REPOSITORY / "codemods", REPOSITORY / "runtime")
    said = simulated(SCRIPT, str(tmp_path), PYTHONPATH=":".join(map(str, roots)))
    results = json.loads(said.splitlines()[-1])
    for family, result in results.items():
        print(f"{family:16} {result}")
        assert result == {"device": "neuron", "graphs": 1}, result
    assert len(results) == 5
