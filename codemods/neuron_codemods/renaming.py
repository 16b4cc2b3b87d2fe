"""From the table of names to changes: every import of an Optimum Neuron name, and every use through a module."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator
from functools import cache

from neuron_codemods.data import Symbol, all_symbols
from neuron_codemods.edits import Change, EraseAttribute, EraseImport, RenameAttribute, RenameImport, RenameStar
from neuron_codemods.imports import is_unused, must_keep_name, why_wanted
from neuron_codemods.model import Outcome
from neuron_codemods.module import Module, once
from neuron_codemods.scopes import Binding

Accepts = Callable[[Symbol], bool]
_CALLED_OTHERWISE = frozenset({"model-inference", "pipeline", "sentence-transformers"})


def renamed(module: Module, accepts: Accepts) -> Iterator[Change]:
    """A change for each name that has a native one and that ``accepts`` takes."""
    for binding, symbol in imported(module):
        if symbol.rename and accepts(symbol):
            yield Change(
                _outcome(module, binding, symbol),
                binding.node,
                _message(module, binding, symbol),
                (RenameImport(binding, symbol.native),),
            )
    for binding, node, symbol in attributes(module):
        if symbol.rename and accepts(symbol):
            edit = RenameAttribute(binding, node, symbol.native)
            yield Change(symbol.outcome, node, symbol.message, (edit,))
    for statement, name, symbol in star_uses(module):
        if symbol.rename and accepts(symbol):
            yield Change(symbol.outcome, name, symbol.message, (RenameStar(name, symbol.native, statement),))


def is_called_otherwise(symbol: Symbol) -> bool:
    """Whether a name is rewritten only together with its calls, by the rules of its room: a class or a pipeline."""
    compiled = symbol.name == "pipeline" or (symbol.name.startswith("Neuron") and symbol.kind == "class")
    return symbol.category in _CALLED_OTHERWISE and compiled and bool(symbol.rename)


def _outcome(module: Module, binding: Binding, symbol: Symbol) -> Outcome:
    if binding.name == symbol.name and must_keep_name(module, binding) is not None:
        return Outcome.REVIEW
    return symbol.outcome


def _message(module: Module, binding: Binding, symbol: Symbol) -> str:
    kept = must_keep_name(module, binding) if binding.name == symbol.name else None
    if kept is None:
        return symbol.message
    return f"{symbol.message} The old name stays as an alias: {kept}."


def without_native(module: Module, categories: Collection[str], others: Collection[str] = ()) -> Iterator[Change]:
    """A change for each name of these categories that has no native one: an unused import goes, else it is marked.

    ``others`` are the names that have a rule of their own.
    """
    for binding, symbol in imported(module):
        if symbol.rename or symbol.category not in categories or symbol.name in others:
            continue
        if symbol.dropped and is_unused(module, binding):
            message = f"The import of {symbol.name} is erased: nothing uses it and it has no counterpart."
            yield Change(Outcome.REWRITTEN, binding.node, message, (EraseImport(binding),))
        else:
            yield Change(Outcome.MANUAL, binding.node, _named(symbol))
    for _, node, symbol in attributes(module):
        if not symbol.rename and symbol.category in categories and symbol.name not in others:
            yield Change(Outcome.MANUAL, node, _named(symbol))
    for _, name, symbol in star_uses(module):
        if not symbol.rename and symbol.category in categories and symbol.name not in others:
            yield Change(Outcome.MANUAL, name, _named(symbol))


def erased(module: Module, names: Collection[str], gone: Collection[ast.AST]) -> Iterator[Change]:
    """For names whose uses other edits take away: the import goes with the last use, what is left is marked."""
    for binding, symbol in imported(module):
        if symbol.name not in names:
            continue
        left = [reference for reference in module.references(binding) if reference.node not in gone]
        alone = all(other.is_import for other in binding.scope.bindings[binding.name])
        if left or not alone or why_wanted(module, binding) is not None:
            yield Change(Outcome.MANUAL, binding.node, _named(symbol))
        else:
            message = f"The import of {symbol.name} is erased: nothing uses it any more."
            yield Change(Outcome.REWRITTEN, binding.node, message, (EraseImport(binding),))
    for binding, node, symbol in attributes(module):
        if symbol.name in names:
            if node in gone:
                message = f"This use of {symbol.name} is gone."
                yield Change(Outcome.REWRITTEN, node, message, (EraseAttribute(binding, node),))
            else:
                yield Change(Outcome.MANUAL, node, _named(symbol))
    for _, name, symbol in star_uses(module):
        if symbol.name in names and name not in gone:
            yield Change(Outcome.MANUAL, name, _named(symbol))


def _named(symbol: Symbol) -> str:
    return symbol.message if symbol.name in symbol.message else f"{symbol.name}: {symbol.message}"


@once
def imported(module: Module) -> tuple[tuple[Binding, Symbol], ...]:
    """The names imported one by one (``from optimum.neuron import X``), with their rows of the table."""
    pairs = ((binding, module.split(binding.qualified)) for binding in module.neuron_bindings)
    return tuple(
        (binding, found[0])
        for binding, found in pairs
        if found is not None and not found[1] and found[0].kind != "module"
    )


@cache
def known_modules() -> frozenset[str]:
    """Every module of Optimum Neuron that exposed a name, and the packages around them."""
    modules: set[str] = set()
    for symbol in all_symbols():
        parts = symbol.module.split(".")
        modules.update(".".join(parts[:length]) for length in range(2, len(parts) + 1))
    return frozenset(modules)


@once
def module_bindings(module: Module) -> tuple[Binding, ...]:
    """The imports that bind a whole module of Optimum Neuron."""
    named = {binding for binding, _ in imported(module)}
    return tuple(binding for binding in module.neuron_bindings if binding not in named)


def attributes(module: Module) -> Iterator[tuple[Binding, ast.Attribute, Symbol]]:
    """The uses of a name through its module (``optimum.neuron.X``), with their rows of the table."""
    for binding in module_bindings(module):
        for reference in module.references(binding):
            node: ast.AST | None = module.parent(reference.node)
            while isinstance(node, ast.Attribute):
                found = module.split(module.resolve(node))
                if found is not None and not found[1] and found[0].kind != "module":
                    if module.is_placed(node):
                        yield binding, node, found[0]
                    break
                node = module.parent(node)


def star_uses(module: Module) -> Iterator[tuple[ast.ImportFrom, ast.Name, Symbol]]:
    """The uses of names that can only have come from ``from optimum.neuron import *``."""
    stars = {
        node.module: node
        for node in module.names.imports
        if isinstance(node, ast.ImportFrom) and node.module in module.star_modules and node.names[0].name == "*"
    }
    if not stars:
        return
    for reference in module.names.unresolved():
        found = module.split(module.resolve(reference.node))
        if found is not None and not found[1] and found[0].module in stars:
            yield stars[found[0].module], reference.node, found[0]
