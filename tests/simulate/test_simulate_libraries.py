"""transformers, accelerate and TRL take the machine for Trainium, and compute what they compute on the CPU."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("trl")

pytestmark = pytest.mark.libraries

Training = dict[str, Any]

USE = """
import json, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainingArguments
from transformers.utils import is_torch_bf16_gpu_available, is_torch_neuron_available
from accelerate.utils import is_neuron_available

folder = sys.argv[1]
tokenizer = AutoTokenizer.from_pretrained(folder)
prompt = tokenizer("w1 w2 w3 w4", return_tensors="pt", add_special_tokens=False)
on_cpu = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, device_map="neuron")
options = dict(max_new_tokens=8, do_sample=False, eos_token_id=None, pad_token_id=0)
wanted = on_cpu.generate(**prompt, **options).tolist()
model.save_pretrained("saved")
saved = AutoModelForCausalLM.from_pretrained("saved").state_dict()
simulate = sys.modules["neuron_shim.simulate"]
found = {
    "available": [is_torch_neuron_available(), is_torch_neuron_available(check_device=True), is_neuron_available()],
    "bf16": is_torch_bf16_gpu_available(),
    "device": str(model.device),
    "arguments": str(TrainingArguments("out", report_to="none").device),
    "dynamic": model.generate(**prompt, **options).tolist() == wanted,
    "static": model.generate(
        **prompt, **options, cache_implementation="static", disable_compile=True
    ).tolist() == wanted,
    "graphs before": len(simulate.compiled_graphs()),
    "saved": all(torch.equal(saved[name], value) for name, value in on_cpu.state_dict().items()),
}
if sys.argv[2] == "compiled":
    found["compiled"] = model.generate(**prompt, **options, cache_implementation="static").tolist() == wanted
    found["graphs"] = len(simulate.compiled_graphs())
print(json.dumps(found))
"""
ALIKE = {
    "available": [True, True, True],
    "bf16": True,
    "device": "neuron:0",
    "arguments": "neuron:0",
    "dynamic": True,
    "static": True,
    "graphs before": 0,
    "saved": True,
}


def assert_same_training(first: Training, second: Training) -> None:
    """Losses and gradient norms, to 1e-3. Losses alone would not tell: Adam forgives gradients of twice the size."""
    rows = [
        f"{a['loss']:.6f} {b['loss']:.6f}   {a['grad_norm']:.6f} {b['grad_norm']:.6f}"
        for a, b in zip(first["steps"], second["steps"], strict=True)
    ]
    print("\n".join(["loss (twice), gradient norm (twice)", *rows]))
    assert len(rows) == 4
    assert first["steps"][0]["loss"] != first["steps"][3]["loss"]
    for a, b in zip(first["steps"], second["steps"], strict=True):
        assert b["loss"] == pytest.approx(a["loss"], abs=1e-3)
        assert b["grad_norm"] == pytest.approx(a["grad_norm"], abs=1e-3)


@pytest.mark.slow
def test_libraries_see_trainium(simulated: Callable[..., str], assets: Path) -> None:
    assert json.loads(simulated(USE, str(assets / "decoder"), "eager").splitlines()[-1]) == ALIKE


@pytest.mark.slow
def test_generate_compiles_one_graph_with_a_static_cache(simulated: Callable[..., str], assets: Path) -> None:
    found = json.loads(simulated(USE, str(assets / "decoder"), "compiled").splitlines()[-1])

    assert found == {**ALIKE, "compiled": True, "graphs": 1}


@pytest.mark.slow
def test_trains_as_on_the_cpu(
    train: Callable[..., Training], on_cpu: Callable[[str], Training], compiled: dict[str, str]
) -> None:
    run = train("kind=trainer", "per_device_train_batch_size=4", variables=compiled)

    assert run["device"] == "neuron:0"
    assert_same_training(on_cpu("trainer"), run)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["trainer", "sft"])
def test_trains_compiled_as_on_the_cpu(
    kind: str, train: Callable[..., Training], on_cpu: Callable[[str], Training], compiled: dict[str, str]
) -> None:
    run = train(f"kind={kind}", "per_device_train_batch_size=4", "torch_compile=true", variables=compiled)

    assert run["torch_compile_backend"] == "neuron"
    assert run["pad_to_multiple_of"] == (128 if kind == "sft" else None)
    assert run["graphs"] >= 1
    assert_same_training(on_cpu(kind), run)


@pytest.mark.slow
def test_trains_without_a_compiler(
    train: Callable[..., Training], on_cpu: Callable[[str], Training], without_compiler: dict[str, str]
) -> None:
    run = train("kind=sft", "per_device_train_batch_size=4", variables=without_compiler)

    assert run["parameter_type"] == "NeuronTensor"
    assert_same_training(on_cpu("sft"), run)


@pytest.mark.slow
def test_libraries_see_trainium_without_a_compiler(
    without_compiler: dict[str, str], assets: Path, tmp_path: Path
) -> None:
    import sys

    from tests.training.runs import run_process

    (tmp_path / "use.py").write_text(USE, encoding="utf-8")
    command = [sys.executable, "-m", "neuron_shim.simulate", "use.py", str(assets / "decoder"), "eager"]

    assert json.loads(run_process(command, tmp_path, without_compiler).splitlines()[-1]) == ALIKE
