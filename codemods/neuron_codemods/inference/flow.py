"""Where a value comes from: followed backwards through names, parameters, results of functions and attributes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.module import Module, once
from neuron_codemods.scopes import Binding, Function
from neuron_codemods.values import passed

_DEEPEST = 12
"""How many steps are followed."""
_SAME = frozenset({"eval", "to", "cpu", "cuda", "float", "half", "bfloat16", "detach", "requires_grad_", "copy"})
"""Methods that give back what they were called on, or the same on another device."""
_WRAPPERS = frozenset({"torch.compile", "neuron_shim.compile_static", "torch.no_grad", "copy.copy", "copy.deepcopy"})


def origins(module: Module, node: ast.expr) -> list[ast.expr]:
    """The expressions that a value can come from: calls of what is not defined in this module, literals, ...

    A parameter that nothing in the module is passed for comes back as its name. A name is followed to each of its
    assignments when it is not clear which one counts.
    """
    return list(dict.fromkeys(_origins(module, node, _DEEPEST, set()))) or [node]  # or else it goes in a circle


def _origins(module: Module, node: ast.expr, left: int, seen: set[ast.AST]) -> Iterator[ast.expr]:
    if node in seen:
        return
    seen = seen | {node}
    inner: list[ast.expr] = []
    if isinstance(node, ast.Name):
        inner = _of_name(module, node)
    elif isinstance(node, ast.Attribute):
        inner = _of_attribute(module, node)
    elif isinstance(node, ast.Call):
        inner = _of_call(module, node)
    elif isinstance(node, ast.IfExp):
        inner = [node.body, node.orelse]
    elif isinstance(node, ast.BoolOp):
        inner = node.values
    elif isinstance(node, (ast.Await, ast.NamedExpr, ast.Starred)):
        inner = [node.value]
    if not inner or not left:
        yield node
        return
    for item in inner:
        yield from _origins(module, item, left - 1, seen)


def _of_name(module: Module, node: ast.Name) -> list[ast.expr]:
    binding = module.binding(node)
    home = module.scope(node).home(node.id)
    bindings = [binding] if binding is not None else list(home.bindings[node.id]) if home is not None else []
    return [value for item in bindings for value in _values(module, item)]


def _values(module: Module, binding: Binding) -> list[ast.expr]:
    if isinstance(binding.node, ast.arg):
        return list(passed(module, binding.node))
    if binding.value is not None:
        return [binding.value]
    target, statement = module.parent(binding.node), binding.statement
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(statement, ast.Assign) and target in statement.targets:
        index = target.elts.index(binding.node)  # type: ignore[arg-type]
        if not any(isinstance(item, ast.Starred) for item in target.elts):
            return _elements(module, statement.value, index, len(target.elts))
    return []


def _elements(module: Module, value: ast.expr, index: int, count: int) -> list[ast.expr]:
    """What one variable of an unpacking gets."""
    if isinstance(value, (ast.Tuple, ast.List)):
        return [value.elts[index]] if len(value.elts) == count else []
    if isinstance(value, ast.Call):
        results = returned(module, value)
        return [item for result in results for item in _elements(module, result, index, count)]
    if isinstance(value, ast.Name):
        return [item for found in _of_name(module, value) for item in _elements(module, found, index, count)]
    return []


def _of_attribute(module: Module, node: ast.Attribute) -> list[ast.expr]:
    """What a class assigns to an attribute of its instances (``self.model``), or a module to one written the same."""
    if not isinstance(node.value, ast.Name) or node.value.id not in ("self", "cls"):
        return _assigned(module).get(ast.unparse(node), [])
    owner = next((above for above in module.ancestors(node) if isinstance(above, ast.ClassDef)), None)
    if owner is None:
        return []
    return [
        statement.value
        for statement in ast.walk(owner)
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None
        for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
        if isinstance(target, ast.Attribute)
        and target.attr == node.attr
        and isinstance(target.value, ast.Name)
        and target.value.id == node.value.id
    ]


@once
def _assigned(module: Module) -> dict[str, list[ast.expr]]:
    """What a module assigns to each attribute, by how that is written: ``app.state.model``."""
    found: dict[str, list[ast.expr]] = {}
    for statement in module.names.statements:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Attribute):
                    found.setdefault(ast.unparse(target), []).append(statement.value)
    return found


def _of_call(module: Module, node: ast.Call) -> list[ast.expr]:
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr in _SAME and module.resolve(function) is None:
        return [function.value]
    if (module.resolve(function) or "") in _WRAPPERS:
        return node.args[:1]
    return returned(module, node)


def returned(module: Module, call: ast.Call) -> list[ast.expr]:
    """What the function of this module that a call calls can return."""
    function = definition(module, call)
    if function is None:
        return []
    return [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Return) and node.value is not None and module.function(node) is function
    ]


def definition(module: Module, call: ast.Call) -> Function | None:
    """The function of this module that a call calls, also as a method of the class it stands in."""
    function = call.func
    if isinstance(function, ast.Name):
        binding = module.binding(function)
        node = binding.node if binding is not None else None
        return node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else None
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "self":
        owner = next((above for above in module.ancestors(call) if isinstance(above, ast.ClassDef)), None)
        for item in owner.body if owner is not None else ():
            if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)) and item.name == function.attr:
                return item
    return None
