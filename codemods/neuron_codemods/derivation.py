"""Which class of the native libraries a class of a script is or derives from, also through other files."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache

from neuron_codemods import data
from neuron_codemods.module import Module
from neuron_codemods.project import Derived, bases, init_parameters, own_names

_LONGEST_CHAIN = 8


@dataclass(frozen=True)
class Kind:
    """What a class is natively."""

    native: str
    """The dotted name of the native class."""
    is_neuron: bool
    """Whether the old class was Optimum Neuron's, and not already the native one."""
    way: tuple[Derived, ...] = ()
    """The classes of the project between it and the library, the outermost first."""

    @property
    def own(self) -> frozenset[str]:
        """The fields and methods that the classes of the project define."""
        return frozenset().union(*(derived.own for derived in self.way))

    def passes(self, name: str) -> bool:
        """Whether a keyword given to the class reaches the library under its own name."""
        for derived in self.way:
            if derived.parameters is not None:
                return "**" in derived.parameters and name not in derived.parameters
        return True


def kind_of(module: Module, node: ast.AST, classes: Collection[str]) -> Kind | None:
    """What an expression is, if it is one of these native classes or a class derived from one."""
    return next((kind for kind in _kinds(module, node, _LONGEST_CHAIN) if kind.native in classes), None)


def _kinds(module: Module, node: ast.AST, left: int) -> Iterator[Kind]:
    if not isinstance(node, (ast.Name, ast.Attribute)) or not left:
        return
    native = module.native(node)
    if native is not None:
        qualified = module.resolve(node) or ""
        yield Kind(native, data.is_neuron_module(qualified))
        for base, way in bases(module.project, qualified):
            yield Kind(module.native_name(base) or "", data.is_neuron_module(base), way)
    elif isinstance(node, ast.Name):
        binding = module.binding(node)
        if binding is not None and isinstance(binding.node, ast.ClassDef):
            yield from _above(module, binding.node, left)


def _above(module: Module, definition: ast.ClassDef, left: int) -> Iterator[Kind]:
    derived = Derived((), own_names(definition), init_parameters(definition))
    for base in definition.bases:
        for kind in _kinds(module, base, left - 1):
            yield Kind(kind.native, kind.is_neuron, (derived, *kind.way))


@lru_cache(maxsize=256)
def class_kind(module: Module, definition: ast.ClassDef, classes: frozenset[str]) -> Kind | None:
    """What the definition of a class derives from, if that is one of these native classes."""
    return next((kind for kind in _above(module, definition, _LONGEST_CHAIN) if kind.native in classes), None)


def enclosing_kind(module: Module, node: ast.AST, classes: frozenset[str]) -> Kind | None:
    """The kind of the innermost class around a node, if it derives from one of these native classes."""
    for above in module.ancestors(node):
        if isinstance(above, ast.ClassDef):
            return class_kind(module, above, classes)
    return None
