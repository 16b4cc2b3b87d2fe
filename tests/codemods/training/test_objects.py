"""Which variables hold a trainer, its arguments, a model, an accelerator or a configuration of Optimum Neuron."""

from __future__ import annotations

import pytest

from neuron_codemods import migrate

HEAD = """\
from optimum.neuron import NeuronAccelerator, NeuronTrainer, NeuronTrainingArguments
from optimum.neuron.distributed import ParallelizersManager
from optimum.neuron.models.training import NeuronModelForCausalLM, TrainingNeuronConfig
from optimum.neuron.peft import get_peft_model

"""
MODEL = "acc = NeuronAccelerator()\nmodel = NeuronModelForCausalLM.from_pretrained('m')\n"
TRAINER = ".synchronize_hub_cache()"
ARGUMENTS = ".dp_size"
OF_MODEL = ".local_parameters()"
ADAPTERS = ".get_base_model_prefix()"
CONFIG = ".auto_kv_size_multiplier()"
ACCELERATOR = ".save_state_for_tp()"


def is_told(text: str, member: str) -> bool:
    name = member.strip(".()")
    return any(name in finding.message for finding in migrate(HEAD + text).findings)


def chain(length: int) -> str:
    return "x0 = NeuronTrainer()\n" + "".join(f"x{n + 1} = x{n}\n" for n in range(length)) + f"x = x{length}\n"


KEPT = """\
class A:
    def __init__(self):
        self.x = {}
        {}

    def f(self):
        x = self.x
        x{}
"""


@pytest.mark.parametrize(
    ("before", "member"),
    [
        ("x = y = NeuronTrainer()\n", TRAINER),
        (chain(3), TRAINER),
        ("x = NeuronTrainer().args\n", ARGUMENTS),
        ("x = TrainingNeuronConfig()\n", CONFIG),
        (f"{MODEL}x = model\n", OF_MODEL),
        (f"{MODEL}x, y = acc.prepare(model, y)\n", OF_MODEL),
        (f"{MODEL}x = acc.prepare_model(model, True)\n", OF_MODEL),
        (f"{MODEL}x = acc.patch_model_for_neuron(model)\n", OF_MODEL),
        ("x = get_peft_model(model)\n", ADAPTERS),
    ],
)
def test_what_a_variable_holds(before: str, member: str) -> None:
    assert is_told(f"{before}x{member}\n", member)


@pytest.mark.parametrize(
    ("annotation", "member"),
    [
        ("NeuronTrainer", TRAINER),
        ("NeuronTrainingArguments", ARGUMENTS),
        ("TrainingNeuronConfig", CONFIG),
        ("NeuronAccelerator", ACCELERATOR),
    ],
)
def test_what_an_annotated_parameter_holds(annotation: str, member: str) -> None:
    assert is_told(f"def f(x: {annotation}):\n    x{member}\n", member)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"class T(NeuronTrainer):\n    def f(self):\n        self{TRAINER}\n", id="a derived trainer"),
        pytest.param(KEPT.format("NeuronTrainer()", "y = 1", TRAINER), id="kept in self"),
    ],
)
def test_what_self_holds(text: str) -> None:
    assert is_told(text, TRAINER)


@pytest.mark.parametrize(
    ("before", "member"),
    [
        (chain(12), TRAINER),
        ("", TRAINER),
        ("x = make()\n", TRAINER),
        ("x, y = make()\n", TRAINER),
        ("for x in y:\n    pass\n", TRAINER),
        ("from transformers import Trainer\nx = Trainer()\n", TRAINER),
        ("x = ParallelizersManager.parallelizer_for_model(m)\n", TRAINER),
        (f"{MODEL}x = acc.prepare(model, y)\n", OF_MODEL),
        (f"{MODEL}x = acc.prepare_model()\n", OF_MODEL),
        (f"{MODEL}x, y = acc.prepare(model, *y)\n", OF_MODEL),
        (f"{MODEL}x, y = acc.prepare(model)\n", OF_MODEL),
    ],
)
def test_a_variable_with_something_else(before: str, member: str) -> None:
    assert not is_told(f"{before}x{member}\n", member)


@pytest.mark.parametrize("annotation", ["", ": int", ": ParallelizersManager", ": optimum.neuron.Unknown"])
def test_a_parameter_with_something_else(annotation: str) -> None:
    assert not is_told(f"import optimum.neuron\n\n\ndef f(x{annotation}):\n    x{TRAINER}\n", TRAINER)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(KEPT.format("NeuronTrainer()", "self.x = 1", TRAINER), id="two things"),
        pytest.param(KEPT.format("1", "other.x = NeuronTrainer()", TRAINER), id="in another object"),
        pytest.param(KEPT.format("1", "a[0].x = NeuronTrainer()", TRAINER), id="in a part of another object"),
        pytest.param(f"class A:\n    def f(self):\n        self.y{TRAINER}\n", id="nothing"),
        pytest.param(
            f"from transformers import Trainer\n\n\nclass T(Trainer):\n    def f(self):\n        self{TRAINER}\n",
            id="a derived native trainer",
        ),
    ],
)
def test_self_with_something_else(text: str) -> None:
    assert not is_told(text, TRAINER)
