"""What a rule may ask about one Python text: which name is which, who calls what, what a variable holds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from neuron_codemods import data, fstrings, scopes
from neuron_codemods.data import Symbol
from neuron_codemods.project import Project
from neuron_codemods.scopes import Binding, Reference, Scope
from neuron_codemods.source import Source, parse


class Module:
    """A parsed text with its names resolved. Nothing here changes it."""

    def __init__(self, text: str, path: str = "<text>", project: Project | None = None) -> None:
        self.source = Source(text, path)
        self.path = path
        self.project = project or Project()
        self.names = scopes.build(self.source.tree)
        self._unplaced: set[ast.AST] = set()
        if fstrings.NEEDED:
            self._place_fstrings()
        self.string_references = list(self._read_annotations())

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
        for above in self.ancestors(node):
            if isinstance(above, ast.stmt):
                return above
        raise ValueError("a node outside of every statement")

    def function(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The innermost function whose body holds a node."""
        for above in self.ancestors(node):
            if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return above
        return None

    def scope(self, node: ast.AST) -> Scope:
        """The scope in which a node is evaluated."""
        for above in (node, *self.ancestors(node)):
            if above in self.names.scope_of:
                return self.names.scope_of[above]
        return self.names.module

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The list of statements that a statement is in."""
        above = self.names.parents[statement]
        for field in ("body", "orelse", "finalbody"):
            body = getattr(above, field, None)
            if isinstance(body, list) and statement in body:
                return body
        raise ValueError("a statement outside of every block")

    @property
    def calls(self) -> list[ast.Call]:
        return self.names.calls

    # Names ----------------------------------------------------------------------------------------------------

    def binding(self, node: ast.Name) -> Binding | None:
        """The binding a use of a name most likely sees: the last one before it, or an import with fallbacks."""
        scope = self.scope(node)
        home = scope.home(node.id)
        if home is None:
            return None
        bindings = home.bindings[node.id]
        imports = [binding for binding in bindings if binding.is_import]
        if len(bindings) == 1:
            return bindings[0]
        if home is scope:
            before = [binding for binding in bindings if self._precedes(binding, node)]
            last = before[-1] if before else bindings[0]
            if last.is_import or not imports or not self._alternative(last, imports):
                return last
        elif len(imports) < len(bindings) and not all(
            binding.is_import or self._alternative(binding, imports) for binding in bindings
        ):
            return None
        neuron = [binding for binding in imports if data.is_neuron_module(binding.qualified or "")]
        return (neuron or imports or bindings)[-1]

    def _precedes(self, binding: Binding, node: ast.Name) -> bool:
        use = (node.lineno, node.col_offset)
        if any(above is binding.statement for above in self.ancestors(node)) and isinstance(
            binding.statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)
        ):
            return False
        return (binding.statement.lineno, binding.statement.col_offset) < use

    def _alternative(self, binding: Binding, imports: list[Binding]) -> bool:
        """Whether a binding is what an import falls back on: in another branch of the same try or if."""
        branches = [above for above in self.ancestors(binding.statement) if isinstance(above, (ast.Try, ast.If))]
        return any(above in branches for other in imports for above in self.ancestors(other.statement))

    def resolve(self, node: ast.AST) -> str | None:
        """The dotted name an expression stands for (``transformers.Trainer``), through imports and aliases."""
        if isinstance(node, ast.Attribute):
            base = self.resolve(node.value)
            return f"{base}.{node.attr}" if base else None
        if isinstance(node, ast.Name):
            binding = self.binding(node)
            if binding is None:
                return self._from_star(node)
            if binding.qualified:
                return self.project.resolve(binding.qualified)
            if isinstance(binding.node, ast.Name) and isinstance(binding.value, (ast.Name, ast.Attribute)):
                held = binding.value
                if not (isinstance(held, ast.Name) and held.id == node.id) and self._is_constant(binding):
                    return self.resolve(held)
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
            and data.is_neuron_module(node.module)
        )

    def symbol(self, qualified: str | None) -> Symbol | None:
        """The row of the table for a dotted name, whatever attribute of it is meant."""
        found = self.split(qualified)
        return found[0] if found else None

    def split(self, qualified: str | None) -> tuple[Symbol, tuple[str, ...]] | None:
        """The row of the table for a dotted name, and the attributes after it (``from_pretrained``)."""
        if not qualified or not data.is_neuron_module(qualified):
            return None
        parts = qualified.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            symbol = data.symbol(".".join(parts[:cut]), parts[cut])
            if symbol is not None and (symbol.kind != "module" or cut == len(parts) - 1):
                return symbol, tuple(parts[cut + 1 :])
        return None

    def native(self, node: ast.AST) -> str | None:
        """The dotted name of an expression in the native libraries: ``transformers.Trainer`` for NeuronTrainer too."""
        qualified = self.resolve(node)
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
        if qualified in ("optimum", "optimum.exporters"):
            statement = binding.statement
            return isinstance(statement, ast.Import) and any(
                data.is_neuron_module(alias.name) for alias in statement.names
            )
        return data.is_neuron_module(qualified)

    @cached_property
    def uses_neuron(self) -> bool:
        """Whether anything here is imported from Optimum Neuron, directly or through another file of the project."""
        if self.neuron_bindings or self.star_modules:
            return True
        return any(
            binding.is_import and data.is_neuron_module(self.project.resolve(binding.qualified or ""))
            for bindings in self.names.module.bindings.values()
            for binding in bindings
        )

    def references(self, binding: Binding) -> Iterator[Reference]:
        """All uses of the name that a binding binds, in its scope and those in it."""
        for scope in binding.scope.walk():
            for reference in scope.references:
                if reference.name == binding.name and scope.home(binding.name) is binding.scope:
                    yield reference
        for reference in self.string_references:
            if reference.name == binding.name and reference.scope.home(binding.name) is binding.scope:
                yield reference

    def dotted(self, reference: Reference) -> ast.Name | ast.Attribute:
        """The whole chain of attributes that starts at a use of a name: ``a.b.c`` for ``a``."""
        node: ast.Name | ast.Attribute = reference.node
        above = self.parent(node)
        while isinstance(above, ast.Attribute):
            node, above = above, self.parent(above)
        return node

    def is_placed(self, node: ast.AST) -> bool:
        """Whether a node's position can be trusted (False inside an f-string that could not be read)."""
        return node not in self._unplaced

    # Positions and strings ------------------------------------------------------------------------------------

    def _place_fstrings(self) -> None:
        wanted = {binding.name for binding in self.neuron_bindings}
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.JoinedStr) and not isinstance(
                self.names.parents.get(node), (ast.JoinedStr, ast.FormattedValue)
            ):
                inner = [item for item in ast.walk(node) if isinstance(item, (ast.Name, ast.Attribute))]
                interesting = any(
                    isinstance(item, ast.Attribute) or (isinstance(item, ast.Name) and item.id in wanted)
                    for item in inner
                )
                if (interesting and self.uses_neuron) and not fstrings.correct_positions(self.source, node):
                    self._unplaced.update(ast.walk(node))

    def _read_annotations(self) -> Iterator[Reference]:
        for constant in self.names.annotations:
            text = constant.value
            if not isinstance(text, str) or not text.strip():
                continue
            try:
                tree = ast.parse(text.strip(), mode="eval").body
            except (SyntaxError, ValueError):
                continue
            scope = self.names.scope_of[constant]
            start = self._content_start(constant)
            for node in ast.walk(tree):
                if isinstance(node, (ast.Name, ast.Attribute)):
                    if start is None:
                        self._unplaced.add(node)
                    else:
                        column = start + len(text) - len(text.lstrip()) + node.col_offset
                        fstrings.place(self.source, node, column, column + (node.end_col_offset or 0) - node.col_offset)
                    for child in ast.iter_child_nodes(node):
                        self.names.parents[child] = node
            for node in ast.walk(tree):
                self.names.parents.setdefault(node, constant)
                if isinstance(node, ast.Name):
                    self.names.scope_of[node] = scope
                    yield Reference(node.id, node, scope, in_string=True)

    def _content_start(self, constant: ast.Constant) -> int | None:
        """Where the text of a string literal starts, or None when it is not one plain literal on one line."""
        start, end = self.source.span(constant)
        literal = self.source.text[start:end]
        for quote in ('"', "'"):
            if literal == f"{quote}{constant.value}{quote}":
                return start + 1
        return None


def is_python(text: str) -> bool:
    """Whether a text parses."""
    try:
        parse(text)
    except ValueError:
        return False
    return True
