"""A class that a script derives from the training arguments is one of them, but for the fields of its own."""

from __future__ import annotations

from neuron_codemods import migrate

DERIVED = """\
from dataclasses import dataclass, field

from optimum.neuron import NeuronHfArgumentParser, NeuronTrainingArguments


@dataclass
class MyArguments(NeuronTrainingArguments):
    optim: str = "sgd"
    tensor_parallel_size: int = field(default=8)
"""


def test_a_parser_of_it_gets_the_old_defaults_but_those_of_its_fields() -> None:
    text = migrate(
        DERIVED
        + "\n\nparser = NeuronHfArgumentParser(MyArguments)\n"
        + "(args,) = parser.parse_args_into_dataclasses()\n"
        + "print(args.tensor_parallel_size, args.pipeline_parallel_size)\n"
    ).text

    assert 'average_tokens_across_devices=False, report_to="all"' in text
    assert 'optim="adamw_torch"' not in text
    assert "print(args.tensor_parallel_size, 1)" in text


def test_building_one_is_building_arguments() -> None:
    text = migrate(DERIVED + '\n\nargs = MyArguments("out", zero_1=True, tensor_parallel_size=4)\n').text

    assert "zero_1" not in text
    assert "tensor_parallel_size=4" in text
    assert 'report_to="all"' in text


def test_another_class_of_the_script_is_none() -> None:
    text = (
        "from optimum.neuron import NeuronTrainer\n\n\n"
        "class Options:\n    zero_1: bool = False\n\n\n"
        "options = Options(zero_1=True)\nNeuronTrainer(options.zero_1)\n"
    )

    assert "options = Options(zero_1=True)\nTrainer(options.zero_1)\n" in migrate(text).text
