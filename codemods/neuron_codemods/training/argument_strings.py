"""Marks arguments that are read or set by their names in strings, or set after they were made.

`getattr(training_args, "tensor_parallel_size", 1)` and `training_args.to_dict().pop("zero_1")` know nothing of what
moved: the first would silently say 1, the second fails. `training_args.tensor_parallel_size = 8` would change nothing.

https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.data import Keyword, keywords
from neuron_codemods.edits import Change, Edit, RemoveStatement
from neuron_codemods.imports import local_name
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.training.objects import ARGUMENTS, owner
from neuron_codemods.training.parallel import quote, size_text, trains
from neuron_codemods.values import UNKNOWN, arguments_of, is_copied, literal

RULE = Rule(
    code="NM151",
    name="argument-name",
    summary='getattr(training_args, "zero_1"), training_args.zero_1 = ..., to_dict()["zero_1"].',
    url="https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

SIZES = "neuron_shim.parallel_sizes"
_FUNCTIONS = frozenset({"getattr", "hasattr", "setattr", "delattr"})
_METHODS = frozenset({"get", "pop", "setdefault"})
_MORE = ("trn_config", "mp_plugin", "tp_plugin")


def check(module: Module) -> Iterator[Change]:
    if not trains(module):
        return
    for call in module.calls:
        yield from _call(module, call)
    for statement in module.names.statements:
        for node in _targets(statement):
            yield from _target(module, node)
    for node in _subscripts(module):
        yield from _named(node, literal(node.slice))


def _call(module: Module, call: ast.Call) -> Iterator[Change]:
    function = call.func
    if isinstance(function, ast.Name) and function.id in _FUNCTIONS and len(call.args) > 1:
        if module.binding(function) is None and _is_arguments(module, call.args[0]):
            yield from _size(module, call) if function.id == "getattr" else _named(call, literal(call.args[1]))
    elif isinstance(function, ast.Attribute) and function.attr in _METHODS and call.args:
        if is_copied(module, function.value):
            yield from _named(call, literal(call.args[0]))


def _size(module: Module, call: ast.Call) -> Iterator[Change]:
    """``getattr(training_args, "tensor_parallel_size", 1)`` asks for what the launch line says."""
    name = literal(call.args[1])
    if name != "tensor_parallel_size" or not module.is_placed(call):
        yield from _named(call, name)
        return
    sizes = size_text(module, arguments_of(module, call.args[0]), call)
    mark = quote(module, call)
    text = f"{local_name(module, SIZES)}({sizes})[{mark}tp_size{mark}]"
    edit = Edit.replace(module.source.span(call), text)
    message = "The tensor parallel size is that of the launch line."
    yield Change(Outcome.REWRITTEN, call, message, (edit,), (SIZES,))


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, (ast.AugAssign, ast.AnnAssign)) else []


def _target(module: Module, node: ast.expr) -> Iterator[Change]:
    """``training_args.x = ...``"""
    if not isinstance(node, ast.Attribute) or not _is_arguments(module, node.value):
        return
    row, statement = _row(node.attr), module.parent(node)
    if row is not None and row.action == "drop" and _sets_a_literal(statement):
        assert isinstance(statement, ast.Assign)
        edit = RemoveStatement(statement)
        yield Change(Outcome.REVIEW, node, f"{node.attr} goes: nothing reads it natively. {row.reason}", (edit,))
    else:
        yield from _named(node, node.attr)


def _sets_a_literal(statement: ast.AST | None) -> bool:
    return (
        isinstance(statement, ast.Assign) and len(statement.targets) == 1 and literal(statement.value) is not UNKNOWN
    )


def _subscripts(module: Module) -> Iterator[ast.Subscript]:
    """``training_args.to_dict()["x"]``"""
    for constant in module.names.strings:
        above = module.parent(constant)
        if isinstance(above, ast.Subscript) and above.slice is constant and is_copied(module, above.value):
            yield above


def _is_arguments(module: Module, node: ast.expr) -> bool:
    if owner(module, node) == ARGUMENTS:
        return True
    if not isinstance(node, ast.Name) or node.id not in ("training_args", "training_arguments"):
        return False
    binding = module.binding(node)
    return binding is not None and isinstance(binding.node, ast.arg) and binding.node.annotation is None


def _named(node: ast.AST, name: object) -> Iterator[Change]:
    if not isinstance(name, str):
        return
    row = _row(name)
    if row is not None:
        yield Change(Outcome.MANUAL, node, f"{name} is no argument natively. {row.reason}")
    elif name in _MORE:
        message = f"{name} is no argument natively: the model gets a distributed_config where it is loaded."
        yield Change(Outcome.MANUAL, node, message)


def _row(name: str) -> Keyword | None:
    rows = [row for row in keywords("training_arguments").get(name, ()) if row.action != "keep"]
    return rows[0] if rows else None


_HEAD = 'from optimum.neuron import NeuronTrainingArguments\n\nargs = NeuronTrainingArguments("out")\n'
_URL = "https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments"
_XSER = (
    "# TODO(neuron-migrate NM151): use_xser is no argument natively. Delete it: checkpoints are safetensors, and old "
    f"shards must be converted first: {_URL}\n"
)

CASES = (
    Case(
        "by name",
        f'{_HEAD}print(getattr(args, "use_xser", True))\n',
        f'{_HEAD}{_XSER}print(getattr(args, "use_xser", True))\n',
        (Outcome.MANUAL,),
    ),
    Case(
        "set afterwards",
        f"{_HEAD}args.use_xser = False\nargs.use_xser = decide()\n",
        f"{_HEAD}{_XSER}args.use_xser = decide()\n",
        (Outcome.REVIEW, Outcome.MANUAL),
    ),
    Case(
        "in their dictionary",
        f'{_HEAD}options = args.to_dict()\noptions.pop("use_xser")\n',
        f'{_HEAD}options = args.to_dict()\n{_XSER}options.pop("use_xser")\n',
        (Outcome.MANUAL,),
    ),
    Case("an argument that is there", f'{_HEAD}args.seed = 1\nprint(getattr(args, "seed"))\nargs.to_dict()["seed"]\n'),
    Case("another dictionary", f'{_HEAD}options = {{}}\noptions.pop("use_xser", None)\n'),
    Case("another object", f'{_HEAD}model.use_xser = getattr(model, "use_xser")\n'),
    Case(
        "a file without Optimum Neuron",
        'def f(training_args):\n    return getattr(training_args, "zero_1", False)\n',
    ),
)
