"""How the device is started, and when it refuses to."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from neuron_shim.simulate import __main__ as launcher
from neuron_shim.simulate import activation
from tests.training.runs import RunError, run_process

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

torch = pytest.importorskip("torch")


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in which no library has looked for the device; it may refuse one, and must not get one."""
    for name in activation._LIBRARIES:
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_importing_starts_nothing(tmp_path: Path) -> None:
    code = """
import sys, neuron_shim, neuron_shim.simulate
print(neuron_shim.simulate.is_active(), "torch" in sys.modules, "torch_neuronx" in sys.modules)
import torch
print(torch._C._get_privateuse1_backend_name(), hasattr(torch, "neuron"))
"""
    said = run_process([sys.executable, "-c", code], tmp_path, {})
    assert said.split() == ["False", "False", "False", "privateuseone", "False"]


@pytest.mark.usefixtures("early")
def test_refuses_where_the_real_package_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "torch_neuronx").mkdir()
    (tmp_path / "torch_neuronx" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(activation.NotPossible, match=r"^torch_neuronx is installed here: run the script on the real"):
        activation.activate()


@pytest.mark.usefixtures("early")
@pytest.mark.parametrize("library", ["transformers", "accelerate"])
def test_refuses_after_a_library_has_looked_for_the_device(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, ModuleType(library))

    with pytest.raises(activation.NotPossible, match="imported before the simulated device was activated") as refused:
        activation.activate()

    assert str(refused.value).startswith(library)
    assert "python -m neuron_shim.simulate SCRIPT" in str(refused.value)


@pytest.mark.usefixtures("early")
def test_refuses_beside_another_device_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch._C, "_get_privateuse1_backend_name", lambda: "other")

    with pytest.raises(activation.NotPossible, match=r"^torch already has a device named other"):
        activation.activate()


@pytest.mark.usefixtures("early")
def test_refuses_beside_another_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))

    with pytest.raises(activation.NotPossible, match="This machine computes on cuda"):
        activation.activate()


@pytest.mark.usefixtures("early")
def test_several_processes_need_a_compiler(without_compiler: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    launched = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"}
    for name, value in (without_compiler | launched).items():
        monkeypatch.setenv(name, value)

    needs = r"^The simulated device needs a C\+\+ compiler to run in 2 processes: no C\+\+ compiler"
    with pytest.raises(activation.NotPossible, match=needs):
        activation.activate()


def test_without_a_compiler_says_so_and_does_not_compile_graphs(
    without_compiler: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "script.py").write_text(
        "import torch\ntorch.compile(lambda x: x, backend='neuron')\n", encoding="utf-8"
    )

    with pytest.raises(RunError) as caught:
        run_process([sys.executable, "-m", "neuron_shim.simulate", "script.py"], tmp_path, without_compiler)

    assert "neuron_shim: simulating the device in Python, which is slower: no C++ compiler found" in str(caught.value)
    assert 'torch.compile(backend="neuron") needs the compiled simulated device' in str(caught.value)


# --- The launcher


@pytest.fixture
def launch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Launch as the command does, in this process, which gets no device."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("neuron_shim.simulate.activate", lambda: None)
    monkeypatch.setattr(sys, "path", ["launcher", str(tmp_path), *sys.path])

    def run(*arguments: str) -> None:
        monkeypatch.setattr(sys, "argv", ["launcher", *arguments])
        launcher.main()

    return run


def test_the_script_sees_its_own_arguments_and_folder(
    launch: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "script.py").write_text(
        "import sys\nprint(__name__, __file__, sys.argv, sys.path[0])\n", encoding="utf-8"
    )

    launch("folder/script.py", "--steps", "3")

    arguments = ["folder/script.py", "--steps", "3"]
    assert capsys.readouterr().out == f"__main__ folder/script.py {arguments} {tmp_path / 'folder'}\n"


def test_runs_a_module(launch: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "launched.py").write_text("import sys\nprint(__name__, sys.argv[1:])\n", encoding="utf-8")

    launch("-m", "launched", "-x")

    assert capsys.readouterr().out == "__main__ ['-x']\n"


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        pytest.param([], 2, "python -m neuron_shim.simulate SCRIPT", id="nothing"),
        pytest.param(["--help"], 0, "python -m neuron_shim.simulate SCRIPT", id="help"),
        pytest.param(["nowhere.py"], 1, "neuron_shim.simulate: there is no file nowhere.py.", id="no file"),
        pytest.param(["-m"], 1, "neuron_shim.simulate: -m needs the name of a module.", id="no module"),
    ],
)
def test_usage(
    launch: Callable[..., None],
    arguments: list[str],
    status: int,
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        launch(*arguments)

    said = capsys.readouterr()
    if status == 1:
        assert ended.value.code == words
    else:
        assert ended.value.code == status
        assert words in (said.err if status else said.out)


def test_what_is_not_possible_is_said_without_a_traceback(
    launch: Callable[..., None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse() -> None:
        raise activation.NotPossible("Not here.")

    (tmp_path / "script.py").touch()
    monkeypatch.setattr("neuron_shim.simulate.activate", refuse)

    with pytest.raises(SystemExit, match=r"^neuron_shim.simulate: Not here\.$"):
        launch("script.py")


def test_a_failing_script_fails_with_its_own_traceback(failure: Callable[..., str]) -> None:
    said = failure("def broken():\n    raise ValueError('mine')\n\nbroken()\n")

    assert "ValueError: mine" in said
    assert 'script.py", line 2, in broken' in said


@pytest.mark.slow
def test_each_process_has_the_device_of_its_local_rank(simulated: Callable[..., str]) -> None:
    code = """
import os, torch
rank = int(os.environ["LOCAL_RANK"])
assert torch.neuron.device_count() == 2
assert torch.neuron.current_device() == rank
torch.accelerator.set_device_index(rank)
try:
    torch.neuron.set_device(1 - rank)
except RuntimeError as error:
    assert f"this process has one device, neuron:{rank}" in str(error), error
else:
    raise SystemExit("not refused")
torch.distributed.init_process_group("neuron")
value = torch.ones(2, device="neuron")
assert value.device.index == rank
torch.distributed.all_reduce(value)
assert value.tolist() == [2, 2]
try:
    torch.ones(2, device=f"neuron:{1 - rank}")
except RuntimeError as error:
    assert "this process has one device" in str(error), error
else:
    raise SystemExit("not refused")
torch.distributed.destroy_process_group()
print("fine")
"""
    assert simulated(code, processes=2).count("fine") == 2  # the lines of two processes may run together


@pytest.mark.slow
def test_a_device_used_too_early_is_named_under_torchrun(failure: Callable[..., str]) -> None:
    said = failure("import torch\ntorch.ones(1).to('neuron')\ntorch.distributed.init_process_group()\n", processes=2)

    assert "the device was used before init_process_group, at " in said
    assert "script.py:2" in said
