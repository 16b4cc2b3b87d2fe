"""The keywords a call is given, those in mappings (``**input_shapes``) included, and where each is written."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from neuron_codemods.edits import Holder
from neuron_codemods.module import Module
from neuron_codemods.scopes import Binding
from neuron_codemods.values import entries, literal, passed, visible, without_str

_READING = frozenset({"get", "items", "keys", "values", "copy"})
_DEEPEST = 8


@dataclass(frozen=True, eq=False)
class Splat:
    """One ``**mapping`` of a call whose entries are known."""

    keyword: ast.keyword
    binding: Binding | None
    """The variable that holds the mapping, if one does."""
    literal: Holder | None
    """The ``{...}`` or ``dict(...)`` that can be changed, because it serves for this call alone."""


@dataclass(frozen=True, eq=False)
class Given:
    """One keyword of a call."""

    name: str
    value: ast.expr
    entry: ast.keyword
    """Where it is written: a keyword of the call, or an entry of a mapping."""
    splat: Splat | None = None
    is_elsewhere: bool = False
    """Whether another file says it; the value is a constant then."""

    @property
    def shown(self) -> str:
        """The text of a constant."""
        value = literal(self.value)
        return f'"{value}"' if isinstance(value, str) else repr(value)


def elsewhere(name: str, value: str | int) -> Given:
    """A keyword that another file says."""
    constant = ast.Constant(value)
    return Given(name, constant, ast.keyword(name, constant), is_elsewhere=True)


@dataclass(frozen=True, eq=False)
class Arguments:
    """All keywords of a call."""

    call: ast.Call
    given: dict[str, Given] = field(default_factory=dict)
    splats: tuple[Splat, ...] = ()
    unknown: ast.keyword | None = None
    """A ``**mapping`` that cannot be read."""


def arguments(module: Module, call: ast.Call) -> Arguments:
    """The keywords of a call; where a mapping cannot be read, only that it is there."""
    given: dict[str, Given] = {}
    splats = []
    for item in call.keywords:
        if item.arg is not None:
            given[item.arg] = Given(item.arg, item.value, item)
            continue
        found = _read(module, item.value)
        if found is None:
            for entry in entries(item.value) if isinstance(item.value, ast.Dict) else ():
                if entry.arg is not None:
                    given[entry.arg] = Given(entry.arg, entry.value, entry)
            return Arguments(call, given, unknown=item)
        binding = _variable(module, item.value)
        splat = Splat(item, binding, _own_literal(module, item, binding))
        splats.append(splat)
        for entry in found:
            assert entry.arg is not None
            given[entry.arg] = Given(entry.arg, entry.value, entry, splat)
    return Arguments(call, given, tuple(splats))


# Reading mappings ---------------------------------------------------------------------------------------------------


def _read(module: Module, node: ast.expr, depth: int = 0) -> list[ast.keyword] | None:
    """The entries of a mapping, a later one of a name after an earlier one; None when they cannot be told."""
    if depth > _DEEPEST:
        return None
    if isinstance(node, ast.Name):
        binding = _variable(module, node)
        if binding is None or binding.value is None or is_changed(module, binding):
            return None
        return _read(module, binding.value, depth + 1)
    if isinstance(node, ast.Attribute):
        value = class_attribute(module, node)
        return _read(module, value, depth + 1) if value is not None else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _joined([_read(module, side, depth + 1) for side in (node.left, node.right)])
    if isinstance(node, ast.Dict):
        return _joined(
            [
                _read(module, value, depth + 1) if key is None else [entry] if entry.arg is not None else None
                for key, value, entry in zip(node.keys, node.values, entries(node), strict=True)
            ]
        )
    if is_dict_call(module, node):
        assert isinstance(node, ast.Call)
        return _joined(
            [
                *(_read(module, argument, depth + 1) for argument in node.args),
                *([item] if item.arg is not None else _read(module, item.value, depth + 1) for item in node.keywords),
            ]
        )
    return None


def _joined(parts: list[list[ast.keyword] | None]) -> list[ast.keyword] | None:
    found: list[ast.keyword] = []
    for part in parts:
        if part is None:
            return None
        found += part
    return found


def is_dict_call(module: Module, node: ast.AST) -> bool:
    """Whether an expression calls the builtin ``dict`` with at most one mapping."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict"):
        return False
    return len(node.args) < 2 and module.binding(node.func) is None


def _variable(module: Module, node: ast.expr) -> Binding | None:
    """The one place where the name that a mapping is read from gets its value."""
    if not isinstance(node, ast.Name):
        return None
    binding = module.binding(node)
    if binding is None or not isinstance(binding.node, ast.Name) or len(binding.scope.bindings[binding.name]) != 1:
        return None
    return binding


def is_changed(module: Module, binding: Binding) -> bool:
    """Whether the mapping in a variable may get other entries after it is made."""
    for reference in module.references(binding):
        above = module.parent(reference.node)
        if isinstance(above, ast.Subscript) and above.value is reference.node and not isinstance(above.ctx, ast.Load):
            return True
        if isinstance(above, ast.Attribute) and above.attr not in _READING:
            return True
    return False


def class_attribute(module: Module, node: ast.Attribute) -> ast.expr | None:
    """The value that ``self.X``, ``cls.X`` or ``Class.X`` has from the body of its class, if it is only set there."""
    owner = owner_class(module, node.value)
    if owner is None:
        return None
    set_elsewhere = any(
        other.attr == node.attr and not isinstance(other.ctx, ast.Load) for other in module.names.attributes
    )
    values = [
        statement.value
        for statement in owner.body
        if isinstance(statement, (ast.Assign, ast.AnnAssign))
        for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
        if isinstance(target, ast.Name) and target.id == node.attr
    ]
    return values[0] if len(values) == 1 and not set_elsewhere else None


def owner_class(module: Module, node: ast.expr) -> ast.ClassDef | None:
    """The class of this module that ``self``, ``cls``, its own name or an instance of it stands for."""
    if not isinstance(node, ast.Name):
        return None
    binding = module.binding(node)
    if binding is None:
        return None
    if isinstance(binding.node, ast.ClassDef):
        return binding.node
    if isinstance(binding.node, ast.arg):
        function = next(
            (
                above
                for above in module.ancestors(binding.node)
                if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef))
            ),
            None,
        )
        if function is None or _first_parameter(function) is not binding.node:
            return None
        above = module.parent(function)
        return above if isinstance(above, ast.ClassDef) else None
    if isinstance(binding.value, ast.Call) and isinstance(binding.value.func, ast.Name):
        made = module.binding(binding.value.func)
        return made.node if made is not None and isinstance(made.node, ast.ClassDef) else None
    return None


def _first_parameter(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.arg | None:
    parameters = [*function.args.posonlyargs, *function.args.args]
    return parameters[0] if parameters else None


def _own_literal(module: Module, item: ast.keyword, binding: Binding | None) -> Holder | None:
    node: ast.expr | None = item.value
    if isinstance(node, ast.Name):
        if binding is None or [reference.node for reference in module.references(binding)] != [node]:
            return None
        node = binding.value
    if isinstance(node, ast.Dict) and all(entry.arg is not None for entry in entries(node)):
        return node
    if node is not None and is_dict_call(module, node):
        assert isinstance(node, ast.Call)
        return node if not node.args and all(entry.arg is not None for entry in node.keywords) else None
    return None


# Writing a value elsewhere ------------------------------------------------------------------------------------------


def text_at(module: Module, given: Given, at: ast.AST) -> str | None:
    """How to write a value at another place; None when what it is made of cannot be seen from there."""
    value = given.value
    if given.is_elsewhere:
        return given.shown
    if is_repeatable(module, value):
        if _is_seen(module, value, at):
            return module.source.segment(value)
        known = known_literal(module, value)
        return module.source.segment(known) if known is not None else None
    return entry_text(module, given, at)


def entry_text(module: Module, given: Given, at: ast.AST) -> str | None:
    """How to read a value from the variable that holds its mapping."""
    binding = given.splat.binding if given.splat is not None else None
    if binding is not None and module.scope(at).home(binding.name) is binding.scope:
        return f'{binding.name}["{given.name}"]'
    return None


def known_literal(module: Module, node: ast.expr) -> ast.expr | None:
    """The literal that an expression is or, through names that are bound once, stands for."""
    for _ in range(_DEEPEST):
        if isinstance(node, (ast.Constant, ast.List, ast.Tuple, ast.UnaryOp)):
            return node
        binding = _variable(module, node)
        if binding is None or binding.value is None:
            break
        node = binding.value
    return None


def constant_of(module: Module, node: ast.expr) -> object:
    """The value of a literal, also behind names; ``values.UNKNOWN`` when there is none."""
    return literal(known_literal(module, node))


def is_repeatable(module: Module, node: ast.expr) -> bool:
    """Whether an expression may be written twice: it has no effect and gives the same each time."""
    if isinstance(node, (ast.Constant, ast.Name)):
        return True
    if isinstance(node, ast.Attribute):
        return is_repeatable(module, node.value)
    if isinstance(node, (ast.Tuple, ast.List)):
        return all(is_repeatable(module, item) for item in node.elts)
    if isinstance(node, ast.UnaryOp):
        return is_repeatable(module, node.operand)
    if isinstance(node, ast.BinOp):
        return is_repeatable(module, node.left) and is_repeatable(module, node.right)
    if isinstance(node, ast.Subscript):
        return is_repeatable(module, node.value) and isinstance(node.slice, ast.Constant)
    if isinstance(node, ast.JoinedStr):
        return all(
            isinstance(part, ast.Constant)
            or (isinstance(part, ast.FormattedValue) and is_repeatable(module, part.value))
            for part in node.values
        )
    if isinstance(node, ast.Call):
        function = module.resolve(node.func) or (node.func.id if isinstance(node.func, ast.Name) else "")
        known = function in _PURE and (function.startswith("os.") or module.binding(node.func) is None)  # type: ignore
        return known and not node.keywords and all(is_repeatable(module, argument) for argument in node.args)
    return False


_PURE = frozenset({"int", "float", "str", "os.getenv", "os.environ.get", "os.path.join"})


def _is_seen(module: Module, node: ast.expr, at: ast.AST) -> bool:
    """Whether an expression means the same at another place; ``self`` does in all methods of a class."""
    names = [name for name in ast.walk(node) if isinstance(name, ast.Name)]
    for name in names:
        binding = module.binding(name)
        if binding is None:  # of a star import, or a builtin
            if module.scope(name).home(name.id) is not None or module.scope(at).home(name.id) is not None:
                return False
            continue
        if module.scope(at).home(name.id) is binding.scope:
            if len(binding.scope.bindings[name.id]) > 1 and not _same_binding(module, name, at):
                return False
            continue
        if not (_is_same_self(module, name, at) or _is_same_argument(module, binding, at)):
            return False
    return True


def _is_same_argument(module: Module, binding: Binding, at: ast.AST) -> bool:
    """Whether a parameter and a name that is written the same elsewhere are only ever the same variable."""
    home = module.scope(at).home(binding.name)
    others = home.bindings[binding.name] if home is not None else []
    if len(others) != 1 or len(binding.scope.bindings[binding.name]) != 1:
        return False
    given = _variables(module, binding) | _variables(module, others[0])
    (found, *more) = given
    return not more and found is not None and len(found.scope.bindings[found.name]) == 1


def _variables(module: Module, binding: Binding) -> set[Binding | None]:
    """The variables that calls in this module pass for a parameter; for anything else the binding itself."""
    if not isinstance(binding.node, ast.arg):
        return {binding}
    values = list(passed(module, binding.node))
    found = {module.binding(value) if isinstance(value, ast.Name) else None for value in values}
    return found or {None}


def _same_binding(module: Module, name: ast.Name, at: ast.AST) -> bool:
    """Whether a name that gets several values has the same one at two places of a scope."""
    first = module.binding(name)
    assert first is not None
    if module.scope(name) is not module.scope(at) or module.scope(at) is not first.scope:
        return False
    low, high = sorted((name.lineno, getattr(at, "lineno", name.lineno)))
    return not any(low < other.statement.lineno <= high for other in first.scope.bindings[name.id])


def _is_same_self(module: Module, name: ast.Name, at: ast.AST) -> bool:
    owner = owner_class(module, name)
    function = module.function(at)
    if owner is None or function is None or module.parent(function) is not owner:
        return False
    parameter = _first_parameter(function)
    return parameter is not None and parameter.arg == name.id and isinstance(module.binding(name).node, ast.arg)  # type: ignore[union-attr]


def same_expression(module: Module, first: ast.expr, second: ast.expr) -> bool:
    """Whether two expressions give the same value: equal literals, or the same text about the same variables."""
    first, second = without_str(first), without_str(second)
    known, other = constant_of(module, first), constant_of(module, second)
    if isinstance(known, str) and isinstance(other, str):
        return _folder(known) == _folder(other)
    if ast.dump(first) != ast.dump(second) or not is_repeatable(module, first):
        return False
    return _is_seen(module, first, second) and visible(module, first, second)


def _folder(path: str) -> str:
    return path.removeprefix("./").rstrip("/")
