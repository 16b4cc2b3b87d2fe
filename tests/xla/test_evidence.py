"""Which files the rules for the XLA stack look at: those for Neuron, never those for TPUs or GPUs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from neuron_codemods import ModuleFacts, Project, Settings, collect, migrate

LOOP = "import torch_xla.core.xla_model as xm\n\nxm.mark_step()\n"
ASKED = Settings(select=("NM6",))


def is_migrated(text: str, settings: Settings | None = None, project: Project | None = None) -> bool:
    return "mark_step" not in migrate(text, settings=settings, project=project).text


@pytest.mark.parametrize(
    "line",
    [
        "import torch_neuronx",
        "import neuronx_distributed",
        "from neuronx_distributed.parallel_layers import parallel_state",
        "from transformers_neuronx import constants",
        "import torch_neuron",
        "from optimum.neuron import NeuronTrainer",
        "from neuron_shim import configure",
        "import libneuronxla",
    ],
)
def test_a_package_for_neuron_is_enough(line: str) -> None:
    assert is_migrated(f"{line}\n{LOOP}")


def test_torch_xla_alone_has_to_be_asked_for() -> None:
    assert not is_migrated(LOOP)
    assert not is_migrated(LOOP, Settings(select=("NM",)))
    assert is_migrated(LOOP, ASKED)
    assert is_migrated(LOOP, Settings(select=("NM1", "NM602")))


@pytest.mark.parametrize(
    "line",
    [
        'os.environ["PJRT_DEVICE"] = "TPU"',
        'os.environ.setdefault("PJRT_DEVICE", "CUDA")',
        'os.environ["XRT_TPU_CONFIG"] = "localservice;0;localhost:51011"',
        'assert xm.xla_device_hw(device) == "TPU"',
        "import torch_xla.experimental.tpu",
        "from transformers import is_torch_tpu_available",
        "import cloud_tpu_client",
        "import jax.numpy",
    ],
)
def test_code_for_other_machines_is_left_alone(line: str) -> None:
    assert migrate(f"{line}\n{LOOP}", settings=ASKED).findings == ()


@pytest.mark.parametrize(
    "line",
    [
        'os.environ["PJRT_DEVICE"] = "NEURON"',
        'os.environ["NEURON_CC_FLAGS"] = "-O1"',
        'print(os.environ.get("NEURON_RT_NUM_CORES"), "TPU")',
    ],
)
def test_the_variables_of_neuron_tell(line: str) -> None:
    assert is_migrated(f"{line}\n{LOOP}", ASKED)


def test_a_package_for_neuron_outweighs_words_about_tpus() -> None:
    assert is_migrated(f'import torch_neuronx\nKINDS = ("TPU", "NEURON")\n{LOOP}')


def test_the_rest_of_the_project_tells_where_a_file_does_not() -> None:
    tpu = collect('import os\n\nos.environ["PJRT_DEVICE"] = "TPU"\n', "launch.py")
    neuron = collect("import torch_neuronx\n", "other.py")
    silent = collect(LOOP, "train.py")
    assert [facts.hardware for facts in (tpu, neuron, silent)] == ["other", "neuron", ""]
    assert not is_migrated(LOOP, ASKED, Project((tpu, silent)))
    assert is_migrated(LOOP, ASKED, Project((tpu, neuron, silent)))
    assert is_migrated(LOOP, ASKED, Project((silent, ModuleFacts("x.py"))))


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "neuron_migrate", *arguments], cwd=cwd, capture_output=True, text=True, timeout=120
    )


def test_the_command_finds_such_files_where_it_is_told_to(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOOP)
    (tmp_path / "pyproject.toml").write_text("")
    assert command(".", "--check", "--quiet", cwd=tmp_path).returncode == 0
    assert command(".", "--check", "--quiet", "--select", "NM6", cwd=tmp_path).returncode == 1
    (tmp_path / "pyproject.toml").write_text('[tool.neuron-migrate]\nselect = ["NM6"]\n')
    assert command(".", "--quiet", cwd=tmp_path).returncode == 0
    assert (tmp_path / "train.py").read_text() == "\n" or "xm" not in (tmp_path / "train.py").read_text()
