"""The uses of the classes of compiled models, and of the other names of this room that rules rewrite themselves."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from neuron_codemods.data import Symbol
from neuron_codemods.edits import AnyEdit, RenameAttribute, RenameImport, RenameStar
from neuron_codemods.inference.loads import CONFIG_MAKERS, LOADERS, Problem, is_compiled, loads
from neuron_codemods.module import Module, once
from neuron_codemods.renaming import attributes, imported, star_uses
from neuron_codemods.scopes import Binding
from neuron_codemods.values import is_asked_for

_CHECKS = frozenset({"isinstance", "issubclass"})


@dataclass(frozen=True, eq=False)
class Named:
    """One way by which a module reaches a name: an import, an attribute of an imported module, or a star import."""

    symbol: Symbol
    node: ast.AST
    """What a finding about it points to."""
    edit: AnyEdit
    """The edit that gives it its native name."""
    uses: tuple[ast.AST, ...]
    """The expressions that stand for it."""
    binding: Binding | None = None


def reached(module: Module, accepts: Callable[[Symbol], bool]) -> Iterator[Named]:
    """Each way by which a module reaches a name of the table that ``accepts`` takes."""
    for binding, symbol in imported(module):
        if accepts(symbol):
            nodes = (reference.node for reference in module.references(binding))
            uses = tuple(node for node in nodes if _is_seen(module, binding, node))
            yield Named(symbol, binding.node, RenameImport(binding, symbol.native), uses, binding)
    for owner, node, symbol in attributes(module):
        if accepts(symbol):
            yield Named(symbol, node, RenameAttribute(owner, node, symbol.native), (node,))
    for statement, name, symbol in star_uses(module):
        if accepts(symbol):
            yield Named(symbol, name, RenameStar(name, symbol.native, statement), (name,))


def _is_seen(module: Module, binding: Binding, use: ast.Name) -> bool:
    """Whether a use sees this import, and not another thing that is imported under the same name."""
    seen = module.binding(use)
    return seen is None or seen.qualified == binding.qualified


@dataclass(frozen=True, eq=False)
class CompiledClass:
    """One way by which a module reaches a class of compiled models, with what keeps it from being rewritten."""

    named: Named
    problems: tuple[Problem, ...]


@once
def compiled_classes(module: Module) -> tuple[CompiledClass, ...]:
    by_call = {load.call: load for load in loads(module)}
    found = []
    for named in reached(module, is_compiled):
        problems = [problem for use in named.uses if (problem := _problem(module, named.symbol, use, by_call))]
        found.append(CompiledClass(named, tuple(problems)))
    return tuple(found)


@once
def rewritten_loads(module: Module):  # type: ignore[no-untyped-def]
    """The loads of which class and settings are rewritten: all uses of the class are understood."""
    held = {use for found in compiled_classes(module) if found.problems for use in found.named.uses}
    return tuple(load for load in loads(module) if load.is_understood and load.call.func.value not in held)  # type: ignore[attr-defined]


def _problem(module: Module, symbol: Symbol, use: ast.AST, by_call: dict) -> Problem | None:  # type: ignore[type-arg]
    above = module.parent(use)
    name = symbol.name
    if isinstance(above, ast.Attribute):
        call = module.parent(above)
        if isinstance(call, ast.Call) and call.func is above:
            if above.attr in LOADERS:
                load = by_call.get(call)
                return load.problem if load is not None else _unknown(name, above)
            if above.attr in CONFIG_MAKERS:
                return None if _is_config_of_a_load(by_call, call) else _unused_config(name, call)
        return _unknown(name, above)
    if isinstance(above, ast.ClassDef):
        return Problem(
            use, f"derive the class from {symbol.native} and delete what it overrides for the compiled model."
        )
    if _is_check(module, use) or _is_annotation(module, use) or is_asked_for(module, use):
        return None
    return Problem(
        use,
        f"which class loads the model is decided at run time. Use {symbol.native} here, and where it loads pass "
        "device_map=neuron_shim.neuron_device() in the place of the export, shape and compiler arguments.",
    )


def _unknown(name: str, node: ast.Attribute) -> Problem:
    return Problem(node, f"{name}.{node.attr} has no native form. Load the original model with from_pretrained.")


def _is_config_of_a_load(by_call: dict, call: ast.Call) -> bool:  # type: ignore[type-arg]
    return any(load.config is call and load.is_understood for load in by_call.values())


def _unused_config(name: str, call: ast.Call) -> Problem:
    return Problem(
        call,
        f"{name} has no configuration of the compiled model. Delete the call, and pass dtype and "
        "DistributedConfig(tp_size=...) to from_pretrained.",
    )


def _is_check(module: Module, use: ast.AST) -> bool:
    above = module.parent(use)
    if isinstance(above, (ast.Tuple, ast.BinOp)):
        above = module.parent(above)
    return isinstance(above, ast.Call) and isinstance(above.func, ast.Name) and above.func.id in _CHECKS


def _is_annotation(module: Module, use: ast.AST) -> bool:
    below, above = use, module.parent(use)
    while isinstance(above, ast.expr) and not isinstance(above, ast.Constant):
        below, above = above, module.parent(above)
    if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return above.returns is below
    if isinstance(above, ast.AnnAssign):
        return above.annotation is below
    return isinstance(above, (ast.arg, ast.Constant))  # a constant is an annotation in quotes
