"""Which device a process gets, on machines we do not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuron_shim import neuron_device
from neuron_shim.device import accelerator_kind

torch = pytest.importorskip("torch")


@pytest.fixture
def machine(monkeypatch):
    """Make torch report another accelerator, or none."""

    def pretend(kind: str | None, count: int = 1) -> None:
        found = None if kind is None else torch.device(kind)
        monkeypatch.setattr(torch.accelerator, "is_available", lambda: found is not None)
        monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: found)
        monkeypatch.setattr(torch.accelerator, "device_count", lambda: count)

    return pretend


def test_cpu_is_said_once(machine, lines):
    machine(None)
    assert [neuron_device(), neuron_device()] == [torch.device("cpu")] * 2
    assert lines() == ["neuron_shim: no Neuron device found, running on cpu."]


def test_only_the_main_process_says_it(machine, launch, lines):
    machine(None)
    launch(2, rank=1)
    assert neuron_device() == torch.device("cpu")
    assert lines() == []


@pytest.mark.parametrize("kind", ["cuda", "xpu", "mps"])
def test_another_accelerator(machine, lines, kind):
    machine(kind)
    assert neuron_device() == torch.device(kind)
    assert lines() == [f"neuron_shim: no Neuron device found, running on {kind}."]


@pytest.mark.parametrize(
    ("rank", "count", "index"),
    [(0, 8, 0), (3, 8, 3), (3, 1, 0)],
    ids=["first", "fourth", "launcher shows each process one GPU"],
)
def test_each_process_has_its_own_gpu(machine, launch, rank, count, index):
    machine("cuda", count)
    launch(8, rank=rank)
    assert neuron_device() == torch.device("cuda", index)


def test_local_rank_counts_on_the_second_machine(machine, launch):
    machine("cuda", 8)
    launch(16, rank=9, LOCAL_RANK=1)
    assert neuron_device() == torch.device("cuda", 1)


def test_several_processes_cannot_share_mps(machine, launch):
    machine("mps")
    launch(2)
    assert accelerator_kind() is None
    assert neuron_device() == torch.device("cpu")


def test_neuron_has_no_index_and_is_not_touched(python):
    script = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import fake_neuron
from neuron_shim import neuron_device
device = neuron_device()
print(device, device.index, fake_neuron.touched)
"""
    done = python(script, RANK="3", LOCAL_RANK="3", WORLD_SIZE="4")
    assert (done.stdout.strip(), done.stderr) == ("neuron None []", "")
