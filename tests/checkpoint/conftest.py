"""Checkpoints that the tests export. They are made once, and no test changes them: it takes a copy."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.simulate.conftest import cache, compiled

__all__ = ["cache", "compiled"]

if importlib.util.find_spec("torch") is None:
    collect_ignore = ["test_resume.py"]  # it derives a model of torch


@pytest.fixture(autouse=True)
def unlaunched() -> Iterator[None]:
    """A process that nobody launched."""
    with mock.patch.dict(os.environ):
        for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "TP_SIZE", "FSDP_SIZE"):
            os.environ.pop(name, None)
        yield


@pytest.fixture(scope="session", autouse=True)
def libraries() -> None:
    for name in ("torch", "transformers", "peft", "safetensors"):
        pytest.importorskip(name)


@pytest.fixture(scope="session")
def untied() -> Any:
    from .models import decoder

    return decoder(tied=False)


@pytest.fixture(scope="session")
def tied() -> Any:
    from .models import decoder

    return decoder(tied=True)


@pytest.fixture(scope="session")
def trainer_folder(untied: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint as Trainer leaves it: the model, its tokenizer, and the files of the run."""
    from .models import tokenizer

    folder = tmp_path_factory.mktemp("trainer") / "checkpoint-6"
    untied.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    for name in ("optimizer.pt", "scheduler.pt", "rng_state.pth", "training_args.bin"):
        (folder / name).write_bytes(b"run")
    (folder / "trainer_state.json").write_text("{}", encoding="utf-8")
    (folder / "optimizer_distributed").mkdir()
    return folder


@pytest.fixture(scope="session")
def sharded_folder(untied: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same weights in several files with an index."""
    folder = tmp_path_factory.mktemp("sharded") / "model"
    untied.save_pretrained(folder, max_shard_size="20KB")
    assert (folder / "model.safetensors.index.json").exists()
    return folder


@pytest.fixture(scope="session")
def distributed_folder(untied: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same weights as 4 ranks saved them, FSDP by rows and tensor parallelism by columns."""
    from .models import save_distributed

    folder = tmp_path_factory.mktemp("distributed") / "checkpoint"
    save_distributed(untied, folder, ranks=4, columns=("o_proj.weight", "down_proj.weight"))
    return folder


@pytest.fixture
def copy_of(tmp_path: Path) -> Callable[[Path], Path]:
    def copy(folder: Path) -> Path:
        return Path(shutil.copytree(folder, tmp_path / "source"))

    return copy


@pytest.fixture
def destination(tmp_path: Path) -> Iterator[Path]:
    """Where a test exports to; whatever it did, nothing half-written may lie beside it."""
    folder = tmp_path / "to" / "model"
    yield folder
    if folder.parent.exists():
        assert [path.name for path in folder.parent.iterdir() if path != folder] == []
