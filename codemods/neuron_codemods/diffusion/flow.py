"""Where a loaded pipeline goes in one file: the variables, attributes, parameters and results that may hold it.

``origins`` answers what an expression may hold, going backwards; ``escapes`` finds the places where a pipeline is
handed on to code that cannot be seen.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from functools import cached_property

from neuron_codemods.diffusion.given import owner_class
from neuron_codemods.module import Module
from neuron_codemods.scopes import Binding
from neuron_codemods.values import keyword, passed

Function = ast.FunctionDef | ast.AsyncFunctionDef
Origins = frozenset[ast.Call]

ELSEWHERE = ast.Call(ast.Name("elsewhere", ast.Load()), [], [])
"""Stands in for anything that is not one of the loads that are followed."""
_NOTHING: Origins = frozenset()
_OTHER: Origins = frozenset({ELSEWHERE})
_RETURNS_ITSELF = frozenset({"to"})
_ONLY_LOOK = frozenset(
    {"print", "isinstance", "type", "id", "repr", "str", "hasattr", "getattr", "setattr", "callable", "vars", "dir"}
)
_FORWARDERS = frozenset({"functools.partial", "asyncio.to_thread"})
_CALLED = (ast.Subscript, ast.NamedExpr, ast.IfExp, ast.BoolOp)
"""What else than a name, an attribute and a call may give what is called."""
_DEEPEST = 12


class Flow:
    """The ways of the values that some calls of a module make."""

    def __init__(self, module: Module, loads: Collection[ast.Call], derived: dict[ast.Call, ast.expr]) -> None:
        self.module = module
        self.loads = frozenset(loads)
        self.derived = derived
        """Calls that make a pipeline out of another one (``from_pipe``), with the expression of that one."""
        self._known: dict[ast.AST, Origins] = {}

    # Backwards ------------------------------------------------------------------------------------------------------

    def origins(self, node: ast.AST, depth: int = 0) -> Origins:
        """The loads that an expression may be the result of, and ``ELSEWHERE`` if it may be something else."""
        if node in self._known:
            return self._known[node]
        if depth > _DEEPEST:
            return _OTHER
        self._known[node] = _NOTHING  # a value that goes in a circle adds nothing
        found = self._origins(node, depth + 1)
        if depth == 0:
            self._known = {}
        else:
            self._known[node] = found
        return found

    def _origins(self, node: ast.AST, depth: int) -> Origins:
        if isinstance(node, ast.Constant) and node.value is None:
            return _NOTHING
        if isinstance(node, ast.Call):
            return self._of_call(node, depth)
        if isinstance(node, ast.Name):
            return self._of_name(node, depth)
        if isinstance(node, ast.Attribute):
            return self._of_attribute(node, depth)
        if isinstance(node, ast.Subscript):
            return self._union(self.assigned(node), depth)
        if isinstance(node, ast.IfExp):
            return self._union([node.body, node.orelse], depth)
        if isinstance(node, ast.BoolOp):
            return self._union(node.values, depth)
        if isinstance(node, ast.NamedExpr):
            return self.origins(node.value, depth)
        return _OTHER

    def _union(self, nodes: Collection[ast.AST], depth: int) -> Origins:
        if not nodes:
            return _OTHER
        return frozenset().union(*(self.origins(node, depth) for node in nodes))

    def _of_call(self, node: ast.Call, depth: int) -> Origins:
        if node in self.loads:
            return frozenset({node})
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in _RETURNS_ITSELF:
            return self.origins(function.value, depth)
        definition = self.definition(node)
        if definition is None:
            return _OTHER
        results = [value for value in self._results(definition) if value is not None]
        return self._union(results, depth)

    def _results(self, definition: Function) -> list[ast.expr | None]:
        return [
            node.value
            for node in self.module.names.statements
            if isinstance(node, ast.Return) and self.module.function(node) is definition
        ]

    def definition(self, call: ast.Call) -> Function | None:
        """The function or method of this module that a call calls."""
        function = call.func
        if isinstance(function, ast.Name):
            binding = self.module.binding(function)
            node = binding.node if binding is not None else None
            return node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else None
        if isinstance(function, ast.Attribute):
            owner = owner_class(self.module, function.value)
            for statement in owner.body if owner is not None else ():
                if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and statement.name == function.attr:
                    return None if self._is_property(statement) else statement
        return None

    def _is_property(self, function: Function) -> bool:
        names = (self.module.resolve(item) or ast.unparse(item) for item in function.decorator_list)
        return any(name in ("property", "functools.cached_property") for name in names)

    def _of_name(self, node: ast.Name, depth: int) -> Origins:
        bindings = self._reaching(node)
        if not bindings:
            return _OTHER
        found: Origins = _NOTHING
        for binding in bindings:
            found |= self._of_binding(binding, depth)
        return found

    def _of_binding(self, binding: Binding, depth: int) -> Origins:
        if binding.value is not None and isinstance(binding.node, ast.Name):
            return self.origins(binding.value, depth)
        if isinstance(binding.node, ast.arg):
            return self._of_parameter(binding.node, depth)
        if isinstance(binding.statement, ast.AnnAssign) and binding.statement.value is None:
            return _NOTHING
        return _OTHER

    def _of_parameter(self, parameter: ast.arg, depth: int) -> Origins:
        return self._union(self.given_for(parameter), depth)

    def given_for(self, parameter: ast.arg) -> list[ast.expr]:
        """What the calls in this module pass for a parameter, also those of methods and of SageMaker's handlers."""
        values = list(passed(self.module, parameter))
        functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        function = next(above for above in self.module.ancestors(parameter) if isinstance(above, functions))
        if isinstance(function, ast.Lambda):
            return values
        if isinstance(self.module.parent(function), ast.ClassDef):
            for call in self.module.calls:
                made = self._arguments_of_method(call, function)
                if made is not None:
                    value = _passed_to(made, function, parameter)
                    values += [value] if value is not None else []
        if not values and function.name == "predict_fn" and _index(function, parameter) == 1:
            handler = self.module.names.module.bindings.get("model_fn", [])
            for binding in handler:
                if isinstance(binding.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    values += [value for value in self._results(binding.node) if value is not None]
        return values

    def _arguments_of_method(self, call: ast.Call, function: Function) -> ast.Call | None:
        if self.definition(call) is function:
            return call
        if function.name == "__init__" and isinstance(call.func, ast.Name):
            binding = self.module.binding(call.func)
            if binding is not None and binding.node is self.module.parent(function):
                return call
        return None

    def _of_attribute(self, node: ast.Attribute, depth: int) -> Origins:
        values: list[ast.AST] = list(self.assigned(node))
        owner = owner_class(self.module, node.value)
        if owner is not None:
            for statement in owner.body:
                if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and statement.name == node.attr:
                    if self._is_property(statement):
                        values += [value for value in self._results(statement) if value is not None]
                if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
                    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                    if any(isinstance(target, ast.Name) and target.id == node.attr for target in targets):
                        values.append(statement.value)
        return self._union(values, depth)

    def assigned(self, node: ast.expr) -> list[ast.expr]:
        """What is assigned to an attribute or an entry, wherever the module writes it the same way."""
        key = self._place(node)
        return self._assigned.get(key, []) if key is not None else []

    @cached_property
    def _assigned(self) -> dict[tuple[object, str], list[ast.expr]]:
        found: dict[tuple[object, str], list[ast.expr]] = {}
        for statement in self.module.names.statements:
            if isinstance(statement, ast.Assign):
                targets, value = statement.targets, statement.value
            elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
                targets, value = [statement.target], statement.value
            else:
                continue
            for target in targets:
                key = self._place(target)
                if key is not None:
                    found.setdefault(key, []).append(value)
        return found

    def _place(self, node: ast.expr) -> tuple[object, str] | None:
        """What tells an attribute or entry from others: its class and name, or how it is written."""
        if isinstance(node, ast.Attribute):
            owner = owner_class(self.module, node.value)
            return (owner, node.attr) if owner is not None else (None, ast.unparse(node))
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            return None, ast.unparse(node)
        return None

    def _reaching(self, node: ast.Name) -> list[Binding]:
        """The bindings that a use of a name may see: those before it, back to one that is always made."""
        home = self.module.scope(node).home(node.id)
        if home is None:
            return []
        bindings = sorted(home.bindings[node.id], key=lambda item: (item.statement.lineno, item.statement.col_offset))
        if home is not self.module.scope(node):
            return bindings
        around = {id(self.module.statement(node)), *map(id, self.module.ancestors(node))}
        found: list[Binding] = []
        own = self.module.statement(node)
        for binding in reversed(bindings):
            statement = binding.statement
            if statement is own and not isinstance(self.module.parent(binding.node), ast.NamedExpr):
                if not isinstance(own, (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.FunctionDef)):
                    continue
            if (statement.lineno, statement.col_offset) > (node.lineno, node.col_offset):
                continue
            found.append(binding)
            above = self.module.parent(statement)
            is_always = id(above) in around and not self._in_other_branch(statement, own)
            if is_always or isinstance(binding.node, ast.arg):
                break
        turns = (ast.For, ast.AsyncFor, ast.While)
        is_repeated = any(isinstance(above, turns) for above in self.module.ancestors(own))
        return bindings if is_repeated and not found else found

    def _in_other_branch(self, statement: ast.stmt, own: ast.stmt) -> bool:
        """Whether a statement stands in a branch of an ``if`` or ``try`` that the other is not in."""
        above = self.module.parent(statement)
        if isinstance(above, ast.Module) or not isinstance(above, ast.stmt):
            return False
        block = self.module.block(statement)
        around = [own, *self.module.ancestors(own)]
        return not any(item in block for item in around if isinstance(item, ast.stmt))

    # Forwards -------------------------------------------------------------------------------------------------------

    @cached_property
    def uses(self) -> list[tuple[ast.expr, Origins]]:
        """Every expression that may hold one of the loads, with these."""
        if not self.loads:
            return []
        found: list[tuple[ast.expr, Origins]] = []
        nodes: list[ast.expr] = [*self.loads]
        nodes += [reference.node for scope in self.module.names.module.walk() for reference in scope.references]
        nodes += [node for node in self.module.names.attributes if isinstance(node.ctx, ast.Load)]
        nodes += [call for call in self.module.calls if call not in self.loads]
        nodes += [call.func for call in self.module.calls if isinstance(call.func, _CALLED)]
        for node in nodes:
            origins = self.origins(node)
            if origins & self.loads:
                found.append((node, origins))
        return found

    def calls(self) -> Iterator[tuple[ast.Call, Origins]]:
        """The calls of pipelines, each with the loads that may be called there."""
        for node, origins in self.uses:
            above = self.module.parent(node)
            if isinstance(above, ast.Call) and (above.func is node or self.forwards(above, node)):
                yield above, origins

    def forwards(self, call: ast.Call, node: ast.expr) -> bool:
        """Whether a call calls its first argument with the others, as ``partial`` and ``pool.submit`` do."""
        if not call.args or call.args[0] is not node:
            return False
        is_submit = isinstance(call.func, ast.Attribute) and call.func.attr == "submit"
        return is_submit or self.module.resolve(call.func) in _FORWARDERS

    def members(self) -> Iterator[tuple[ast.Attribute, Origins]]:
        """The attributes of pipelines that are read or set."""
        for node, origins in self.uses:
            above = self.module.parent(node)
            if isinstance(above, ast.Attribute) and above.value is node:
                yield above, origins

    def escapes(self) -> Iterator[tuple[ast.expr, Origins, str]]:
        """The places where a pipeline is handed on to code that is not seen, and how to call that."""
        for node, origins in self.uses:
            how = self._escape(node)
            if how is not None:
                yield node, origins & self.loads, how

    def _escape(self, node: ast.expr) -> str | None:
        above = self.module.parent(node)
        if isinstance(above, ast.Call):
            if above.func is node or above in self.derived or self._only_looks(above) or self.forwards(above, node):
                return None
            return None if self._is_followed(above, node) else "given to other code"
        if isinstance(above, ast.keyword):
            call = self.module.parent(above)
            if isinstance(call, ast.Call):
                if above.arg is None or call in self.derived:
                    return None
                return None if self._is_followed(call, node) else "given to other code"
        if isinstance(above, ast.Return):
            return self._escape_of_result(above)
        if isinstance(above, (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Yield, ast.Starred)):
            return "put into a collection" if not isinstance(above, ast.Yield) else "yielded"
        if isinstance(above, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            return "put into a collection"
        if isinstance(above, ast.Lambda):
            return "returned by a lambda"
        if isinstance(above, (ast.Assign, ast.AnnAssign)) and above.value is node:
            targets = above.targets if isinstance(above, ast.Assign) else [above.target]
            for target in targets:
                if not isinstance(target, ast.Name) and self._place(target) is None:
                    return "put into a collection"
        return None

    def _only_looks(self, call: ast.Call) -> bool:
        return isinstance(call.func, ast.Name) and call.func.id in _ONLY_LOOK

    def _is_followed(self, call: ast.Call, node: ast.expr) -> bool:
        """Whether a call passes a value on to a parameter of a function of this module."""
        definition = self.definition(call)
        if definition is None and isinstance(call.func, ast.Name):
            binding = self.module.binding(call.func)
            if binding is not None and isinstance(binding.node, ast.ClassDef):
                definition = next(
                    (
                        item
                        for item in binding.node.body
                        if isinstance(item, ast.FunctionDef) and item.name == "__init__"
                    ),
                    None,
                )
        if definition is None:
            return False
        parameters = [*definition.args.posonlyargs, *definition.args.args, *definition.args.kwonlyargs]
        return any(_passed_to(call, definition, parameter) is node for parameter in parameters)

    def _escape_of_result(self, statement: ast.Return) -> str | None:
        function = self.module.function(statement)
        if function is None:
            return None
        if any(self.definition(call) is function for call in self.module.calls):
            return None
        if self._is_property(function) and isinstance(self.module.parent(function), ast.ClassDef):
            return None  # read through the attribute
        if function.name == "model_fn" and "predict_fn" in self.module.names.module.bindings:
            return None
        return f"returned by {function.name}"


def _passed_to(call: ast.Call, function: Function, parameter: ast.arg) -> ast.expr | None:
    """The argument of a call for a parameter; a method's first parameter is not in the call."""
    given = keyword(call, parameter.arg)
    if given is not None:
        return given.value
    index = _index(function, parameter)
    if index is None:
        return None
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    if names and names[0] in ("self", "cls"):
        index -= 1
    return call.args[index] if 0 <= index < len(call.args) else None


def _index(function: Function, parameter: ast.arg) -> int | None:
    parameters = [*function.args.posonlyargs, *function.args.args]
    return parameters.index(parameter) if parameter in parameters else None
