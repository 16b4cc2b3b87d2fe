"""What becomes of the import statements of a text, one by one."""

from __future__ import annotations

import ast
import tokenize
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from neuron_codemods import markers
from neuron_codemods.imports.naming import local_name, split
from neuron_codemods.module import Module, once
from neuron_codemods.source import Source


@dataclass(frozen=True)
class Imported:
    """One name of a new import statement."""

    module: str
    name: str
    local: str
    leading: tuple[str, ...] = ()
    trailing: str = ""
    following: tuple[str, ...] = ()
    """Comments on lines of their own above, behind and below the name."""
    stays: bool = False
    """Whether the name is also bound by something else, so that the place of its import matters."""

    @property
    def noted(self) -> bool:
        return bool(self.leading or self.trailing or self.following)

    @property
    def text(self) -> str:
        return self.name if self.local == self.name else f"{self.name} as {self.local}"


@dataclass(eq=False)
class Site:
    """What becomes of one import statement."""

    statement: ast.Import | ast.ImportFrom
    fresh: list[Imported] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    """Texts of plain imports: ``transformers`` or ``transformers as m``."""
    gone: set[ast.alias] = field(default_factory=set)

    @property
    def names(self) -> set[str]:
        """The names that the new imports bind."""
        roots = {text.rpartition(" as ")[2].partition(".")[0] for text in self.modules}
        return {item.local for item in self.fresh} | roots

    @property
    def is_emptied(self) -> bool:
        """Whether nothing is left of the statement."""
        return self.gone == set(self.statement.names) and not (self.fresh or self.modules)


def imported(module: Module, native: str) -> Imported:
    """The import of a native object under the name that new code uses."""
    native_module, name = split(native)
    return Imported(native_module, name, local_name(module, native))


def by_module(entries: Iterable[Imported]) -> dict[str, list[Imported]]:
    """The names of new imports by their module, each once, in their order."""
    groups: dict[str, list[Imported]] = defaultdict(list)
    for entry in entries:
        if entry not in groups[entry.module]:
            groups[entry.module].append(entry)
    return groups


def sort_key(entry: Imported) -> tuple[int, str]:
    """Constants, classes, functions, as import sorters have it."""
    name = entry.name
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, name


def comments_of(source: Source, alias: ast.alias, statement: ast.stmt) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    """The comments of one name in an import list: above it, behind it, and below it if it is the last."""
    start, end = source.span(statement)
    comments = [token for token in source.tokens_between(start, end) if token.kind == tokenize.COMMENT]
    if not comments:
        return (), "", ()
    alias_start, alias_end = source.span(alias)
    names = statement.names  # type: ignore[attr-defined]
    index = names.index(alias)
    previous_end = source.span(names[index - 1])[1] if index else start
    leading = []
    for token in comments:
        if previous_end <= token.start < alias_start:
            own_line = not source.text[source.line_start(token.start) : token.start].strip()
            if own_line or index == 0:
                leading.append(token.text)
    line_end = source.line_end(alias_end - 1)
    following = names[index + 1] if index + 1 < len(names) else None
    trailing = [
        token.text
        for token in comments
        if alias_end <= token.start < line_end and (following is None or source.span(following)[0] > token.start)
    ]
    below = [token.text for token in comments if following is None and token.start >= line_end]
    return tuple(leading), trailing[0] if trailing else "", tuple(below)


def is_suppressed(module: Module, statement: ast.stmt) -> bool:
    """Whether a person wants an import left alone by all rules."""
    return any(comment.covers("", statement.lineno) for comment in _suppressions(module))


@once
def _suppressions(module: Module) -> list[markers.Suppression]:
    return markers.suppressions(module)
