"""What the tests of preflight share: the simulated device, built once, and the command run in a process."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import programs
from tests.simulate.conftest import assets, cache, compiled, without_compiler
from tests.training.runs import NOT_INHERITED, RUNTIME

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["assets", "cache", "compiled", "without_compiler"]

REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Told:
    """What the command said, and how it ended."""

    status: int
    report: str
    said: str


@pytest.fixture
def preflight(compiled: dict[str, str], tmp_path: Path) -> Callable[..., Told]:
    """Run ``neuron-shim preflight`` with these arguments, on the compiled device unless told otherwise."""

    def run(*arguments: object, cwd: Path = tmp_path, device: dict[str, str] = compiled, **variables: str) -> Told:
        inherited = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
        done = programs.run(
            [sys.executable, "-m", "neuron_shim", "preflight", *map(str, arguments)],
            cwd=cwd,
            env={
                **inherited,
                "PYTHONPATH": str(RUNTIME),
                "OMP_NUM_THREADS": "1",
                "COLUMNS": "100",
                "CUDA_VISIBLE_DEVICES": "",
                "HF_HUB_OFFLINE": "1",
                "HF_HOME": str(tmp_path / "huggingface"),
                "HF_HUB_DISABLE_PROGRESS_BARS": "1",
                "TOKENIZERS_PARALLELISM": "false",
                **device,
                **variables,
            },
            timeout=2 * programs.PATIENCE,  # torch.compile takes its time
        )
        return Told(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], Path]:
    """A script with this text."""

    def write(text: str) -> Path:
        path = tmp_path / "script.py"
        path.write_text(text, encoding="utf-8")
        return path

    return write
