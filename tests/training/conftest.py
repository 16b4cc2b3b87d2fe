"""What the training proofs share: tiny inputs, the scripts to train, and one run in one process of each."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING

import pytest

from .assets import Assets
from .runs import HERE, REPOSITORY, Example, Launch, Run, run_process, train_example

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="session")
def assets(tmp_path_factory: pytest.TempPathFactory) -> Assets:
    """Built in a process of its own: torch and transformers are never imported here."""
    folder = tmp_path_factory.mktemp("assets")
    run_process([sys.executable, str(HERE / "assets.py"), str(folder)], folder, {})
    return Assets(folder)


@pytest.fixture(scope="session")
def script_of() -> Callable[[Example], Path]:
    """The migrated script of an example."""
    return lambda example: REPOSITORY / "examples" / example.name / "after" / example.script


@pytest.fixture(scope="session")
def one_process(
    assets: Assets, script_of: Callable[[Example], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Example], Run]:
    """The run of an example in a single process, done once."""

    @cache
    def run(example: Example) -> Run:
        folder = tmp_path_factory.mktemp(f"{example.name}-one")
        return train_example(example, script_of(example), assets, folder, Launch())

    return run
