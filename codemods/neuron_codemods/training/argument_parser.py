"""Sets the old defaults on a parser that makes training arguments from the command line.

`HfArgumentParser` fills in the defaults of `TrainingArguments`, some of which changed. `parser.set_defaults` brings
the old ones back; a flag on the command line still wins. `NeuronHfArgumentParser` also forced `pad_to_max_length`.

https://huggingface.co/docs/transformers/internal/trainer_utils#transformers.HfArgumentParser
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.derivation import kind_of
from neuron_codemods.edits import CallEdit, Change, InsertLines
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.releases import Era, era
from neuron_codemods.training.classes import field_default, local_dataclasses
from neuron_codemods.training.defaults import changed, saves_only_model
from neuron_codemods.training.parallel import loads, may_be_sharded, trains
from neuron_codemods.values import (
    ARGUMENT_CLASSES,
    PARSE_METHODS,
    Arguments,
    all_arguments,
    is_neuron,
    keyword,
    literal,
    parsed_classes,
)

RULE = Rule(
    code="NM113",
    name="argument-parser",
    summary="HfArgumentParser: old defaults by set_defaults, padding that the Neuron parser forced.",
    url="https://huggingface.co/docs/transformers/internal/trainer_utils#transformers.HfArgumentParser",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)


def check(module: Module) -> Iterator[Change]:
    if not trains(module):
        return
    for made in all_arguments(module):
        if made.is_parsed and made.is_neuron:
            yield from _defaults(module, made)
            yield from _files(module, made)
            yield from _flags(module, made)
            yield from _padding(module, made)
            if era(module) is Era.EITHER:
                message = (
                    "Defaults of releases 0.4.0 to 0.4.5 that are not restored: per_device batch sizes were 1 (8 "
                    'before and now), log_level was "info". Pass them on the command line if you relied on them.'
                )
                yield Change(Outcome.REVIEW, made.call, message)


def _defaults(module: Module, made: Arguments) -> Iterator[Change]:
    wanted = changed(module, made)
    if saves_only_model(module, made):
        wanted["save_only_model"] = "True"
    if is_neuron(module, made.call.func) and _forces_padding(module, made):
        wanted["pad_to_max_length"] = "True"
    pairs = ", ".join(f"{name}={text}" for name, text in sorted(wanted.items()))
    parent = module.parent(made.call)
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        name = parent.targets[0].id
        call = _set_defaults(module, parent, name)
        if call is not None:
            missing = tuple((item, text) for item, text in sorted(wanted.items()) if keyword(call, item) is None)
            if missing:
                yield Change(Outcome.REWRITTEN, call, _message(dict(missing)), (CallEdit(call, added=missing),))
            return
        line = f"{name}.set_defaults({pairs})"
        if len(line) + parent.col_offset > module.source.line_limit:
            rest = [f"    {item}={text}," for item, text in sorted(wanted.items())]
            lines = (f"{name}.set_defaults(", *rest, ")")
        else:
            lines = (line,)
        yield Change(Outcome.REWRITTEN, made.call, _message(wanted), (InsertLines(parent, lines, after=True),))
    else:
        message = f"Keep the parser in a variable and call set_defaults({pairs}) on it: these defaults have changed."
        yield Change(Outcome.MANUAL, made.call, message)


def _message(wanted: dict[str, str]) -> str:
    return f"Old defaults are set on the parser: {', '.join(sorted(wanted))}. A flag still wins."


def _set_defaults(module: Module, assignment: ast.Assign, name: str) -> ast.Call | None:
    """The ``parser.set_defaults(...)`` that a script already has."""
    binding = module.scope(assignment).home(name)
    for call in module.calls:
        function = call.func
        if (
            isinstance(function, ast.Attribute)
            and function.attr == "set_defaults"
            and isinstance(function.value, ast.Name)
            and function.value.id == name
            and module.scope(function.value).home(name) is binding
        ):
            return call
    return None


def _forces_padding(module: Module, made: Arguments) -> bool:
    for definition in local_dataclasses(module, made.call):
        default = field_default(definition, "pad_to_max_length")
        if default is not None:
            return not (isinstance(default, ast.Constant) and default.value is True)
    return False


def _padding(module: Module, made: Arguments) -> Iterator[Change]:
    """What the Neuron parser asked of dataclasses, where it cannot be set here."""
    if not is_neuron(module, made.call.func):
        return
    seen = list(local_dataclasses(module, made.call))
    own = [node for node in parsed_classes(module, made.call) if kind_of(module, node, ARGUMENT_CLASSES) is None]
    if len(own) > len(seen):
        message = (
            "The Neuron parser set pad_to_max_length=True and refused max_seq_length=None in each dataclass with such "
            "a field: do so yourself if yours have them, or every batch shape compiles anew."
        )
        yield Change(Outcome.REVIEW, made.call, message)
    elif any(literal(field_default(definition, "max_seq_length")) is None for definition in seen):
        message = (
            "The Neuron parser refused max_seq_length=None: give a length on the command line, or every batch shape "
            "compiles anew."
        )
        yield Change(Outcome.REVIEW, made.call, message)


def _files(module: Module, made: Arguments) -> Iterator[Change]:
    """Arguments that are read from a JSON or YAML file; only ``TrlParser`` fills in the parser's defaults."""
    for call in module.calls:
        function = call.func
        if (
            isinstance(function, ast.Attribute)
            and function.attr in PARSE_METHODS - {"parse_args_into_dataclasses"}
            and isinstance(function.value, ast.Name)
        ):
            binding = module.binding(function.value)
            if binding is not None and binding.value is made.call:
                gone = "none of the Neuron arguments (tensor_parallel_size, zero_1, async_save ...)"
                if function.attr == "parse_args_and_config":
                    message = f"A file given by --config must hold {gone}."
                else:
                    pairs = ", ".join(f"{name}={text}" for name, text in changed(module, made).items())
                    message = (
                        f"A file read by {function.attr} must hold the old defaults itself ({pairs}), and {gone}."
                    )
                yield Change(Outcome.REVIEW, call, message)


def _flags(module: Module, made: Arguments) -> Iterator[Change]:
    message = (
        "The command line loses its Neuron flags (--tensor_parallel_size, --zero_1, --async_save ...), which are "
        "errors natively"
    )
    if any(load.is_sharded for load in loads(module)):
        message += ": TP_SIZE and FSDP_SIZE before torchrun say the sizes."
    elif any(may_be_sharded(load) for load in loads(module)):
        message += (
            ". Each process has the whole model now. If runs were given --tensor_parallel_size or --zero_1, load it "
            "with distributed_config=DistributedConfig(**parallel_sizes()), which reads TP_SIZE and FSDP_SIZE."
        )
    else:
        message += "."
    yield Change(Outcome.REVIEW, made.call, message)


CASES = (
    Case(
        "old defaults are set on the parser",
        """from optimum.neuron import NeuronHfArgumentParser, NeuronTrainingArguments

parser = NeuronHfArgumentParser(NeuronTrainingArguments)
(training_args,) = parser.parse_args_into_dataclasses()
""",
        """from optimum.neuron import NeuronHfArgumentParser, NeuronTrainingArguments

parser = NeuronHfArgumentParser(NeuronTrainingArguments)
parser.set_defaults(
    average_tokens_across_devices=False,
    optim="adamw_torch",
    report_to="all",
)
(training_args,) = parser.parse_args_into_dataclasses()
""",
        (
            Outcome.REWRITTEN,
            Outcome.REVIEW,
            Outcome.REVIEW,
        ),
    ),
    Case(
        "padding that the Neuron parser forced",
        """from dataclasses import dataclass

from optimum.neuron import NeuronHfArgumentParser, NeuronTrainingArguments


@dataclass
class DataArguments:
    pad_to_max_length: bool = False


def main():
    parser = NeuronHfArgumentParser((DataArguments, NeuronTrainingArguments))
    data_args, training_args = parser.parse_args_into_dataclasses()
""",
        """from dataclasses import dataclass

from optimum.neuron import NeuronHfArgumentParser, NeuronTrainingArguments


@dataclass
class DataArguments:
    pad_to_max_length: bool = False


def main():
    parser = NeuronHfArgumentParser((DataArguments, NeuronTrainingArguments))
    parser.set_defaults(
        average_tokens_across_devices=False,
        optim="adamw_torch",
        pad_to_max_length=True,
        report_to="all",
    )
    data_args, training_args = parser.parse_args_into_dataclasses()
""",
        (
            Outcome.REWRITTEN,
            Outcome.REVIEW,
            Outcome.REVIEW,
        ),
    ),
    Case(
        "dataclasses of another file, and a length that may be left out",
        """from dataclasses import dataclass

from optimum.neuron import NeuronHfArgumentParser, NeuronTrainingArguments
from options import ModelArguments


@dataclass
class DataArguments:
    max_seq_length: int = None


first = NeuronHfArgumentParser((ModelArguments, NeuronTrainingArguments))
first.set_defaults(average_tokens_across_devices=False, optim="sgd", report_to="none")
second = NeuronHfArgumentParser((DataArguments, NeuronTrainingArguments))
second.set_defaults(average_tokens_across_devices=False, optim="sgd", report_to="none")
""",
        outcomes=(Outcome.REVIEW,) * 6,
    ),
    Case(
        "a parser that is in no variable",
        """from optimum.neuron import NeuronHfArgumentParser, NeuronTrainingArguments

(training_args,) = NeuronHfArgumentParser(NeuronTrainingArguments).parse_args_into_dataclasses()
""",
        """from optimum.neuron import NeuronHfArgumentParser, NeuronTrainingArguments

# TODO(neuron-migrate NM113): Keep the parser in a variable and call \
set_defaults(average_tokens_across_devices=False, optim="adamw_torch", report_to="all") on it: \
these defaults have changed: \
https://huggingface.co/docs/transformers/internal/trainer_utils#transformers.HfArgumentParser
(training_args,) = NeuronHfArgumentParser(NeuronTrainingArguments).parse_args_into_dataclasses()
""",
        (
            Outcome.MANUAL,
            Outcome.REVIEW,
            Outcome.REVIEW,
        ),
    ),
    Case(
        "a parser without training arguments",
        """from transformers import HfArgumentParser
from optimum.neuron import NeuronTrainer


class Options:
    pass


parser = HfArgumentParser(Options)
NeuronTrainer()
""",
    ),
    Case(
        "argparse",
        """import argparse
from optimum.neuron import NeuronTrainer

parser = argparse.ArgumentParser()
NeuronTrainer(parser)
""",
    ),
)
