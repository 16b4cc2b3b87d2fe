"""Training arguments that a function makes: what is read from them where it was called, also in another file."""

from __future__ import annotations

import pytest

from neuron_codemods import Outcome, Project, collect, migrate

PARSES = """from optimum.neuron import NeuronHfArgumentParser, NeuronTrainer, NeuronTrainingArguments

def get_args():
    parser = NeuronHfArgumentParser((Own, NeuronTrainingArguments))
    {0}

"""
MAKES = """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments

def make(out, tp=2):
    if out:
        return NeuronTrainingArguments(out, tensor_parallel_size=4, zero_1=True)
    {0}

"""


def last(text: str) -> str:
    return migrate(text).text.splitlines()[-1]


@pytest.mark.parametrize(
    ("made", "used", "after"),
    [
        ("return parser.parse_args_into_dataclasses()", "own, args = get_args()", "args.eval_strategy"),
        (
            "own, a = parser.parse_args_into_dataclasses()\n    return a, own",
            "args, own = get_args()",
            "args.eval_strategy",
        ),
        ("return parser.parse_args_into_dataclasses()[1]", "args = get_args()", "args.eval_strategy"),
        ("both = parser.parse_args_into_dataclasses()\n    return both[1]", "args = get_args()", "args.eval_strategy"),
        ("return parser.parse_args_into_dataclasses()", "args = get_args()[1]", "args.eval_strategy"),
        ("return parser.parse_args_into_dataclasses()", "both = get_args()\nargs = both[1]", "args.eval_strategy"),
        # Something else
        ("return parser.parse_args_into_dataclasses()", "args, own = get_args()", "args.evaluation_strategy"),
        ("return parser.parse_args_into_dataclasses()", "*own, args = get_args()", "args.evaluation_strategy"),
        ("return parser.parse_args_into_dataclasses()", "args = get_args()[9]", "args.evaluation_strategy"),
        ("return parser.parse_args_into_dataclasses()", "args = get_args()[i]", "args.evaluation_strategy"),
        ("return 1, 2", "own, args = get_args()", "args.evaluation_strategy"),
        ("return", "own, args = get_args()", "args.evaluation_strategy"),
        ("return get_args()", "own, args = get_args()", "args.evaluation_strategy"),
        ("return (parser,)", "own, args = get_args()", "args.evaluation_strategy"),
        ("x = x\n    return x", "own, args = get_args()", "args.evaluation_strategy"),
        ("return parser.parse_args_into_dataclasses()", "own, args = self.get_args()", "args.evaluation_strategy"),
    ],
)
def test_arguments_of_a_parser_in_a_function(made: str, used: str, after: str) -> None:
    assert last(f"{PARSES.format(made)}{used}\nargs.evaluation_strategy\n") == after


@pytest.mark.parametrize(
    ("made", "after"),
    [
        ("", 'parallel_sizes(tp_size=4)["tp_size"]'),
        ("return None", "args.tensor_parallel_size"),
        ("return NeuronTrainingArguments('x')", "args.tensor_parallel_size"),
        ("def inner():\n        return 1", 'parallel_sizes(tp_size=4)["tp_size"]'),
    ],
)
def test_arguments_that_a_function_makes(made: str, after: str) -> None:
    assert last(f"{MAKES.format(made)}args = make('out')\nargs.tensor_parallel_size\n") == after


COMMON = f"""{PARSES.format("return parser.parse_args_into_dataclasses()")}
def make():
    return NeuronTrainingArguments("out")

ARGS = make()
OWN, MORE = get_args()
NATIVE = 1
"""


@pytest.mark.parametrize(
    ("taken", "args"),
    [
        ("from common import get_args\nown, args = get_args()", "args"),
        ("from .common import get_args as g\nargs = g()[1]", "args"),
        ("import common\nargs = common.make()", "args"),
        ("from common import make", "make()"),
        ("from common import ARGS", "ARGS"),
        ("from common import MORE as more\nargs = more", "args"),
        ("import common", "common.ARGS"),
        ("import common", "common.get_args()[1]"),
    ],
)
def test_arguments_of_another_file(taken: str, args: str) -> None:
    text = f"from optimum.neuron import NeuronTrainer\n{taken}\n{args}.evaluation_strategy\n"
    project = Project((collect(COMMON, "common.py"), collect(text, "train.py")))
    assert migrate(text, path="train.py", project=project).text.splitlines()[-1] == f"{args}.eval_strategy"


@pytest.mark.parametrize(
    ("taken", "args"),
    [
        ("from common import get_args\nargs, own = get_args()", "args"),
        ("from common import get_args\nargs = get_args()", "args"),
        ("from common import get_args\nargs, *own = get_args()[1]", "args"),
        ("from common import OWN, NATIVE", "OWN"),
        ("from common import NATIVE", "NATIVE"),
        ("from other import ARGS", "ARGS"),
        ("for args in common.get_args(): pass", "args"),
        ("args = args", "args"),
    ],
)
def test_something_else_of_another_file(taken: str, args: str) -> None:
    text = f"from optimum.neuron import NeuronTrainer\n{taken}\n{args}.evaluation_strategy\n"
    project = Project((collect(COMMON, "common.py"), collect(text, "train.py")))
    assert migrate(text, path="train.py", project=project).text.splitlines()[-1] == f"{args}.evaluation_strategy"


def test_what_has_no_native_form_is_marked_where_it_is_read() -> None:
    migration = migrate(f"{MAKES.format('')}print(make('x').zero_1)\n")
    marked = [finding.code for finding in migration.findings if finding.outcome is Outcome.MANUAL]
    assert marked == ["NM150"]


def test_native_arguments_are_offered_to_nobody() -> None:
    text = "from transformers import TrainingArguments\nimport optimum.neuron\nARGS = TrainingArguments('x')\n"
    assert collect(text, "a.py").offers == frozenset()
    assert collect("import optimum.neuron\n", "a.py").offers == frozenset()


LOADS = """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
from transformers import AutoModelForCausalLM

def make(tp):
    return NeuronTrainingArguments("out", tensor_parallel_size=tp)

args = make({0})
model = AutoModelForCausalLM.from_pretrained("m")
NeuronTrainer(model, args)
"""


def test_a_size_that_a_function_is_given() -> None:
    assert "parallel_sizes(tp_size=8, model=" in migrate(LOADS.format("8")).text
    unknown = migrate(LOADS.format("int(x)"))
    assert "parallel_sizes" not in unknown.text
    assert any("If it may be more than 1" in finding.message for finding in unknown.findings)
