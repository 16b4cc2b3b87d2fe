"""What becomes of a training configuration: its variable, its fields, what reads it, and what carries it."""

from __future__ import annotations

import pytest

from neuron_codemods import Outcome, migrate

HEAD = """\
from optimum.neuron import NeuronHfArgumentParser, NeuronTrainer, NeuronTrainingArguments
from optimum.neuron.distributed import lazy_load_for_parallelism
from optimum.neuron.models.training import NeuronModelForCausalLM, TrainingNeuronConfig
from transformers import AutoModelForCausalLM, TrainingArguments

"""
LOAD = 'm = NeuronModelForCausalLM.from_pretrained("m", config)\n'
SIZED = f"config = TrainingNeuronConfig(tensor_parallel_size=2)\n{LOAD}"
FUNCTION = "{}def load({}):\n    return NeuronModelForCausalLM.from_pretrained('m', c)\n{}"
METHOD = "class A:\n    {}def load({}):\n        return NeuronModelForCausalLM.from_pretrained('m', c)\n{}"
GIVEN = "load(TrainingNeuronConfig(tensor_parallel_size=2))\n"
LAZY = "lazy_load_for_parallelism(tensor_parallel_size=8)"
BLOCK = ":\n    m = AutoModelForCausalLM.from_pretrained('m')\n"


def migrated(text: str) -> str:
    return migrate(HEAD + text).text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{SIZED}print(config.should_parallelize)\n", 'print((parallel_sizes(tp_size=2, model="m")["tp_size"] > 1))'),
        (f"{SIZED}x = config.should_parallelize\n", 'x = parallel_sizes(tp_size=2, model="m")["tp_size"] > 1'),
        (f"config = TrainingNeuronConfig(gradient_checkpointing=True)\n{LOAD}", "m.gradient_checkpointing_enable()"),
        (
            f"a = NeuronTrainingArguments('o')\nconfig = TrainingNeuronConfig(gradient_checkpointing=True)\n{LOAD}",
            "activation_checkpointing=True,",
        ),
        (FUNCTION.format("", "c: 'TrainingNeuronConfig'", GIVEN), "\nload()\n"),
        (METHOD.format("@staticmethod\n    ", "c", f"A.{GIVEN}"), "\nA.load()\n"),
        (METHOD.format("", "self, c", f"    def f(self):\n        self.{GIVEN}"), "        self.load()\n"),
        (f"with {LAZY}, open(y) as z{BLOCK}", "with open(y) as z:\n"),
        (f"with open(y) as z, {LAZY}{BLOCK}", "with open(y) as z:\n"),
        (
            f"import optimum.neuron.distributed as d\nwith d.{LAZY}{BLOCK}",
            "\nm = AutoModelForCausalLM.from_pretrained(",
        ),
    ],
)
def test_moved(text: str, expected: str) -> None:
    assert expected in migrated(text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"{SIZED}config.tensor_parallel_size = 4\n", "config = TrainingNeuronConfig(tensor_parallel_size=2)"),
        (f"with {LAZY} as x{BLOCK}", f"with {LAZY} as x:"),
        (FUNCTION.format("", "c=None", GIVEN), GIVEN),
        (FUNCTION.format("", "*, c", GIVEN), GIVEN),
        (FUNCTION.format("", "c", "load(*x)\n"), "load(*x)"),
        (FUNCTION.format("", "c", "load(**x)\n"), "load(**x)"),
        (FUNCTION.format("async ", "c", ""), "async def load(c):"),
        (METHOD.format("@other\n    ", "self, c", ""), "def load(self, c):"),
        (METHOD.format("", "self, c", "x.load(1)\n"), "def load(self, c):"),
        (METHOD.format("", "self, c", "f().load(1)\n"), "def load(self, c):"),
        ("load = lambda c: NeuronModelForCausalLM.from_pretrained('m', c)\n", "load = lambda c:"),
        (
            f"def f():\n    def load(c):\n        return NeuronModelForCausalLM.from_pretrained('m', c)\n    {GIVEN}",
            "def load(c):",
        ),
    ],
)
def test_kept(text: str, kept: str) -> None:
    assert kept in migrated(text)


@pytest.mark.parametrize(
    ("text", "outcome", "told"),
    [
        (f"config = TrainingNeuronConfig(**sizes)\n{LOAD}", Outcome.REVIEW, "This mapping of sizes goes"),
        (
            f"config = TrainingNeuronConfig(gradient_checkpointing=False)\n{LOAD}",
            Outcome.REWRITTEN,
            "gradient_checkpointing=False goes",
        ),
        (
            "a = NeuronTrainingArguments('o', gradient_checkpointing=True)\n"
            f"config = TrainingNeuronConfig(gradient_checkpointing=True)\n{LOAD}",
            Outcome.REWRITTEN,
            "They have it already",
        ),
        (
            f"config = TrainingNeuronConfig(gradient_checkpointing=flag, unknown=1)\n{LOAD}",
            Outcome.MANUAL,
            "gradient_checkpointing was flag",
        ),
        (
            "import optimum.neuron.models.training as t\n"
            f"config = t.TrainingNeuronConfig(tensor_parallel_size=2)\n{LOAD}",
            Outcome.REWRITTEN,
            "This use of TrainingNeuronConfig is gone",
        ),
        ("NeuronTrainingArguments('o', deepspeed=None)\n", Outcome.REWRITTEN, "deepspeed=None goes"),
        ("def f(x: TrainingArguments):\n    x.zero_1\n", Outcome.MANUAL, "There is no zero_1"),
        (
            "def f(training_args):\n    getattr(training_args, 'mp_plugin')\n",
            Outcome.MANUAL,
            "mp_plugin is no argument",
        ),
        ("def f(training_args):\n    getattr(training_args, 'zero_1')\n", Outcome.MANUAL, "zero_1 is no argument"),
    ],
)
def test_told(text: str, outcome: Outcome, told: str) -> None:
    found = [finding.message for finding in migrate(HEAD + text).findings if finding.outcome is outcome]

    assert any(told in message for message in found)


@pytest.mark.parametrize(
    "text",
    [
        "a = TrainingArguments('o')\nprint(a.zero_1)\n",
        "def f(x: int):\n    x.zero_1\n",
        "def f(training_args):\n    getattr(training_args, 3)\n",
        "def f(training_args):\n    getattr(training_args, 'learning_rate')\n",
        "def f():\n    getattr(training_args, 'zero_1')\n",
        "def f(x):\n    getattr(x, 'zero_1')\n",
    ],
)
def test_something_else_stays(text: str) -> None:
    assert migrated(text).endswith(text.partition("\n")[2])
