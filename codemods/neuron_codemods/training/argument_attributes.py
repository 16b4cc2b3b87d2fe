"""Replaces what a script reads from its training arguments and what they no longer have.

Parallel sizes are known to the launch line and not to the arguments, a `trn_config` has no counterpart, and flags such
as `--overwrite_output_dir` become a field of the script's own dataclass, so that the launch line keeps working.

https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.data import Keyword, keywords
from neuron_codemods.derivation import kind_of
from neuron_codemods.edits import AnyEdit, Change, Edit, InsertLines, RemoveStatement
from neuron_codemods.imports import local_name
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.training.accelerators import plugins
from neuron_codemods.training.classes import fields, local_dataclasses
from neuron_codemods.training.configs import config_parameters, moved_configs
from neuron_codemods.training.objects import ARGUMENTS, owner
from neuron_codemods.training.parallel import lazy_loads, loads, quote, size_text, trains
from neuron_codemods.values import (
    ARGUMENT_CLASSES,
    UNKNOWN,
    Arguments,
    arguments_of,
    literal,
    parse_results,
    parsed_classes,
    rename_attribute,
    visible,
)

RULE = Rule(
    code="NM150",
    name="argument-attribute",
    summary="training_args.tensor_parallel_size, .trn_config, .overwrite_output_dir and others that are gone.",
    url="https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

SIZES = "neuron_shim.parallel_sizes"
_RENAMED = {"evaluation_strategy": "eval_strategy", "warmup_ratio": "warmup_steps", "max_seq_length": "max_length"}
_GONE = {
    "trn_config": "There is no trn_config: the sizes are those of parallel_sizes(), and the model gets a "
    "distributed_config.",
    "mp_plugin": "There is no mp_plugin: the model gets a distributed_config where it is loaded.",
    "tp_plugin": "There is no tp_plugin: the model gets a distributed_config where it is loaded.",
    "zero_1": "There is no zero_1: FSDP shards the optimizer state of a model with a distributed_config.",
    "logging_dir": "There is no logging_dir: read the environment variable TENSORBOARD_LOGGING_DIR.",
}
_NAMES = frozenset({*_RENAMED, *_GONE, "tensor_parallel_size", "pipeline_parallel_size", "overwrite_output_dir"})
_ONLY_NEURON = frozenset({"trn_config", "mp_plugin", "tp_plugin"})
_DEFAULTS = {
    **dict.fromkeys(("jit_mode_eval", "tpu_metrics_debug", "use_ipex", "use_legacy_prediction_loop"), "False"),
    "use_mps_device": "False",
    "past_index": "-1",
    "mp_parameters": '""',
    "fp16_opt_level": '"O1"',
    "fp16_backend": '"auto"',
}
"""The defaults of arguments that transformers itself has dropped."""


def check(module: Module) -> Iterator[Change]:
    if not trains(module):
        return
    handled = _moved_to_load(module)
    for attribute in module.names.attributes:
        if attribute in handled or not isinstance(attribute.ctx, ast.Load):
            continue
        if not handles(attribute.attr):
            continue
        made = arguments_of(module, attribute.value)
        if made is None and not (_is_arguments(module, attribute) or owner(module, attribute.value) == ARGUMENTS):
            continue
        if made is not None and not made.is_neuron:
            continue
        if made is None or attribute.attr not in made.own:
            yield from _attribute(module, attribute, made)
    yield from _unused_configs(module)


def _is_arguments(module: Module, attribute: ast.Attribute) -> bool:
    """Whether something holds training arguments that were made elsewhere, by its annotation or its name."""
    base = attribute.value
    if not isinstance(base, ast.Name):
        return False
    binding = module.binding(base)
    if binding is not None and isinstance(binding.node, ast.arg):
        annotation = binding.node.annotation
        if annotation is not None:
            return kind_of(module, annotation, ARGUMENT_CLASSES) is not None
        return base.id in ("training_args", "training_arguments") or attribute.attr in _ONLY_NEURON
    return False


def _moved_to_load(module: Module) -> set[ast.AST]:
    """Attributes inside of what other rules take away."""
    handled: set[ast.AST] = set()
    for load in loads(module):
        if load.config is not None:
            handled.update(ast.walk(load.config))
    for _, item, call in lazy_loads(module):
        if item.optional_vars is None:
            handled.update(ast.walk(call))
    for moved in moved_configs(module):
        handled.update(ast.walk(moved.statement))
        handled.update(moved.reads)
    for given in plugins(module):
        handled.update(ast.walk(given))
    for carried in config_parameters(module):
        for _, argument in carried.given:
            handled.update(ast.walk(argument))
    return handled


def _unused_configs(module: Module) -> Iterator[Change]:
    for moved in moved_configs(module):
        name = module.source.segment(moved.statement.targets[0])
        message = f"{name} goes: the sizes moved to where the model is loaded."
        yield Change(Outcome.REWRITTEN, moved.statement, message, (RemoveStatement(moved.statement),))


def _is_carried(module: Module, attribute: ast.Attribute) -> bool:
    """Whether a function of another file is given a configuration that it does not read any more."""
    above = module.parent(attribute)
    call = module.parent(above) if isinstance(above, ast.keyword) else above
    if not isinstance(call, ast.Call) or any(isinstance(item, ast.Starred) for item in call.args):
        return False
    qualified = module.resolve(call.func)
    if qualified is None or call.func is attribute:
        return False
    place = above.arg if isinstance(above, ast.keyword) else call.args.index(attribute)
    return place is not None and module.project.carries(qualified, place)


def _attribute(module: Module, attribute: ast.Attribute, made: Arguments | None) -> Iterator[Change]:
    name = attribute.attr
    if name == "trn_config" and module.is_placed(attribute) and _is_carried(module, attribute):
        edit = Edit.replace(module.source.span(attribute), "None")
        message = "trn_config is not read by that function any more: the sizes are known where the model is loaded."
        yield Change(Outcome.REVIEW, attribute, message, (edit,))
        return
    if name in _RENAMED and not (name == "max_seq_length" and made is None):
        edit = rename_attribute(module, attribute, _RENAMED[name])
        yield Change(Outcome.REWRITTEN, attribute, f"{name} is called {_RENAMED[name]}.", (edit,))
    elif name == "tensor_parallel_size":
        yield from _tensor_parallel(module, attribute, made)
    elif name == "pipeline_parallel_size":
        known = literal(made.value(name)) if made is not None and made.value(name) is not None else 1
        if known == 1 and module.is_placed(attribute):
            edit = Edit.replace(module.source.span(attribute), "1")
            yield Change(Outcome.REWRITTEN, attribute, "There are no pipeline stages natively.", (edit,))
        else:
            yield Change(
                Outcome.MANUAL, attribute, "There are no pipeline stages natively: replace pipeline_parallel_size."
            )
    elif name == "zero_1" and _is_told(module, attribute):
        yield _told_zero(module, attribute, made)
    elif name == "overwrite_output_dir":
        yield overwrite(module, attribute, made)
    elif name in _GONE:
        yield Change(Outcome.MANUAL, attribute, _GONE[name])
    else:
        yield _of_table(module, attribute, made)


def handles(name: str) -> bool:
    """Whether this rule looks at an attribute of training arguments."""
    return name in _NAMES or _row(name) is not None


def _row(name: str) -> Keyword | None:
    """The row of an argument that native arguments do not have."""
    rows = keywords("training_arguments").get(name, ())
    return rows[0] if rows and rows[0].action != "keep" else None


def _of_table(module: Module, attribute: ast.Attribute, made: Arguments | None) -> Change:
    """An argument that is gone: its other name, or the value that it is known to have had."""
    row = _row(attribute.attr)
    assert row is not None
    if row.action == "rename" and row.native.isidentifier():
        edit = rename_attribute(module, attribute, row.native)
        return Change(Outcome.REWRITTEN, attribute, f"{attribute.attr} is called {row.native}.", (edit,))
    text = None
    given = made.value(attribute.attr) if made is not None else None
    if given is not None:
        text = module.source.segment(given) if literal(given) is not UNKNOWN else None
    elif row.action == "drop" and (made is None or not made.unread):
        text = row.default if " (" not in row.default else ""
        text = text or _DEFAULTS.get(attribute.attr)
    if text is None or text.startswith("<") or not module.is_placed(attribute):
        return Change(Outcome.MANUAL, attribute, f"{attribute.attr} is no argument natively. {row.reason}")
    edit = Edit.replace(module.source.span(attribute), text)
    message = f"{attribute.attr} is no argument natively; {text} is what it was without the flag, which is gone."
    return Change(Outcome.REWRITTEN, attribute, message, (edit,))


def _tensor_parallel(module: Module, attribute: ast.Attribute, made: Arguments | None) -> Iterator[Change]:
    if not module.is_placed(attribute):
        message = 'Replace tensor_parallel_size by parallel_sizes()["tp_size"] of neuron_shim.'
        yield Change(Outcome.MANUAL, attribute, message)
        return
    size = size_text(module, made, attribute)
    mark = quote(module, attribute)
    text = f"{local_name(module, SIZES)}({size})[{mark}tp_size{mark}]"
    edit = Edit.replace(module.source.span(attribute), text)
    message = "The tensor parallel size is that of the launch line."
    yield Change(Outcome.REWRITTEN, attribute, message, (edit,), (SIZES,))


def _is_told(module: Module, attribute: ast.Attribute) -> bool:
    """Whether an attribute stands in a message of a script that shards its model."""
    in_message = isinstance(module.parent(attribute), ast.FormattedValue) and module.is_placed(attribute)
    return in_message and any(load.is_sharded for load in loads(module))


def _told_zero(module: Module, attribute: ast.Attribute, made: Arguments | None) -> Change:
    """Whether the optimizer state is sharded."""
    mark = quote(module, attribute)
    text = f"{local_name(module, SIZES)}({size_text(module, made, attribute)})[{mark}fsdp_size{mark}] > 1"
    message = "zero_1 sharded the optimizer state over the data parallel ranks; FSDP does."
    edit = Edit.replace(module.source.span(attribute), text)
    return Change(Outcome.REWRITTEN, attribute, message, (edit,), (SIZES,))


def overwrite(module: Module, attribute: ast.Attribute, made: Arguments | None) -> Change:
    """Keep a flag that transformers dropped as a field of the script's own arguments."""
    name = "overwrite_output_dir"
    if made is not None and not made.is_parsed:
        value = made.value(name)
        if (value is None or literal(value) is not UNKNOWN) and module.is_placed(attribute):
            text = "False" if value is None else module.source.segment(value)
            edit = Edit.replace(module.source.span(attribute), text)
            return Change(
                Outcome.REWRITTEN, attribute, f"{name} is no argument natively; its value is known.", (edit,)
            )
    if made is not None and made.is_parsed and module.is_placed(attribute):
        edits = _to_own_field(module, attribute, made)
        if edits is not None:
            message = f"{name} is no argument natively; it becomes a field of the script's own arguments."
            return Change(Outcome.REWRITTEN, attribute, message, edits)
    message = f"{name} is no argument natively: decide here whether an existing output folder may be written to."
    return Change(Outcome.MANUAL, attribute, message)


def _to_own_field(module: Module, attribute: ast.Attribute, made: Arguments) -> tuple[AnyEdit, ...] | None:
    definition = next(local_dataclasses(module, made.call), None)
    if definition is None or not fields(definition):
        return None
    position = next(
        index
        for index, node in enumerate(parsed_classes(module, made.call))
        if isinstance(node, ast.Name) and (binding := module.binding(node)) and binding.node is definition
    )
    variables = [
        element
        for element, statement in parse_results(module, made.call)
        for target in statement.targets
        if isinstance(target, (ast.Tuple, ast.List)) and target.elts.index(element) == position
    ]
    names = {element.id for element in variables if isinstance(element, ast.Name)}
    if len(names) != 1 or not isinstance(variables[0], ast.Name) or not visible(module, variables[0], attribute):
        return None
    variable = names.pop()
    line = "overwrite_output_dir: bool = False"
    helper = module.import_at("dataclasses.field", definition)
    if helper is not None:
        text = "Overwrite the output directory."
        line = f'overwrite_output_dir: bool = {helper.name}(default=False, metadata={{"help": "{text}"}})'
    edits: list[AnyEdit] = [Edit.replace(module.source.span(attribute), f"{variable}.overwrite_output_dir")]
    if all(
        item.target.id != "overwrite_output_dir" for item in fields(definition) if isinstance(item.target, ast.Name)
    ):
        edits.append(InsertLines(fields(definition)[-1], (line,), after=True))
    return tuple(edits)


CASES = (
    Case(
        "whether the optimizer state is sharded, in a message",
        """from optimum.neuron import NeuronTrainingArguments
from optimum.neuron.models.training import NeuronModelForCausalLM

args = NeuronTrainingArguments("out", tensor_parallel_size=2)
model = NeuronModelForCausalLM.from_pretrained("my/model", args.trn_config)
print(f"ZeRO-1: {args.zero_1}")
""",
        """from optimum.neuron import NeuronTrainingArguments
from optimum.neuron.models.training import NeuronModelForCausalLM
from neuron_shim import parallel_sizes

args = NeuronTrainingArguments("out", tensor_parallel_size=2)
model = NeuronModelForCausalLM.from_pretrained("my/model", args.trn_config)
print(f"ZeRO-1: {parallel_sizes(tp_size=2)['fsdp_size'] > 1}")
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "the same where nothing is sharded",
        """from optimum.neuron import NeuronTrainingArguments

args = NeuronTrainingArguments("out")
print(f"ZeRO-1: {args.zero_1}")
""",
        f"""from optimum.neuron import NeuronTrainingArguments

args = NeuronTrainingArguments("out")
# TODO(neuron-migrate NM150): {_GONE["zero_1"].removesuffix(".")}: {RULE.url}
print(f"ZeRO-1: {{args.zero_1}}")
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "a configuration that only went to the model",
        """from optimum.neuron import NeuronHfArgumentParser, NeuronTrainingArguments
from optimum.neuron.models.training import NeuronModelForCausalLM

parser = NeuronHfArgumentParser(NeuronTrainingArguments)
(training_args,) = parser.parse_args_into_dataclasses()
trn_config = training_args.trn_config
model = NeuronModelForCausalLM.from_pretrained("my/model", trn_config)
print(f"tensor parallel: {training_args.tensor_parallel_size}")
""",
        """from optimum.neuron import NeuronHfArgumentParser, NeuronTrainingArguments
from optimum.neuron.models.training import NeuronModelForCausalLM
from neuron_shim import parallel_sizes

parser = NeuronHfArgumentParser(NeuronTrainingArguments)
(training_args,) = parser.parse_args_into_dataclasses()
model = NeuronModelForCausalLM.from_pretrained("my/model", trn_config)
print(f"tensor parallel: {parallel_sizes()['tp_size']}")
""",
        (
            Outcome.REWRITTEN,
            Outcome.REWRITTEN,
        ),
    ),
    Case(
        "a flag becomes a field of the script",
        """from dataclasses import dataclass

from optimum.neuron import NeuronHfArgumentParser, NeuronTrainingArguments


@dataclass
class ModelArguments:
    name: str


def main():
    parser = NeuronHfArgumentParser((ModelArguments, NeuronTrainingArguments))
    model_args, training_args = parser.parse_args_into_dataclasses()
    if not training_args.overwrite_output_dir:
        print(training_args.evaluation_strategy)
""",
        """from dataclasses import dataclass

from optimum.neuron import NeuronHfArgumentParser, NeuronTrainingArguments


@dataclass
class ModelArguments:
    name: str
    overwrite_output_dir: bool = False


def main():
    parser = NeuronHfArgumentParser((ModelArguments, NeuronTrainingArguments))
    model_args, training_args = parser.parse_args_into_dataclasses()
    if not model_args.overwrite_output_dir:
        print(training_args.eval_strategy)
""",
        (
            Outcome.REWRITTEN,
            Outcome.REWRITTEN,
        ),
    ),
    Case(
        "a configuration that is used otherwise",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments

args = NeuronTrainingArguments("out")
print(args.trn_config)
""",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments

args = NeuronTrainingArguments("out")
# TODO(neuron-migrate NM150): There is no trn_config: the sizes are those of parallel_sizes(), \
and the model gets a distributed_config: \
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
print(args.trn_config)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "arguments that are still there",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments

args = NeuronTrainingArguments("out")
print(args.output_dir, args.bf16, args.seed, args.local_rank)
""",
    ),
    Case(
        "the same attribute of something else",
        """import argparse

from optimum.neuron import NeuronTrainer

args = argparse.ArgumentParser().parse_args()
print(args.tensor_parallel_size, args.overwrite_output_dir)
NeuronTrainer()
""",
    ),
)
