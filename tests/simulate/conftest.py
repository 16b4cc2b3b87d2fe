"""What the tests of the simulated device share: scripts run in processes of their own, on it or on the CPU."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.training.runs import HERE as TRAINING
from tests.training.runs import Launch, RunError, run_process

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
BUILD = """
import time
from neuron_shim.simulate import build
started = time.monotonic()
try:
    build.load()
except build.NoCompiler as error:
    print("none:", error)
else:
    print("built in", round(time.monotonic() - started, 1), "s")
"""


@pytest.fixture(scope="session")
def cache(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the device is built: kept between runs of pytest, as it is for users."""
    kept = getattr(request.config, "cache", None)  # absent with -p no:cacheprovider
    return tmp_path_factory.mktemp("cache") if kept is None else kept.mkdir("neuron_shim")


@pytest.fixture(scope="session")
def compiled(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a process with the compiled device, which is built by now."""
    pytest.importorskip("torch")
    variables = {"NEURON_SHIM_CACHE": str(cache)}
    folder = tmp_path_factory.mktemp("build")
    said = run_process([sys.executable, "-c", BUILD], folder, variables).splitlines()[-1]
    if said.startswith("none:"):
        pytest.skip(f"the simulated device can't be built: {said.removeprefix('none:').strip()}")
    print(said)
    return variables


@pytest.fixture(scope="session")
def without_compiler(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a process that finds neither a compiler nor a device that was built before."""
    pytest.importorskip("torch")
    empty = tmp_path_factory.mktemp("empty")
    return {"NEURON_SHIM_CACHE": str(empty), "PATH": str(empty), "CXX": ""}


@pytest.fixture
def simulated(compiled: dict[str, str], tmp_path: Path) -> Callable[..., str]:
    """Run a script on the simulated device; its output. Raises RunError with what it said when it fails."""

    def run(script: Path | str, *arguments: str, processes: int = 1, **variables: str) -> str:
        if isinstance(script, str):
            (tmp_path / "script.py").write_text(script, encoding="utf-8")
            script = tmp_path / "script.py"
        command = [*Launch(processes=processes).command(), "-m", "neuron_shim.simulate", str(script), *arguments]
        return run_process(command, tmp_path, compiled | variables)

    return run


@pytest.fixture
def failure(simulated: Callable[..., str]) -> Callable[..., str]:
    """Run a script that must fail on the simulated device; what it said."""

    def run(*arguments: Any, **options: Any) -> str:
        with pytest.raises(RunError) as caught:
            simulated(*arguments, **options)
        return str(caught.value)

    return run


@pytest.fixture(scope="session")
def assets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny decoder, its tokenizer and texts."""
    pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("assets")
    run_process([sys.executable, str(TRAINING / "assets.py"), str(folder)], folder, {})
    return folder


@pytest.fixture(scope="session")
def train(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, Any]]:
    """Run ``train.py``, on the CPU unless told otherwise; what it wrote down."""

    def run(*settings: str, variables: dict[str, str], processes: int = 1, simulated: bool = True) -> dict[str, Any]:
        folder = tmp_path_factory.mktemp("train")
        module = ["-m", "neuron_shim.simulate"] if simulated else []
        script = [str(HERE / "train.py"), str(assets), str(folder / "record.json"), *settings]
        run_process(
            [*Launch(processes=processes).command(), *module, *script],
            folder,
            {"HF_DEACTIVATE_ASYNC_LOAD": "1", **variables},
        )
        result: dict[str, Any] = json.loads((folder / "record.json").read_text(encoding="utf-8"))
        return result

    return run


@pytest.fixture(scope="session")
def on_cpu(train: Callable[..., dict[str, Any]]) -> Callable[[str], dict[str, Any]]:
    """The run of a kind in one process without any device, done once."""
    done: dict[str, dict[str, Any]] = {}

    def run(kind: str) -> dict[str, Any]:
        if kind not in done:
            settings = (f"kind={kind}", "per_device_train_batch_size=4", "use_cpu=true")
            done[kind] = train(*settings, variables={}, simulated=False)
        return done[kind]

    return run
