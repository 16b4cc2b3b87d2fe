"""Which classes of transformers and TRL a file uses, under old names too, and where their objects are made."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from neuron_codemods.data.renames import Rename, renames
from neuron_codemods.module import Module, once
from neuron_codemods.targets import spelled
from neuron_codemods.training.configuring import is_configured
from neuron_codemods.training.parallel import trains
from neuron_codemods.values import (
    ARGUMENT_CLASSES,
    TRAINER_CLASSES,
    Arguments,
    arguments_of,
    is_neuron,
    is_parser,
    keyword,
    mappings,
    parsed_classes,
    passed,
)

BASE = "transformers.TrainingArguments"
SEQ2SEQ = "transformers.Seq2SeqTrainingArguments"
CONFIGS = frozenset(renames("keyword")) | {SEQ2SEQ}
TRAINERS = frozenset(renames("parameter")) | {"trl.GRPOTrainer"}
CONFIG_OF = {name: name.replace("Trainer", "Config") for name in TRAINERS if name.startswith("trl.")}
"""The arguments class of each trainer of TRL."""
LIBRARIES = ("transformers", "trl", "datasets", "huggingface_hub", "peft", "accelerate")
_TOP = {name.rpartition(".")[2]: name for name in CONFIGS | TRAINERS}
_CALLBACK = "transformers.TrainerCallback"


def current(module: Module, node: ast.AST) -> str | None:
    """The dotted name that a class of the libraries has now, whatever module of its library it was imported from."""
    native = module.native(node)
    if native is None or native.partition(".")[0] not in LIBRARIES:
        return native
    top = _TOP.get(native.rpartition(".")[2])
    if top is not None and top.partition(".")[0] == native.partition(".")[0]:
        return top
    return native


def uses_libraries(module: Module) -> bool:
    """Whether a file imports one of the libraries, or Optimum Neuron, whose names they have now."""
    return bool(module.neuron_bindings) or any(
        binding.qualified is not None and binding.qualified.partition(".")[0] in LIBRARIES
        for scope in module.names.module.walk()
        for bindings in scope.bindings.values()
        for binding in bindings
    )


def is_of_libraries(module: Module, node: ast.AST) -> bool:
    """Whether an expression is something of the libraries, or a class of this module that derives from it."""
    definition = local_class(module, node)
    kinds = [node] if definition is None else definition.bases
    return any((module.native(kind) or "").partition(".")[0] in LIBRARIES for kind in kinds)


def row(module: Module, config: str, name: str) -> Rename | None:
    """The row for a keyword of an arguments class, or of the class that all derive from.

    None too where the libraries that are written for do not know the new name yet.
    """
    table = renames("keyword")
    found = table.get(config, {}).get(name) or table[BASE].get(name)
    return found if found is None or spelled(module.project, found.new) == found.new else None


@cache
def old_keywords() -> frozenset[str]:
    """Every old keyword of every arguments class."""
    return frozenset(name for table in renames("keyword").values() for name in table)


# Arguments ----------------------------------------------------------------------------------------------------------


@once
def made_configs(module: Module) -> tuple[Arguments, ...]:
    """Every place where arguments of a trainer are made and no rule of training on Neuron sees to them."""
    return tuple(item for item in _made(module) if not is_served(module, item.native))


def is_served(module: Module, native: str) -> bool:
    """Whether the rules of training see to a class here, or have in an earlier run."""
    return native in ARGUMENT_CLASSES | TRAINER_CLASSES and (trains(module) or is_configured(module))


def _made(module: Module) -> Iterator[Arguments]:
    for call in module.calls:
        function = partial_of(module, call) or call.func
        found = config_class(module, function)
        if found is not None:
            literals, unread = mappings(module, call)
            yield Arguments(call, found[0], False, is_neuron(module, function), literals, unread, found[1])
        elif is_parser(module, call):
            for node in parsed_classes(module, call):
                parsed = config_class(module, node)
                if parsed is not None:
                    yield Arguments(call, parsed[0], True, is_neuron(module, node), own=parsed[1])


def partial_of(module: Module, call: ast.Call) -> ast.expr | None:
    """What ``functools.partial(...)`` is given to call later."""
    return call.args[0] if call.args and module.resolve(call.func) == "functools.partial" else None


def config_class(module: Module, node: ast.AST) -> tuple[str, frozenset[str]] | None:
    """The arguments class that an expression is or derives from in this module, and the fields of its own."""
    native = current(module, node)
    if native in CONFIGS:
        return native or "", frozenset()
    definition = local_class(module, node)
    if definition is None:
        return None
    base = next((name for name in (current(module, base) for base in definition.bases) if name in CONFIGS), None)
    own = [item.target.id for item in own_fields(definition)]  # type: ignore[union-attr]
    return (base, frozenset(own)) if base is not None else None


def own_fields(definition: ast.ClassDef) -> list[ast.AnnAssign]:
    """The fields that a class defines itself."""
    return [item for item in definition.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)]


def local_class(module: Module, node: ast.AST) -> ast.ClassDef | None:
    """The definition in this module that a name stands for."""
    binding = module.binding(node) if isinstance(node, ast.Name) else None
    return binding.node if binding is not None and isinstance(binding.node, ast.ClassDef) else None


def config_held(module: Module, node: ast.AST, depth: int = 0) -> tuple[str, frozenset[str]] | None:
    """The arguments class of what an expression holds: ``training_args``, ``self.args`` of a trainer."""
    if depth > 4:
        return None
    if isinstance(node, ast.Attribute) and node.attr == "args":
        trainer = trainer_held(module, node.value)
        return (CONFIG_OF.get(trainer, BASE), frozenset()) if trainer is not None else None
    if isinstance(node, ast.Call):
        return config_class(module, partial_of(module, node) or node.func)
    if not isinstance(node, ast.Name):
        return None
    binding = module.binding(node)
    if binding is None:
        return None
    if isinstance(binding.node, ast.arg):
        if binding.node.annotation is not None:
            return config_class(module, binding.node.annotation)
        if _is_of_callback(module, binding.node):
            return BASE, frozenset()
        found = (config_held(module, value, depth + 1) for value in passed(module, binding.node))
        return next((item for item in found if item is not None), None)
    if binding.value is not None:
        return config_held(module, binding.value, depth + 1)
    made = arguments_of(module, node)
    return (made.native, made.own) if made is not None else None


def _is_of_callback(module: Module, argument: ast.arg) -> bool:
    """Whether a parameter is the ``args`` that a trainer passes to its callbacks."""
    if argument.arg != "args":
        return False
    method = next((above for above in module.ancestors(argument) if isinstance(above, ast.FunctionDef)), None)
    return method is not None and method.name.startswith("on_") and is_method_of(module, method, {_CALLBACK})


# Trainers -----------------------------------------------------------------------------------------------------------


def trainer_class(module: Module, node: ast.AST) -> str | None:
    """The trainer that an expression is or derives from in this module."""
    native = current(module, node)
    if native in TRAINERS:
        return native
    definition = local_class(module, node)
    if definition is None:
        return None
    return next((name for name in (current(module, base) for base in definition.bases) if name in TRAINERS), None)


def trainer_held(module: Module, node: ast.AST) -> str | None:
    """The trainer class of what an expression holds: ``trainer``, or ``self`` in a trainer of this module."""
    if not isinstance(node, ast.Name):
        return None
    binding = module.binding(node)
    if binding is not None and isinstance(binding.value, ast.Call):
        return trainer_class(module, binding.value.func)
    if binding is not None and isinstance(binding.node, ast.arg) and binding.node.annotation is not None:
        return trainer_class(module, binding.node.annotation)
    if node.id == "self":
        definition = next((above for above in module.ancestors(node) if isinstance(above, ast.ClassDef)), None)
        if definition is not None:
            return next((name for base in definition.bases if (name := trainer_class(module, base))), None)
    return None


def is_method_of(module: Module, method: ast.FunctionDef, classes: set[str]) -> bool:
    """Whether a function is a method of a class that derives from one of these."""
    definition = module.parent(method)
    return isinstance(definition, ast.ClassDef) and any(current(module, base) in classes for base in definition.bases)


def is_super_init(module: Module, call: ast.Call) -> str | None:
    """The trainer whose ``__init__`` a call in a derived class is: ``super().__init__(...)``."""
    function = call.func
    if not (isinstance(function, ast.Attribute) and function.attr == "__init__"):
        return None
    inner = function.value
    if not (isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id == "super"):
        return None
    definition = next((above for above in module.ancestors(call) if isinstance(above, ast.ClassDef)), None)
    if definition is None:
        return None
    return next((name for base in definition.bases if (name := trainer_class(module, base))), None)


def args_of(call: ast.Call, position: int = 1) -> ast.expr | None:
    """The arguments object that a trainer is given."""
    given = keyword(call, "args")
    if given is not None:
        return given.value
    return call.args[position] if len(call.args) > position else None
