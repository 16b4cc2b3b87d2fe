"""How the device is started, and when it refuses to."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.training.runs import RunError, run_process

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytest.importorskip("torch")

ACTIVATE = "from neuron_shim.simulate import activate, NotPossible\ntry:\n    activate()\n"
REPORT = "except NotPossible as error:\n    print('refused:', error)\n"


@pytest.fixture
def python(tmp_path: Path) -> Callable[..., str]:
    return lambda code, **variables: run_process([sys.executable, "-c", code], tmp_path, variables)


def test_importing_starts_nothing(python: Callable[..., str]) -> None:
    code = """
import sys, neuron_shim, neuron_shim.simulate
print(neuron_shim.simulate.is_active(), "torch" in sys.modules, "torch_neuronx" in sys.modules)
import torch
print(torch._C._get_privateuse1_backend_name(), hasattr(torch, "neuron"))
"""
    assert python(code).split() == ["False", "False", "False", "privateuseone", "False"]


def test_a_second_call_does_nothing(python: Callable[..., str], compiled: dict[str, str]) -> None:
    code = "from neuron_shim.simulate import *\nactivate(); activate(); print(is_active())"
    assert python(code, **compiled).strip() == "True"


def test_refuses_where_the_real_package_is(python: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "torch_neuronx").mkdir()
    (tmp_path / "torch_neuronx" / "__init__.py").touch()

    said = python(f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{ACTIVATE}{REPORT}")

    assert said.startswith("refused: torch_neuronx is installed here: run the script on the real device")


@pytest.mark.parametrize("library", ["transformers", "accelerate"])
def test_refuses_after_a_library_has_looked_for_the_device(library: str, python: Callable[..., str]) -> None:
    said = python(f"import sys, types\nsys.modules[{library!r}] = types.ModuleType({library!r})\n{ACTIVATE}{REPORT}")

    assert f"{library} was imported before the simulated device was activated" in said
    assert "python -m neuron_shim.simulate SCRIPT" in said


def test_refuses_beside_another_device_from_outside(python: Callable[..., str]) -> None:
    said = python(f"import torch\ntorch.utils.rename_privateuse1_backend('other')\n{ACTIVATE}{REPORT}")

    assert said.startswith("refused: torch already has a device named other")


def test_refuses_beside_another_accelerator(python: Callable[..., str]) -> None:
    code = (
        "import torch\ntorch.accelerator.is_available = lambda: True\n"
        f"torch.accelerator.current_accelerator = lambda: torch.device('cuda')\n{ACTIVATE}{REPORT}"
    )

    assert "This machine computes on cuda" in python(code)


def test_several_processes_need_a_compiler(without_compiler: dict[str, str], tmp_path: Path) -> None:
    variables = without_compiler | {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"}

    said = run_process([sys.executable, "-c", ACTIVATE + REPORT], tmp_path, variables)

    assert said.startswith("refused: The simulated device needs a C++ compiler to run in 2 processes: no C++ compiler")


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


def test_the_script_sees_its_own_arguments_and_folder(simulated: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "beside.py").touch()
    code = (
        "import sys, beside\nprint(__name__, sys.argv[1:], sys.argv[0].endswith('script.py'), __file__ == sys.argv[0])"
    )

    assert simulated(code, "--steps", "3").strip() == "__main__ ['--steps', '3'] True True"


def test_runs_a_module(compiled: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "there.py").write_text(
        "import sys, torch\nprint(torch.device('neuron'), sys.argv[1:])", encoding="utf-8"
    )
    command = [sys.executable, "-m", "neuron_shim.simulate", "-m", "there", "-x"]

    assert run_process(command, tmp_path, compiled).strip() == "neuron ['-x']"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param([], "python -m neuron_shim.simulate SCRIPT", id="nothing"),
        pytest.param(["nowhere.py"], "neuron_shim.simulate: there is no file nowhere.py.", id="no file"),
        pytest.param(["-m"], "neuron_shim.simulate: -m needs the name of a module.", id="no module"),
    ],
)
def test_wrong_usage(arguments: list[str], words: str, tmp_path: Path) -> None:
    with pytest.raises(RunError) as caught:
        run_process([sys.executable, "-m", "neuron_shim.simulate", *arguments], tmp_path, {})
    assert words in str(caught.value)
    assert "Traceback" not in str(caught.value)


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
