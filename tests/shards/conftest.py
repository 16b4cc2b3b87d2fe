"""Model-parallel checkpoints of Optimum Neuron."""

from __future__ import annotations

import importlib.util
import tarfile
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent / "fixtures"

if importlib.util.find_spec("torch") is None:
    collect_ignore_glob = ["test_*.py"]  # they write shards, with torch


@pytest.fixture(scope="session", autouse=True)
def libraries() -> None:
    for name in ("torch", "transformers", "peft", "safetensors"):
        pytest.importorskip(name)


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the trees that lie in this repository."""
    folder = tmp_path_factory.mktemp("kept")
    for archive in sorted(FIXTURES.glob("*.tar.xz")):
        with tarfile.open(archive) as file:
            file.extractall(folder, filter="data")
    return folder
