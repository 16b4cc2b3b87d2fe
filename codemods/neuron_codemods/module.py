"""What a rule may ask about one Python text: which name is which, who calls what, what a variable holds."""

from __future__ import annotations

import ast
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, wraps
from typing import Any, TypeVar, cast

from neuron_codemods import data, fstrings, scopes
from neuron_codemods.data import Symbol
from neuron_codemods.project import Project, bases
from neuron_codemods.scopes import Binding, Reference, Scope, ScopeTree
from neuron_codemods.source import Source, parse_expression
from neuron_codemods.xla.table import is_stack

_ABOVE = ("optimum", "optimum.exporters")
"""Packages that Optimum Neuron shares with others."""
_BIND_LAST = (
    *(ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor, ast.With, ast.AsyncWith),
    *(ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef),
)
"""Statements that evaluate their expressions before they bind a name."""
_TRY = (ast.Try, getattr(ast, "TryStar", ast.Try))
_LONGEST_CHAIN = 16
"""How many assignments (``a = b``) from name to name are followed."""


@dataclass(frozen=True, eq=False)
class _Bindings:
    """All places that give one name of a scope a value."""

    all: list[Binding]
    places: list[tuple[int, int]]
    """Where the statement of each starts."""
    stands_for: dict[Binding, Binding]
    """For those in a branch of a ``try`` or ``if`` with an import in another branch: the import that counts."""
    preferred: Binding | None
    """What a use sees that is not told apart by its place: the import, if everything else stands in for it."""

    @classmethod
    def of(cls, module: Module, bindings: list[Binding]) -> _Bindings:
        ordered = sorted(bindings, key=lambda binding: (binding.statement.lineno, binding.statement.col_offset))
        imports = [binding for binding in ordered if binding.is_import]
        branches = {binding: dict(_branches(module, binding)) for binding in ordered} if len(ordered) > 1 else {}
        stands_for = {}
        for binding, own in branches.items():
            if not own:
                continue  # it stands in no branch
            others = [
                item for item in imports if any(own.get(key, side) != side for key, side in branches[item].items())
            ]
            if others:
                stands_for[binding] = _most_neuron([*others, binding] if binding.is_import else others)
        is_clear = len(ordered) == 1 or (
            bool(imports)
            and all(binding.is_import or binding in stands_for or _is_none(binding) for binding in ordered)
        )
        places = [(binding.statement.lineno, binding.statement.col_offset) for binding in ordered]
        return cls(ordered, places, stands_for, _most_neuron(imports or ordered) if is_clear else None)


def _most_neuron(bindings: list[Binding]) -> Binding:
    return ([item for item in bindings if data.is_neuron_module(item.qualified or "")] or bindings)[-1]


def _is_none(binding: Binding) -> bool:
    """Whether a name is only given a first value, for the case that nothing is imported."""
    return isinstance(binding.value, ast.Constant) and binding.value.value is None


def _branches(module: Module, binding: Binding) -> Iterator[tuple[ast.AST, object]]:
    """Each ``try`` and ``if`` around a binding with the branch it is in."""
    below: ast.AST = binding.statement
    for above in module.ancestors(binding.statement):
        if isinstance(above, ast.ExceptHandler):
            below = above
        elif isinstance(above, ast.If):
            yield above, below in above.body
        elif isinstance(above, _TRY) and below not in above.finalbody:
            yield above, below if isinstance(below, ast.ExceptHandler) else True
        if isinstance(above, ast.stmt):
            below = above


@dataclass(eq=False)
class _Syntax:
    """What is in a text, whatever the project around it."""

    source: Source
    names: ScopeTree
    unplaced: set[ast.AST] = field(default_factory=set)
    bindings: dict[tuple[Scope, str], _Bindings] = field(default_factory=dict)
    seen: dict[ast.Name, Binding | None] = field(default_factory=dict)
    """The bindings that uses of names see, as far as somebody has asked."""
    references: dict[str, dict[Scope | None, list[Reference]]] = field(default_factory=dict)
    """The uses of each name by the scope in which it is bound, as far as somebody has asked."""
    is_read: bool = False
    """Whether the annotations in strings are among the names."""
    is_placed: bool = False
    """Whether the parts of f-strings have their places."""

    @classmethod
    def of(cls, text: str, path: str) -> _Syntax:
        source = Source(text, path)
        return cls(source, scopes.build(source.tree))

    @cached_property
    def statement_starts(self) -> list[int]:
        """Where each statement starts, in the order of the text."""
        return [self.source.span(statement)[0] for statement in self.names.statements]

    @cached_property
    def blocks(self) -> dict[ast.stmt, tuple[list[ast.stmt], int]]:
        """The list of statements that each statement is in, and its place there."""
        places: dict[ast.stmt, tuple[list[ast.stmt], int]] = {}
        for above in {self.names.parents[statement]: None for statement in self.names.statements}:
            for name in ("body", "orelse", "finalbody"):
                block = getattr(above, name, None)
                if isinstance(block, list):
                    places.update((statement, (block, index)) for index, statement in enumerate(block))
        return places


class _Kept:
    """Trees that will be asked for again: the first ones, up to a number of characters."""

    LIMIT = 1_000_000
    """A character of source takes some 50 bytes as a tree with its scopes."""

    def __init__(self) -> None:
        self._by_text: dict[str, _Syntax] = {}
        self._size = 0

    def keep(self, syntax: _Syntax) -> None:
        text = syntax.source.text
        if self._size + len(text) <= self.LIMIT and text not in self._by_text:
            self._by_text[text] = syntax
            self._size += len(text)

    def take(self, text: str) -> _Syntax | None:
        syntax = self._by_text.pop(text, None)
        if syntax is not None:
            self._size -= len(text)
        return syntax


_KEPT = _Kept()


class Module:
    """A parsed text with its names resolved. Nothing here changes it."""

    def __init__(
        self, text: str, path: str = "<text>", project: Project | None = None, select: tuple[str, ...] = ()
    ) -> None:
        self.path = path
        self.project = project or Project()
        self.select = select
        self.answers: dict[tuple[object, ...], Any] = {}
        """What was asked through :func:`once`."""
        self._resolved: dict[ast.AST, str | None] = {}
        self._syntax = _KEPT.take(text) or _Syntax.of(text, path)
        self.source, self.names = self._syntax.source, self._syntax.names
        if not self._syntax.is_read:
            for reference in list(self._read_annotations()):
                reference.scope.references.append(reference)
            self._syntax.is_read = True
        self._place_fstrings()

    def keep(self) -> None:
        """Let the next module of the same text have its tree: a text is looked at twice, alone and in its project."""
        _KEPT.keep(self._syntax)

    def asks_for(self, prefix: str) -> bool:
        """Whether the caller selected rules whose codes begin so, and not just rules of any kind."""
        return any(code.startswith(prefix) for code in self.select)

    # Structure ------------------------------------------------------------------------------------------------

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self.names.parents.get(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        above = self.names.parents.get(node)
        while above is not None:
            yield above
            above = self.names.parents.get(above)

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that holds a node (or the node itself)."""
        if isinstance(node, ast.stmt):
            return node
        if isinstance(node, ast.keyword) and node not in self.names.parents:
            node = node.value  # an entry of a mapping, which stands in no tree
        return next(above for above in self.ancestors(node) if isinstance(above, ast.stmt))

    @property
    def statement_starts(self) -> list[int]:
        """Where each statement starts, in the order of the text."""
        return self._syntax.statement_starts

    def around(self, offset: int) -> ast.AST:
        """The innermost statement that holds a place in the text, or the whole module."""
        index = bisect_right(self.statement_starts, offset) - 1
        last = self.names.statements[max(index, 0)]
        around = (node for node in (last, *self.ancestors(last)) if isinstance(node, ast.stmt))
        return next((node for node in around if offset <= self.source.span(node)[1]), self.source.tree)

    def function(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The innermost function whose body holds a node."""
        for above in self.ancestors(node):
            if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return above
        return None

    def scope(self, node: ast.AST) -> Scope:
        """The scope in which a node is evaluated."""
        scope_of = self.names.scope_of
        return next(
            (scope_of[above] for above in (node, *self.ancestors(node)) if above in scope_of), self.names.module
        )

    def is_elif(self, statement: ast.stmt) -> bool:
        """Whether a statement is the ``elif`` of another one."""
        return isinstance(statement, ast.If) and self.source.segment(statement).startswith("elif")

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The list of statements that a statement is in."""
        return self._syntax.blocks[statement][0]

    def index(self, statement: ast.stmt) -> int:
        """The place of a statement in its block."""
        return self._syntax.blocks[statement][1]

    @property
    def calls(self) -> list[ast.Call]:
        return self.names.calls

    # Names ----------------------------------------------------------------------------------------------------

    def binding(self, node: ast.Name) -> Binding | None:
        """The binding a use of a name most likely sees: the last one before it, or an import with fallbacks."""
        seen = self._syntax.seen
        if node not in seen:
            seen[node] = self._binding(node)
        return seen[node]

    def _binding(self, node: ast.Name) -> Binding | None:
        scope = self.scope(node)
        home = scope.home(node.id)
        if home is None:
            return None
        bound = self._bound(home, node.id)
        if home is scope:
            last = self._last_before(bound, node)
            if last is None and home.is_class:
                home = scope.outer_home(node.id)
                if home is None:
                    return None
                bound = self._bound(home, node.id)
            else:
                last = last or bound.all[0]
                return bound.stands_for.get(last, last)
        return bound.preferred

    def _bound(self, home: Scope, name: str) -> _Bindings:
        key = (home, name)
        if key not in self._syntax.bindings:
            self._syntax.bindings[key] = _Bindings.of(self, home.bindings[name])
        return self._syntax.bindings[key]

    def _last_before(self, bound: _Bindings, node: ast.Name) -> Binding | None:
        """The last binding before a use; an assignment does not precede the uses in its own expressions."""
        index = bisect_left(bound.places, (node.lineno, node.col_offset))
        while index:
            index -= 1
            binding = bound.all[index]
            own = isinstance(binding.statement, _BIND_LAST) and self.statement(node) is binding.statement
            if not own or isinstance(self.parent(binding.node), ast.NamedExpr):
                return binding
        return None

    def resolve(self, node: ast.AST) -> str | None:
        """The dotted name an expression stands for (``transformers.Trainer``), through imports and aliases."""
        if node not in self._resolved:
            self._resolved[node] = self._resolve(node, _LONGEST_CHAIN)
        return self._resolved[node]

    def _resolve(self, node: ast.AST, left: int) -> str | None:
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.append(node.attr)
            node = node.value
        base = self._resolve_name(node, left) if isinstance(node, ast.Name) and left else None
        return ".".join([base, *reversed(attributes)]) if base else None

    def _resolve_name(self, node: ast.Name, left: int) -> str | None:
        binding = self.binding(node)
        if binding is None:
            return self._from_star(node)
        if binding.qualified:
            return self.project.resolve(binding.qualified)
        if isinstance(binding.node, ast.Name) and isinstance(binding.value, (ast.Name, ast.Attribute)):
            if self._is_constant(binding):
                return self._resolve(binding.value, left - 1)
        return None

    def _is_constant(self, binding: Binding) -> bool:
        return len(binding.scope.bindings[binding.name]) == 1

    def _from_star(self, node: ast.Name) -> str | None:
        for module in self.star_modules:
            if data.symbol(module, node.id) is not None:
                return f"{module}.{node.id}"
        return None

    @cached_property
    def star_modules(self) -> tuple[str, ...]:
        """The Optimum Neuron modules from which everything is imported."""
        return tuple(
            node.module
            for node in self.names.imports
            if isinstance(node, ast.ImportFrom)
            and node.module
            and not node.level
            and node.names[0].name == "*"
            and self.scope(node).is_module  # elsewhere it is no Python
            and data.is_neuron_module(node.module)
        )

    def symbol(self, qualified: str | None) -> Symbol | None:
        """The row of the table for a dotted name, whatever attribute of it is meant."""
        found = self.split(qualified)
        return found[0] if found else None

    def split(self, qualified: str | None) -> tuple[Symbol, tuple[str, ...]] | None:
        """The row of the table for a dotted name, and the attributes after it (``from_pretrained``)."""
        return _split(qualified) if qualified else None

    def native(self, node: ast.AST) -> str | None:
        """The dotted name of an expression in the native libraries: ``transformers.Trainer`` for NeuronTrainer too."""
        return self.native_name(self.resolve(node))

    def native_name(self, qualified: str | None) -> str | None:
        """The dotted name in the native libraries of one that may be Optimum Neuron's."""
        found = self.split(qualified)
        if found is None:
            return qualified
        symbol, rest = found
        return ".".join((symbol.native, *rest)) if "." in symbol.native else None

    @cached_property
    def neuron_bindings(self) -> list[Binding]:
        """Everything imported from Optimum Neuron, in every scope."""
        return [
            binding
            for scope in self.names.module.walk()
            for bindings in scope.bindings.values()
            for binding in bindings
            if binding.is_import and self._is_neuron(binding)
        ]

    def _is_neuron(self, binding: Binding) -> bool:
        qualified = binding.qualified or ""
        if qualified not in _ABOVE:
            return data.is_neuron_module(qualified)
        assert isinstance(binding.node, ast.alias)
        if isinstance(binding.statement, ast.Import) and data.is_neuron_module(binding.node.name):
            return True
        # ``import optimum`` alone reaches optimum.neuron once anything has imported that, in whatever file.
        imported = [other.node for other in binding.scope.bindings[binding.name] if other.qualified == qualified]
        if any(isinstance(alias, ast.alias) and data.is_neuron_module(alias.name) for alias in imported):
            return False
        return any(
            data.is_neuron_module(".".join((qualified, *self._path(reference)[1:])))
            for reference in self.references(binding)
        )

    def _path(self, reference: Reference) -> list[str]:
        """The parts of the chain of attributes that starts at a use of a name."""
        node = self.dotted(reference)
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
            node = node.value  # type: ignore[assignment]
        return [reference.name, *parts]

    @cached_property
    def uses_neuron(self) -> bool:
        """Whether anything here is imported from Optimum Neuron, directly or through another file of the project."""
        if self.neuron_bindings or self.star_modules:
            return True
        return any(
            binding.is_import and self._comes_from_neuron(_imported_as_a_whole(binding))
            for bindings in self.names.module.bindings.values()
            for binding in bindings
        )

    def _comes_from_neuron(self, qualified: str) -> bool:
        if data.is_neuron_module(self.project.resolve(qualified)):
            return True
        classes = (qualified, *self.project.classes_of(qualified))
        return any(data.is_neuron_module(base) for name in classes for base, _ in bases(self.project, name))

    @cached_property
    def uses_stack(self) -> bool:
        """Whether anything here is imported from the XLA stack."""
        return any(
            is_stack(alias.name if isinstance(node, ast.Import) else node.module or "")
            for node in self.names.imports
            if isinstance(node, ast.Import) or not node.level
            for alias in node.names
        )

    @cached_property
    def renames(self) -> bool:
        """Whether names of transformers, TRL and their kin are to be renamed: with Optimum Neuron, or where asked."""
        return self.uses_neuron or any(code.startswith("NM7") for code in self.select)

    @cached_property
    def top_imports(self) -> dict[str, Binding]:
        """The imports that hold for the whole module, by what they import."""
        return {
            binding.qualified: binding
            for bindings in self.names.module.bindings.values()
            if len({item.qualified for item in bindings}) == 1
            for binding in reversed(bindings)  # of several, the first holds
            if binding.is_import and binding.qualified
            if self.parent(binding.statement) is self.source.tree
        }

    def import_at(self, native: str, node: ast.AST) -> Binding | None:
        """The import that holds for the whole module, if it is made before a node is run and its name means it there.

        A function is run later than all imports.
        """
        found = self.top_imports.get(native)
        if found is None or self.scope(node).home(found.name) is not self.names.module:
            return None
        is_before = self.function(node) is not None or found.statement.lineno <= node.lineno  # type: ignore[attr-defined]
        return found if is_before else None

    @cached_property
    def plain_imports(self) -> dict[str, list[ast.Import]]:
        """The statements with each plain import: ``transformers``, or ``transformers as t``."""
        table: dict[str, list[ast.Import]] = {}
        for node in self.names.imports:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    text = f"{alias.name} as {alias.asname}" if alias.asname else alias.name
                    table.setdefault(text, []).append(node)
        return table

    def is_served(self, reference: Reference, binding: Binding) -> bool:
        """Whether a use of ``optimum`` is about another package, and another import brings that name."""
        qualified = self.resolve(self.dotted(reference)) or ""
        return _is_elsewhere(qualified) and any(
            other.is_import
            and other.qualified == binding.qualified
            and other.statement.lineno <= reference.node.lineno
            and other not in self.neuron_bindings
            for other in binding.scope.bindings[binding.name]
        )

    def references(self, binding: Binding) -> Iterator[Reference]:
        """All uses of the name that a binding binds, in its scope and those in it."""
        name, by_home = binding.name, self._syntax.references
        if name not in by_home:
            by_home[name] = {}
            for reference in self.names.references.get(name, ()):
                by_home[name].setdefault(reference.scope.home(name), []).append(reference)
        if not self._is_replaced(binding):
            yield from by_home[name].get(binding.scope, ())

    def _is_replaced(self, binding: Binding) -> bool:
        """Whether another import of the same name follows one before anything uses it."""
        imports = _last_imports(self, binding.scope, binding.name).get(self.parent(binding.statement), {})
        return binding.is_import and any(
            line > binding.statement.lineno for qualified, line in imports.items() if qualified != binding.qualified
        )

    def dotted(self, reference: Reference) -> ast.Name | ast.Attribute:
        """The whole chain of attributes that starts at a use of a name: ``a.b.c`` for ``a``."""
        node: ast.Name | ast.Attribute = reference.node
        above = self.parent(node)
        while isinstance(above, ast.Attribute):
            node, above = above, self.parent(above)
        return node

    def is_placed(self, node: ast.AST) -> bool:
        """Whether a node's position can be trusted (False inside an f-string that could not be read)."""
        return node not in self._syntax.unplaced

    def is_offered(self, name: str) -> bool:
        """Whether a name of the file itself is for others: ``__all__`` holds it, or another file imports it."""
        return name in self.names.exported or self.project.is_taken(self.path, name)

    # Positions and strings ------------------------------------------------------------------------------------

    def _place_fstrings(self) -> None:
        if not fstrings.NEEDED or self._syntax.is_placed or not (self.uses_neuron or self.uses_stack):
            return
        self._syntax.is_placed = True
        self._syntax.seen.clear()  # which binding a use sees is a question of places
        self.answers.clear()
        wanted = {binding.name for binding in self.neuron_bindings}
        for node in self.names.fstrings:
            if not isinstance(self.names.parents.get(node), (ast.JoinedStr, ast.FormattedValue)):
                inner = [item for item in ast.walk(node) if isinstance(item, (ast.Name, ast.Attribute))]
                interesting = any(
                    isinstance(item, ast.Attribute) or (isinstance(item, ast.Name) and item.id in wanted)
                    for item in inner
                )
                if interesting and not fstrings.correct_positions(self.source, node):
                    self._syntax.unplaced.update(ast.walk(node))
                for string in fstrings.nested(node):  # a name can be renamed, but no quote is left for new text
                    expressions = (item for item in ast.walk(string) if isinstance(item, (ast.Call, ast.Attribute)))
                    self._syntax.unplaced.update(expressions)

    def _read_annotations(self) -> Iterator[Reference]:
        for constant in self.names.annotations:
            text = constant.value
            if not isinstance(text, str) or not text.strip():
                continue
            tree = parse_expression(text.strip())
            if tree is None:
                continue
            scope = self.names.scope_of[constant]
            start = self._content_start(constant)
            for node in ast.walk(tree):
                if isinstance(node, (ast.Name, ast.Attribute)):
                    if start is None:
                        self._syntax.unplaced.add(node)
                    else:
                        place = start + len(text) - len(text.lstrip())
                        first, last = (
                            place + len(text.strip().encode()[:column].decode())
                            for column in (node.col_offset, node.end_col_offset)
                        )
                        fstrings.place(self.source, node, first, last)
                    for child in ast.iter_child_nodes(node):
                        self.names.parents[child] = node
            for node in ast.walk(tree):
                self.names.parents.setdefault(node, constant)
                if isinstance(node, ast.Name):
                    self.names.scope_of[node] = scope
                    yield Reference(node.id, node, scope, in_string=True)

    def _content_start(self, constant: ast.Constant) -> int | None:
        """Where the text of a string literal starts, or None when it is not one plain literal on one line."""
        if fstrings.NEEDED and any(isinstance(above, ast.JoinedStr) for above in self.ancestors(constant)):
            return None
        start, _ = self.source.span(constant)
        literal = self.source.segment(constant)
        return start + 1 if literal[:1] in ("'", '"') and literal[1:-1] == constant.value else None


@lru_cache(maxsize=4096)
def _split(qualified: str) -> tuple[Symbol, tuple[str, ...]] | None:
    if not data.is_neuron_module(qualified):
        return None
    parts = qualified.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        symbol = data.symbol(".".join(parts[:cut]), parts[cut])
        if symbol is not None and (symbol.kind != "module" or cut == len(parts) - 1):
            return symbol, tuple(parts[cut + 1 :])
    return None


Asked = TypeVar("Asked", bound=Callable[..., Any])


def once(question: Asked) -> Asked:
    """For what several rules ask about a module: the answer is kept with the module, and goes with it."""

    @wraps(question)
    def ask(module: Module, *about: Any) -> Any:
        key = (question, *about)
        if key not in module.answers:
            module.answers[key] = question(module, *about)
        return module.answers[key]

    return cast("Asked", ask)


@once
def _last_imports(module: Module, scope: Scope, name: str) -> dict[ast.AST | None, dict[str | None, int]]:
    """For each block and what it imports under a name: the last line of that above all uses of the name."""
    first_use = min((use.node.lineno for use in module.names.references.get(name, ())), default=math.inf)
    lines: dict[ast.AST | None, dict[str | None, int]] = {}
    for binding in scope.bindings.get(name, ()):
        line = binding.statement.lineno
        if binding.is_import and line < first_use:
            block = lines.setdefault(module.parent(binding.statement), {})
            block[binding.qualified] = max(line, block.get(binding.qualified, 0))
    return lines


def _imported_as_a_whole(binding: Binding) -> str:
    """What an import brings in: ``a.b`` for ``import a.b``, which binds ``a``."""
    assert isinstance(binding.node, ast.alias)
    return binding.node.name if isinstance(binding.statement, ast.Import) else binding.qualified or ""


def _is_elsewhere(qualified: str) -> bool:
    """Whether a dotted name lies in ``optimum`` and not in its neuron part."""
    return qualified.startswith("optimum.") and qualified not in _ABOVE and not data.is_neuron_module(qualified)
