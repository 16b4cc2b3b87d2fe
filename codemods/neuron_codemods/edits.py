"""Changes to stretches of a text, nested in one another, and how they are applied.

Rules read the syntax tree and describe what should change; nothing outside of a described stretch can change by even
one byte. A change to a call holds the changes inside its arguments: the inner ones are applied first.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from neuron_codemods.model import Outcome
from neuron_codemods.scopes import Binding


@dataclass(frozen=True)
class Edit:
    """Replace the text from ``start`` to ``end`` by what ``apply`` makes of it."""

    start: int
    end: int
    apply: Callable[[str], str]
    deletes: bool = False
    """Whether all of the stretch goes, whatever other edits would have done inside of it."""

    @staticmethod
    def delete(span: tuple[int, int]) -> Edit:
        return Edit(*span, lambda _: "", deletes=True)

    @staticmethod
    def replace(span: tuple[int, int], text: str) -> Edit:
        return Edit(*span, lambda _: text)

    @staticmethod
    def insert(offset: int, text: str) -> Edit:
        return Edit(offset, offset, lambda before: before + text)

    @staticmethod
    def around(span: tuple[int, int], before: str, after: str) -> Edit:
        """Write around a stretch, as one edit: what moves the stretch moves both."""
        return Edit(*span, lambda text: f"{before}{text}{after}")


Holder = ast.Call | ast.Dict
"""What holds keyword arguments: a call, or the literal of a mapping that a call takes them from."""


@dataclass(frozen=True)
class CallEdit:
    """Change the arguments of a call, or the entries of a mapping, counted in the order in which they are written."""

    call: Holder
    removed: frozenset[int] = frozenset()
    renamed: tuple[tuple[int, str], ...] = ()
    """Pairs of an argument and the keyword it gets."""
    values: tuple[tuple[int, str], ...] = ()
    """Pairs of an argument and the text of its new value."""
    added: tuple[tuple[str, str], ...] = ()
    """Pairs of a new keyword and the text of its value."""


@dataclass(frozen=True)
class RemoveStatement:
    """Take a statement out of its block; the block gets a ``pass`` if nothing else is left in it."""

    statement: ast.stmt
    with_comments: bool = False
    """Whether the comment lines directly above go as well: only where they can be about nothing else."""


def assignment_goes(binding: Binding) -> tuple[RemoveStatement, ...]:
    """Take an assignment away that does nothing else; a ``while name := value:`` stays."""
    statement = binding.statement
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    is_plain = isinstance(statement, (ast.Assign, ast.AnnAssign)) and targets == [binding.node]
    return (RemoveStatement(statement),) if is_plain else ()


@dataclass(frozen=True)
class InsertLines:
    """Put whole lines, written without indentation, before or after a statement."""

    statement: ast.stmt
    lines: tuple[str, ...]
    after: bool = False


@dataclass(frozen=True)
class Unwrap:
    """Put one block of a ``with``, ``for`` or ``if`` statement in its place."""

    statement: ast.With | ast.For | ast.If
    branch: str = "body"


@dataclass(frozen=True)
class RenameImport:
    """Import a native name in the place of an Optimum Neuron one, and rename its uses."""

    binding: Binding
    native: str


@dataclass(frozen=True)
class RenameAttribute:
    """Write a native name for an attribute of an imported Optimum Neuron module (``optimum.neuron.NeuronTrainer``)."""

    binding: Binding
    node: ast.Attribute
    native: str


@dataclass(frozen=True)
class RenameStar:
    """Write a native name for one that came from ``from optimum.neuron import *``."""

    node: ast.Name
    native: str
    statement: ast.ImportFrom


@dataclass(frozen=True)
class EraseImport:
    """Take a name out of its import statement: nothing uses it any more."""

    binding: Binding


@dataclass(frozen=True)
class EraseAttribute:
    """Other edits take away this use of an imported module; its import goes when all uses do."""

    binding: Binding
    node: ast.AST


AnyEdit = (
    Edit
    | CallEdit
    | RemoveStatement
    | InsertLines
    | Unwrap
    | RenameImport
    | RenameAttribute
    | RenameStar
    | EraseImport
    | EraseAttribute
)


@dataclass(frozen=True)
class Change:
    """What a rule has to say about one place, with the edits that belong to it: all are made or none is."""

    outcome: Outcome
    node: ast.AST
    message: str
    edits: tuple[AnyEdit, ...] = ()
    requires: tuple[str, ...] = ()
    """Dotted names that the new text uses and that must be imported."""
    launch: str | None = None
    """What must stand before ``torchrun`` on the launch line of a script with this change."""
    marks: ast.stmt | None = field(default=None)
    """For a manual change, the statement that gets the marker, if not the one that holds ``node``."""


def without_lost(edits: list[Edit]) -> list[Edit]:
    """Leave out edits inside of a stretch that is deleted as a whole; what is inserted at its borders stays."""
    deletions = sorted({(edit.start, edit.end) for edit in edits if edit.deletes})
    starts = [start for start, _ in deletions]
    furthest = list(accumulate((end for _, end in deletions), max))
    """How far the deletions reach that start at each of these places or before."""

    def is_lost(edit: Edit) -> bool:
        before = bisect_left(starts, edit.start)
        reach = furthest[before - 1] if before else -1
        if edit.start == edit.end:
            return reach > edit.end
        same = bisect_right(starts, edit.start)
        return reach >= edit.end or (same > before and deletions[same - 1][1] > edit.end)

    return [edit for edit in edits if not is_lost(edit)] if deletions else edits


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Apply edits to a text. Edits may be nested or side by side but not cross; equal ones apply in order."""
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.start != edit.end, -edit.end))
    return _render(text, 0, len(text), ordered)


def _render(text: str, start: int, end: int, edits: Sequence[Edit]) -> str:
    parts = []
    cursor = start
    index = 0
    while index < len(edits):
        edit = edits[index]
        parts.append(text[cursor : edit.start])
        equals, inner, index = _group(edits, index)
        changed = _render(text, edit.start, edit.end, inner)
        for equal in equals:
            changed = equal.apply(changed)
        parts.append(changed)
        cursor = edit.end
    parts.append(text[cursor:end])
    return "".join(parts)


def _group(edits: Sequence[Edit], index: int) -> tuple[list[Edit], list[Edit], int]:
    """The edits of the same stretch as one, those inside of it, and the index of the next one after it.

    An insertion at the very start or end of a stretch stands outside of it.
    """
    first = edits[index]
    equals, inner = [first], []
    index += 1
    while index < len(edits) and edits[index].start < first.end:
        edit = edits[index]
        if (edit.start, edit.end) == (first.start, first.end):
            equals.append(edit)
        elif edit.end <= first.end:
            inner.append(edit)
        else:
            raise ValueError(f"edits cross at {edit.start}")
        index += 1
    if first.start == first.end:
        while index < len(edits) and (edits[index].start, edits[index].end) == (first.start, first.end):
            equals.append(edits[index])
            index += 1
    return equals, inner, index
