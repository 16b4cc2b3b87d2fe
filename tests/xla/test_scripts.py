"""Scripts written for torch_xla on Neuron, migrated and run: their losses are those of the scripts as they were."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from neuron_codemods import Migration, Outcome, Settings, migrate
from tests import programs

HERE = Path(__file__).parent
SCRIPTS = HERE / "scripts"
STACK = HERE / "stack"
ROOT = HERE.parents[1]
NAMES = ("accumulation", "data_parallel", "traced_inference")
PROCESSES = (1, 2)

every_script = pytest.mark.parametrize("name", NAMES)


def migrated(name: str) -> Migration:
    text = (SCRIPTS / "before" / f"{name}.py").read_text(encoding="utf-8")
    return migrate(text, settings=Settings(select=("NM6",)))


@every_script
def test_migrated_script(name: str) -> None:
    """UPDATE=1 writes the files anew, for a person to read the difference."""
    after = SCRIPTS / "after" / f"{name}.py"
    if os.environ.get("UPDATE"):
        after.parent.mkdir(exist_ok=True)
        after.write_text(migrated(name).text, encoding="utf-8")
    assert migrated(name).text == after.read_text(encoding="utf-8")


@every_script
def test_nothing_is_left_by_hand(name: str) -> None:
    assert [finding for finding in migrated(name).findings if finding.outcome is Outcome.MANUAL] == []


@every_script
def test_a_second_run_changes_nothing(name: str) -> None:
    text = migrated(name).text
    again = migrate(text, settings=Settings(select=("NM6",)))
    assert (again.text, again.findings) == (text, ())


Run = Callable[..., dict[str, object]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a script in some processes, with or without the old stack; what it wrote comes back."""

    def run_script(
        script: Path, processes: int, *, old_stack: bool = False, simulated: dict[str, str] | None = None
    ) -> dict[str, object]:
        folder = tmp_path / f"{script.parent.name}-{processes}"
        roots = [STACK] if old_stack else [ROOT / "runtime"]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("NEURON", "XLA"))}
        environment |= {"PYTHONPATH": os.pathsep.join(map(str, roots)), "OMP_NUM_THREADS": "1"}
        launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"]
        if simulated is not None:
            environment |= simulated
            launcher += ["-m", "neuron_shim.simulate"]
        command = [sys.executable, *launcher, str(script), str(folder)]
        done = programs.run(command, cwd=tmp_path, env=environment)
        assert done.returncode == 0, done.stderr[-4000:]
        return {path.name: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}

    return run_script


@pytest.mark.slow
@pytest.mark.libraries
@every_script
@pytest.mark.parametrize("processes", PROCESSES)
def test_same_losses(run: Run, name: str, processes: int) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("accelerate")
    before = run(SCRIPTS / "before" / f"{name}.py", processes, old_stack=True)
    after = run(SCRIPTS / "after" / f"{name}.py", processes)
    assert before
    assert after.keys() == before.keys()
    for file, value in before.items():
        assert flat(after[file]) == pytest.approx(flat(value), rel=1e-5), file
    print(f"{name}, {processes} processes: {flat(after[next(iter(after))])[:6]}")


@pytest.mark.slow
@pytest.mark.libraries
@pytest.mark.parametrize("name", ["accumulation", "data_parallel"])
def test_processes_train_together(run: Run, name: str) -> None:
    """Two processes that each trained alone would have other losses than the two together."""
    pytest.importorskip("torch")
    pytest.importorskip("accelerate")
    alone, together = (run(SCRIPTS / "after" / f"{name}.py", processes) for processes in PROCESSES)
    assert flat(alone) != pytest.approx(flat(together), rel=1e-3)


@pytest.mark.slow
@pytest.mark.libraries
@every_script
def test_the_same_on_a_simulated_device(run: Run, compiled: dict[str, str], name: str) -> None:
    """Nothing stays on the wrong device, and the group is made before the device is used."""
    pytest.importorskip("accelerate")
    before = run(SCRIPTS / "before" / f"{name}.py", 2, old_stack=True)
    after = run(SCRIPTS / "after" / f"{name}.py", 2, simulated=compiled)
    assert flat(after) == pytest.approx(flat(before), rel=1e-4)


def flat(value: object) -> list[float]:
    if isinstance(value, dict):
        return [number for part in value.values() for number in flat(part)]
    if isinstance(value, list):
        return [number for part in value for number in flat(part)]
    return [float(value)]  # type: ignore[arg-type]
