"""What configure() sets, and what it leaves alone."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from neuron_shim import configure, neuron_device, startup

pytest.importorskip("torch")


@pytest.fixture
def accelerator(monkeypatch):
    """Choose what configure() finds."""
    return lambda kind: monkeypatch.setattr(startup, "accelerator_kind", lambda: kind)


def test_weights_are_not_loaded_in_threads():
    configure()
    assert os.environ["HF_DEACTIVATE_ASYNC_LOAD"] == "1"


def test_the_setting_works_although_transformers_was_imported_before(monkeypatch, tiny_model):
    loading = pytest.importorskip("transformers.core_model_loading")
    from transformers import AutoModelForCausalLM

    pools = []
    pool = loading.ThreadPoolExecutor
    monkeypatch.setattr(
        loading, "ThreadPoolExecutor", lambda *args, **kwargs: pools.append(1) or pool(*args, **kwargs)
    )
    AutoModelForCausalLM.from_pretrained(tiny_model)
    assert pools == [1]
    configure()
    AutoModelForCausalLM.from_pretrained(tiny_model)
    assert pools == [1]


def test_a_single_process_is_left_alone(accelerator, lines):
    accelerator(None)
    configure()
    assert "ACCELERATE_USE_CPU" not in os.environ
    assert lines() == []


def test_several_processes_without_accelerator_train_together(accelerator, launch, lines):
    accelerator(None)
    launch(4)
    configure()
    assert os.environ["ACCELERATE_USE_CPU"] == "true"
    assert lines() == ["neuron_shim: no accelerator found, the 4 processes of this run train on the CPU."]


@pytest.mark.parametrize("kind", ["cuda", "xpu"])
def test_several_processes_with_accelerator_are_left_alone(accelerator, launch, lines, kind):
    accelerator(kind)
    launch(4)
    configure()
    assert "ACCELERATE_USE_CPU" not in os.environ
    assert lines() == []


def test_the_other_ranks_are_silent(accelerator, launch, lines):
    accelerator(None)
    launch(4, rank=2)
    configure()
    assert os.environ["ACCELERATE_USE_CPU"] == "true"
    assert lines() == []


def test_own_settings_stay(accelerator, launch, lines):
    accelerator(None)
    launch(4, ACCELERATE_USE_CPU="1", HF_DEACTIVATE_ASYNC_LOAD="0")
    configure()
    assert (os.environ["ACCELERATE_USE_CPU"], os.environ["HF_DEACTIVATE_ASYNC_LOAD"]) == ("1", "0")
    assert lines() == []


def test_a_setting_that_makes_ranks_train_alone_stays_but_is_reported(accelerator, launch, lines):
    accelerator(None)
    launch(4, ACCELERATE_USE_CPU="False")
    configure()
    assert os.environ["ACCELERATE_USE_CPU"] == "False"
    (line,) = lines()
    assert "ACCELERATE_USE_CPU=False: each of the 4 processes trains alone, on the same data" in line


def test_the_second_call_does_nothing(accelerator, launch, lines):
    accelerator(None)
    launch(4)
    configure()
    del os.environ["ACCELERATE_USE_CPU"], os.environ["HF_DEACTIVATE_ASYNC_LOAD"]
    configure()
    assert not {"ACCELERATE_USE_CPU", "HF_DEACTIVATE_ASYNC_LOAD"} & set(os.environ)
    assert len(lines()) == 1


def test_the_device_is_not_reported_twice(launch, lines, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    launch(2)
    configure()
    neuron_device()
    assert len(lines()) == 1


def test_a_wrong_world_size_is_refused(accelerator, monkeypatch):
    accelerator(None)
    monkeypatch.setenv("WORLD_SIZE", "0")
    with pytest.raises(ValueError, match="WORLD_SIZE is '0'"):
        configure()


CONFIGURE = f"""
import json, os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
if sys.argv[1] == "neuron":
    import fake_neuron
from neuron_shim import configure
configure()
configure()
dynamo = sys.modules.get("torch._dynamo")
print(json.dumps({{
    "touched": fake_neuron.touched if sys.argv[1] == "neuron" else [],
    "automatic dynamic shapes": dynamo and dynamo.config.automatic_dynamic_shapes,
    "use cpu": os.environ.get("ACCELERATE_USE_CPU"),
    "torch.distributed": sys.modules["torch"].distributed.is_initialized(),
}}))
"""


def test_neuron_gets_static_shapes_and_is_not_touched(python):
    done = python(CONFIGURE, "neuron", RANK="0", LOCAL_RANK="0", WORLD_SIZE="2")
    assert done.stderr == ""
    assert json.loads(done.stdout) == {
        "touched": [],
        "automatic dynamic shapes": False,
        "use cpu": None,
        "torch.distributed": False,
    }


def test_elsewhere_dynamo_is_not_even_imported_and_the_line_is_visible_by_default(python):
    torch = pytest.importorskip("torch")
    if torch.accelerator.is_available():
        pytest.skip("needs a machine without an accelerator")
    done = python(CONFIGURE, "cpu", RANK="0", LOCAL_RANK="0", WORLD_SIZE="2")
    assert done.stderr == "neuron_shim: no accelerator found, the 2 processes of this run train on the CPU.\n"
    assert json.loads(done.stdout) == {
        "touched": [],
        "automatic dynamic shapes": None,
        "use cpu": "true",
        "torch.distributed": False,
    }
