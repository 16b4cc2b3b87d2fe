"""Scopes, the names bound in them and the uses of those names: one walk over the syntax tree.

The rules of the language that matter to a renaming tool are all here: class bodies are invisible to the functions in
them, comprehensions have a scope of their own but for their first iterable, defaults and decorators belong outside,
``global`` and ``nonlocal`` move a binding, and an annotation may be a string.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

Function = ast.FunctionDef | ast.AsyncFunctionDef
BUILTINS = frozenset(dir(builtins))


@dataclass(eq=False)
class Binding:
    """One place where a name gets a value."""

    name: str
    node: ast.AST
    """The node that binds: an ``ast.Name``, ``ast.alias``, ``ast.arg``, a definition, a handler or a pattern."""
    statement: ast.stmt
    scope: Scope
    value: ast.expr | None = None
    """The expression the name gets, where the assignment is a plain one."""
    qualified: str | None = None
    """For an import, the dotted name of what is bound (``optimum`` for ``import optimum.neuron``)."""

    @property
    def is_import(self) -> bool:
        return isinstance(self.node, ast.alias)


@dataclass(eq=False)
class Reference:
    """One use of a name."""

    name: str
    node: ast.Name
    scope: Scope
    in_string: bool = False


@dataclass(eq=False)
class Scope:
    """A module, class, function, lambda or comprehension."""

    node: ast.AST
    parent: Scope | None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    references: list[Reference] = field(default_factory=list)
    children: list[Scope] = field(default_factory=list)
    moved: dict[str, bool] = field(default_factory=dict)
    """Names declared ``global`` (True) or ``nonlocal`` (False) here."""

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)

    @property
    def is_module(self) -> bool:
        return self.parent is None

    def home(self, name: str) -> Scope | None:
        """The scope in which a use of a name here finds its value, or None for a builtin or an unknown name."""
        if name in self.moved or name not in self.bindings:
            return self.outer_home(name)
        return self

    def outer_home(self, name: str) -> Scope | None:
        """The scope around this one in which a name finds its value: class bodies are invisible from inside."""
        scope: Scope | None = self
        while scope is not None:
            if scope.moved.get(name):
                return scope.root
            if name in scope.bindings and scope is not self and not scope.is_class and name not in scope.moved:
                return scope
            scope = scope.parent
        return None

    @property
    def root(self) -> Scope:
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def walk(self) -> Iterator[Scope]:
        """This scope and all those in it."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(eq=False)
class ScopeTree:
    """What one walk found out about a module."""

    module: Scope
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    calls: list[ast.Call] = field(default_factory=list)
    attributes: list[ast.Attribute] = field(default_factory=list)
    strings: list[ast.Constant] = field(default_factory=list)
    fstrings: list[ast.JoinedStr] = field(default_factory=list)
    imports: list[ast.Import | ast.ImportFrom] = field(default_factory=list)
    statements: list[ast.stmt] = field(default_factory=list)
    annotations: list[ast.Constant] = field(default_factory=list)
    """String constants that stand where an annotation does."""
    scope_of: dict[ast.AST, Scope] = field(default_factory=dict)
    """The scope of each name, attribute root, call and statement."""
    exported: dict[str, ast.Constant] = field(default_factory=dict)
    """Names in ``__all__``."""
    declared: set[str] = field(default_factory=set)
    """Names in ``global`` and ``nonlocal`` statements."""

    def unresolved(self) -> Iterator[Reference]:
        """Uses of names that are bound nowhere and are not builtins: what a star import may have brought."""
        for name, references in self.references.items():
            if name not in BUILTINS:
                yield from (reference for reference in references if reference.scope.home(name) is None)

    @cached_property
    def references(self) -> dict[str, list[Reference]]:
        """All uses of each name, in every scope."""
        table: dict[str, list[Reference]] = {}
        for scope in self.module.walk():
            for reference in scope.references:
                table.setdefault(reference.name, []).append(reference)
        return table

    @cached_property
    def bound(self) -> frozenset[str]:
        """Every name that gets a value somewhere."""
        return frozenset(name for scope in self.module.walk() for name in scope.bindings)

    @cached_property
    def moved(self) -> frozenset[str]:
        """Every name that is declared global or nonlocal somewhere."""
        return frozenset(name for scope in self.module.walk() for name in scope.moved)


def build(tree: ast.Module) -> ScopeTree:
    """Walk a module once."""
    builder = _Builder(tree)
    return builder.result


class _Builder:
    def __init__(self, tree: ast.Module) -> None:
        self.result = ScopeTree(Scope(tree, None))
        self.methods: dict[type, Callable[[ast.AST], None]] = {}
        self.scope = self.result.module
        self.statement: ast.stmt = ast.Pass()
        self.in_annotation = False
        self.result.scope_of[tree] = self.scope
        self.visit_all(tree.body, tree)

    # The walk -------------------------------------------------------------------------------------------------

    def visit_all(self, nodes: Sequence[ast.AST | None], parent: ast.AST) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node, parent)

    def visit(self, node: ast.AST, parent: ast.AST) -> None:
        self.result.parents[node] = parent
        method = self.methods.get(type(node)) or self.method(type(node))
        if isinstance(node, ast.stmt):
            outer, self.statement = self.statement, node
            self.result.statements.append(node)
            self.result.scope_of[node] = self.scope
            method(node)
            self.statement = outer
        else:
            method(node)

    def method(self, kind: type) -> Callable[[ast.AST], None]:
        found: Callable[[ast.AST], None] = getattr(self, f"visit_{kind.__name__}", self.descend)
        self.methods[kind] = found
        return found

    def descend(self, node: ast.AST) -> None:
        for _, value in ast.iter_fields(node):
            if isinstance(value, list):
                for item in value:
                    if isinstance(item, ast.AST):
                        self.visit(item, node)
            elif isinstance(value, ast.AST) and not isinstance(value, (ast.expr_context, ast.operator)):
                self.visit(value, node)

    def bind(self, name: str, node: ast.AST, value: ast.expr | None = None, qualified: str | None = None) -> None:
        scope = self.scope
        if name in scope.moved:
            scope = scope.outer_home(name) or scope
        binding = Binding(name, node, self.statement, scope, value, qualified)
        scope.bindings.setdefault(name, []).append(binding)

    def inside(self, node: ast.AST) -> Scope:
        child = Scope(node, self.scope)
        self.scope.children.append(child)
        self.result.scope_of[node] = self.scope
        return child

    # Names ----------------------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> None:
        self.result.scope_of[node] = self.scope
        if isinstance(node.ctx, ast.Load):
            self.scope.references.append(Reference(node.id, node, self.scope))
        else:
            self.bind(node.id, node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.result.attributes.append(node)
        self.visit(node.value, node)

    def visit_Call(self, node: ast.Call) -> None:
        self.result.calls.append(node)
        self.result.scope_of[node] = self.scope
        types = _type_arguments(node)
        outer, self.in_annotation = self.in_annotation, False
        self.visit(node.func, node)
        for argument in node.args:
            self.in_annotation = argument in types
            self.visit(argument, node)
        for keyword in node.keywords:
            self.in_annotation = keyword in types
            self.visit(keyword, node)
        self.in_annotation = outer

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.result.scope_of[node] = self.scope
            self.result.strings.append(node)
            if self.in_annotation:
                self.result.annotations.append(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self.result.fstrings.append(node)
        self.descend(node)

    def visit_Import(self, node: ast.Import) -> None:
        self.result.imports.append(node)
        for alias in node.names:
            self.result.parents[alias] = node
            name = alias.asname or alias.name.partition(".")[0]
            self.bind(name, alias, qualified=alias.name if alias.asname else name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.result.imports.append(node)
        for alias in node.names:
            self.result.parents[alias] = node
            if alias.name != "*":
                module = "." * node.level + (node.module or "")
                self.bind(alias.asname or alias.name, alias, qualified=f"{module}.{alias.name}")

    # Assignments ------------------------------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value, node)
        for target in node.targets:
            self.assign(target, node.value, node)
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id == "__all__":
                self.export(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.annotation(node.annotation, node)
        if node.value is not None and _last_name(node.annotation) == "TypeAlias":
            self.annotation(node.value, node)
        elif node.value is not None:
            self.visit(node.value, node)
        self.assign(node.target, node.value, node)
        if isinstance(node.target, ast.Name) and node.target.id == "__all__" and node.value is not None:
            self.export(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value, node)
        self.visit(node.target, node)
        if isinstance(node.target, ast.Name) and node.target.id == "__all__":
            self.export(node.value)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value, node)
        scope = self.scope
        while isinstance(self.scope.node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            assert self.scope.parent is not None
            self.scope = self.scope.parent
        self.assign(node.target, node.value, node)
        self.scope = scope

    def assign(self, target: ast.expr, value: ast.expr | None, parent: ast.AST) -> None:
        if isinstance(target, ast.Name):
            self.result.parents[target] = parent
            self.result.scope_of[target] = self.scope
            self.bind(target.id, target, value)
        else:
            self.visit(target, parent)

    def export(self, value: ast.expr) -> None:
        for item in ast.walk(value):
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                self.result.exported.setdefault(item.value, item)

    def visit_For(self, node: ast.For) -> None:
        self.visit_all([node.iter, node.target, *node.body, *node.orelse], node)

    visit_AsyncFor = visit_For

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            self.result.parents[item] = node
            self.visit(item.context_expr, item)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, item.context_expr, item)
        self.visit_all(node.body, node)

    visit_AsyncWith = visit_With

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.type is not None:
            self.visit(node.type, node)
        if node.name:
            self.bind(node.name, node)
        self.visit_all(node.body, node)

    def visit_Global(self, node: ast.Global) -> None:
        self.result.declared.update(node.names)
        if not self.scope.is_module:
            self.scope.moved.update(dict.fromkeys(node.names, True))

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.result.declared.update(node.names)
        self.scope.moved.update(dict.fromkeys(node.names, False))

    # Patterns -------------------------------------------------------------------------------------------------

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name:
            self.bind(node.name, node)
        self.descend(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name:
            self.bind(node.name, node)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self.bind(node.rest, node)
        self.descend(node)

    # Definitions ------------------------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: Function) -> None:
        self.visit_all(node.decorator_list, node)
        self.visit_all([*node.args.defaults, *node.args.kw_defaults], node.args)
        self.result.parents[node.args] = node
        self.bind(node.name, node)
        outer = self.scope
        self.type_parameters(node)
        for argument in self.parameters(node.args):
            self.result.parents[argument] = node.args
            if argument.annotation is not None:
                self.annotation(argument.annotation, argument)
        if node.returns is not None:
            self.annotation(node.returns, node)
        self.enter(self.inside(node), node.args, node.body, node)
        self.scope = outer
        self.result.scope_of[node] = outer

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit_all([*node.args.defaults, *node.args.kw_defaults], node.args)
        self.result.parents[node.args] = node
        for argument in self.parameters(node.args):
            self.result.parents[argument] = node.args
        self.enter(self.inside(node), node.args, [node.body], node)

    def enter(self, child: Scope, arguments: ast.arguments, body: Sequence[ast.AST], node: ast.AST) -> None:
        outer, self.scope = self.scope, child
        for argument in self.parameters(arguments):
            self.bind(argument.arg, argument)
        self.visit_all(body, node)
        self.scope = outer

    @staticmethod
    def parameters(arguments: ast.arguments) -> list[ast.arg]:
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        return named + [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.visit_all(node.decorator_list, node)
        outer = self.scope
        self.type_parameters(node)
        self.visit_all([*node.bases, *node.keywords], node)
        inner, self.scope = self.scope, outer
        self.bind(node.name, node)
        self.scope = inner
        self.scope = self.inside(node)
        self.visit_all(node.body, node)
        self.scope = outer
        self.result.scope_of[node] = outer

    def visit_TypeAlias(self, node: ast.AST) -> None:  # pragma: no cover - syntax of Python 3.12
        outer = self.scope
        self.visit(node.name, node)  # type: ignore[attr-defined]
        self.type_parameters(node)
        self.annotation(node.value, node)  # type: ignore[attr-defined]
        self.scope = outer
        self.result.scope_of[node] = outer

    def type_parameters(self, node: ast.AST) -> None:
        """Go on in a scope that holds the type parameters of a definition, if it has any."""
        parameters = getattr(node, "type_params", ())
        if parameters:  # pragma: no cover - syntax of Python 3.12
            self.scope = self.inside(parameters[0])
            for parameter in parameters:
                self.result.parents[parameter] = node
                self.bind(parameter.name, parameter)
                self.descend(parameter)

    def visit_comprehension_scope(self, node: ast.AST, results: Sequence[ast.expr]) -> None:
        generators: list[ast.comprehension] = node.generators  # type: ignore[attr-defined]
        self.result.parents[generators[0]] = node
        self.visit(generators[0].iter, generators[0])
        child = self.inside(node)
        outer, self.scope = self.scope, child
        for index, generator in enumerate(generators):
            self.result.parents[generator] = node
            if index:
                self.visit(generator.iter, generator)
            self.visit_all([generator.target, *generator.ifs], generator)
        self.visit_all(results, node)
        self.scope = outer

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> None:
        self.visit_comprehension_scope(node, [node.elt])

    visit_SetComp = visit_ListComp
    visit_GeneratorExp = visit_ListComp

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self.visit_comprehension_scope(node, [node.key, node.value])

    def annotation(self, node: ast.expr, parent: ast.AST) -> None:
        outer, self.in_annotation = self.in_annotation, True
        self.visit(node, parent)
        self.in_annotation = outer

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value, node)
        kind = _last_name(node.value)
        outer = self.in_annotation
        self.in_annotation = (outer or kind in _GENERICS) and kind != "Literal"
        if kind == "Annotated" and isinstance(node.slice, ast.Tuple):
            self.result.parents[node.slice] = node
            self.visit(node.slice.elts[0], node.slice)
            self.in_annotation = False
            self.visit_all(node.slice.elts[1:], node.slice)
        else:
            self.visit(node.slice, node)
        self.in_annotation = outer


_GENERICS = frozenset(
    {"Annotated", "Callable", "ClassVar", "Dict", "Final", "FrozenSet", "Generic", "Iterable", "Iterator", "List"}
    | {"Mapping", "Optional", "Sequence", "Set", "Tuple", "Type", "Union", "dict", "list", "set", "tuple", "type"}
)
"""What is subscripted with types also outside of annotations: ``Alias = Optional["Trainer"]``."""


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _type_arguments(call: ast.Call) -> Sequence[ast.AST]:
    """The arguments of the functions of ``typing`` that are types, and may be written as strings."""
    kind = _last_name(call.func)
    if kind in ("cast", "ForwardRef", "assert_type"):
        return call.args[1:2] if kind == "assert_type" else call.args[:1]
    if kind == "NewType":
        return call.args[1:2]
    if kind == "TypeVar":
        return [*call.args[1:], *(item for item in call.keywords if item.arg in ("bound", "default"))]
    return ()
