"""Every test starts as a process that nobody launched, with a shim that has not said or done anything yet."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest

import neuron_shim
from neuron_shim import notice, startup
from tests import programs

VARIABLES = (
    *("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "TP_SIZE", "FSDP_SIZE"),
    *("ACCELERATE_USE_CPU", "HF_DEACTIVATE_ASYNC_LOAD"),
)


@pytest.fixture(autouse=True)
def unlaunched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(startup, "_done", False)
    monkeypatch.setattr(notice, "_said", set())
    with mock.patch.dict(os.environ):
        for name in VARIABLES:
            os.environ.pop(name, None)
        yield


@pytest.fixture
def launch(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make this process look like one that torchrun started."""

    def launched(world: int, *, rank: int = 0, **variables: object) -> None:
        for name, value in {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, **variables}.items():
            monkeypatch.setenv(name, str(value))

    return launched


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """What the shim has said so far."""
    return lambda: [record.getMessage() for record in caplog.records if record.name == "neuron_shim"]


@pytest.fixture
def python(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a script in a fresh interpreter, or several of them with ``processes``."""

    def run(script: str, *arguments: str, processes: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "script.py"
        path.write_text(script, encoding="utf-8")
        torchrun = ("-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}")
        source = str(Path(neuron_shim.__file__).parents[1])
        return programs.run(
            [sys.executable, *(torchrun if processes else ()), str(path), *arguments],
            env={**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", **variables},
            cwd=tmp_path,
        )

    return run


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a random Qwen3: 2 layers, 4 attention heads, 2 key-value heads."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("tiny_model")
    config = transformers.Qwen3Config(
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        vocab_size=384,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        transformers.Qwen3ForCausalLM(config).save_pretrained(folder)
    return folder
