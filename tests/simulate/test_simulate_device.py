"""The device itself: operators, gradients, random numbers, and what it refuses. The checks are those of checks.py."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.training.runs import run_process

if TYPE_CHECKING:
    from collections.abc import Callable

CHECKS = Path(__file__).with_name("checks.py")
NAMES = [
    node.name
    for node in ast.parse(CHECKS.read_text(encoding="utf-8")).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("check_")
]


@pytest.fixture(scope="module")
def results(compiled: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """All checks on the compiled device, made in one process."""
    command = [sys.executable, "-m", "neuron_shim.simulate", str(CHECKS)]
    return json.loads(run_process(command, tmp_path_factory.mktemp("checks"), compiled).splitlines()[-1])


@pytest.fixture(scope="module")
def results_in_python(
    without_compiler: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str | None]:
    """Those that the device in Python passes as well."""
    command = [sys.executable, "-m", "neuron_shim.simulate", str(CHECKS), "python"]
    return json.loads(run_process(command, tmp_path_factory.mktemp("checks"), without_compiler).splitlines()[-1])


@pytest.mark.parametrize("name", NAMES)
def test_compiled_device(name: str, results: dict[str, str | None]) -> None:
    assert results[name] is None, results[name]


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("check_compiled_")])
def test_device_in_python(name: str, results_in_python: dict[str, str | None]) -> None:
    assert results_in_python[name] is None, results_in_python[name]


def test_the_process_group_must_exist_before_the_device_is_used(failure: Callable[..., str]) -> None:
    said = failure(
        "import torch\n"
        "torch.ones(1, device='neuron')\n"
        "torch.distributed.init_process_group('neuron', rank=0, world_size=1, store=torch.distributed.HashStore())\n"
    )

    assert "AssertionError: Simulated Neuron: the device was used before init_process_group, at " in said
    assert "script.py:2" in said
