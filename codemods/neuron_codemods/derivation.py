"""Which class of the native libraries a class of a script is or derives from, also through other files."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from neuron_codemods import data
from neuron_codemods.module import Module, once
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
    """What an expression is, if it is one of these native classes or a class derived from one.

    A class that is chosen as the script runs (``A if x else B``, ``{"a": A}[x]``) is what the first choice is, if all
    choices are of these.
    """
    if _natives(module, node).isdisjoint(classes):
        return None  # as nearly always: most rules ask this of every call
    return _kind_of(module, node, classes, _LONGEST_CHAIN)


@once
def _natives(module: Module, node: ast.AST) -> set[str]:
    """The dotted names of all native classes that an expression may be or derive from."""
    found: set[str] = set()
    seen: set[ast.AST] = set()
    left: list[ast.AST] = [node]
    while left:
        node = left.pop()
        if node not in seen:
            seen.add(node)
            found.update(kind.native for kind in _all_kinds(module, node))
            left += _all_choices(module, node)
    return found


def _kind_of(module: Module, node: ast.AST, classes: Collection[str], left: int) -> Kind | None:
    found = next((kind for kind in _all_kinds(module, node) if kind.native in classes), None)
    if found is not None:
        return found
    choices = _all_choices(module, node) if left else []  # a name may be a choice of itself
    kinds = [_kind_of(module, choice, classes, left - 1) for choice in choices]
    return kinds[0] if kinds and all(kind is not None for kind in kinds) else None


def called_kind(module: Module, call: ast.Call, classes: Collection[str]) -> Kind | None:
    """What a call makes, or makes later: ``Trainer(...)`` and ``functools.partial(Trainer, ...)``."""
    if is_partial(module, call):
        return kind_of(module, call.args[0], classes)
    return kind_of(module, call.func, classes)


def is_partial(module: Module, call: ast.Call) -> bool:
    """Whether a call is ``functools.partial(...)``, whose first argument is what is called later."""
    return bool(call.args) and module.resolve(call.func) == "functools.partial"


@once
def _all_choices(module: Module, node: ast.AST) -> list[ast.expr]:
    return _choices(module, node)


def _choices(module: Module, node: ast.AST, left: int = 3) -> list[ast.expr]:
    """The expressions of which one is chosen."""
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.Subscript):
        return _values(module, node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        values = _values(module, node.func.value)
        return [*values, *node.args[1:]] if values else []
    if isinstance(node, ast.Name) and left:
        binding = module.binding(node)
        bindings = binding.scope.bindings[binding.name] if binding is not None else []
        if binding is not None and isinstance(binding.node, ast.arg):
            return _passed(module, binding.node)
        if len(bindings) > 1 and all(isinstance(item.node, ast.Name) and item.value is not None for item in bindings):
            return [item.value for item in bindings if item.value is not None and not _is_none(item.value)]
        if binding is not None and binding.value is not None and isinstance(binding.node, ast.Name):
            return _choices(module, binding.value, left - 1)
    return []


def _passed(module: Module, parameter: ast.arg) -> list[ast.expr]:
    """What a function of this file is given for a parameter, if each of its calls is in sight."""
    function = next((above for above in module.ancestors(parameter) if isinstance(above, ast.FunctionDef)), None)
    if function is None or module.parent(function) is not module.source.tree or function.decorator_list:
        return []
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    bindings = module.names.module.bindings.get(function.name, [])
    if parameter.arg not in names or len(bindings) != 1 or module.is_offered(function.name):
        return []
    index = names.index(parameter.arg)
    given: list[ast.expr] = []
    for reference in module.references(bindings[0]):
        call = module.parent(reference.node)
        if not isinstance(call, ast.Call) or call.func is not reference.node:
            return []
        named = [item.value for item in call.keywords if item.arg == parameter.arg]
        place = named[0] if named else call.args[index] if index < len(call.args) else None
        if place is None or any(isinstance(item, ast.Starred) for item in call.args):
            return []
        given.append(place)
    return given


def _values(module: Module, node: ast.expr) -> list[ast.expr]:
    """The values of a mapping that is written out."""
    if isinstance(node, ast.Name):
        binding = module.binding(node)
        if binding is None or binding.value is None or len(binding.scope.bindings[binding.name]) > 1:
            return []
        node = binding.value
    return list(node.values) if isinstance(node, ast.Dict) else []


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


@once
def _all_kinds(module: Module, node: ast.AST) -> tuple[Kind, ...]:
    return tuple(_kinds(module, node, _LONGEST_CHAIN))


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


@once
def class_kind(module: Module, definition: ast.ClassDef, classes: frozenset[str]) -> Kind | None:
    """What the definition of a class derives from, if that is one of these native classes."""
    return next((kind for kind in _above(module, definition, _LONGEST_CHAIN) if kind.native in classes), None)


def enclosing_kind(module: Module, node: ast.AST, classes: frozenset[str]) -> Kind | None:
    """The kind of the innermost class around a node, if it derives from one of these native classes."""
    for above in module.ancestors(node):
        if isinstance(above, ast.ClassDef):
            return class_kind(module, above, classes)
    return None
