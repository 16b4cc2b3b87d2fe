"""The words every other module speaks: what a rule is, what it finds, and what a migration returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Outcome(str, Enum):
    """What became of one use of Optimum Neuron. There are three and no more."""

    REWRITTEN = "rewritten"
    """Rewritten with the same meaning; nobody needs to think about it."""
    REVIEW = "review"
    """Rewritten or kept, but something differs that a person must know: memory, numerics, resume."""
    MANUAL = "manual"
    """Not rewritten; the marker above the statement says what to do."""


@dataclass(frozen=True, order=True)
class Position:
    """A place in a text: line and column, both counted from 1, columns in characters."""

    line: int
    column: int


@dataclass(frozen=True)
class Finding:
    """One thing a rule has to say about one place of a file."""

    code: str
    outcome: Outcome
    message: str
    """One or more sentences: what was met and what it became, or what a person has to do."""
    start: Position
    end: Position
    url: str = ""
    cell: int = 0
    """For a notebook, the number of the cell, counted from 1."""
    within: Position | None = None
    """For a notebook, the place in the cell; ``start`` and ``end`` are places in the file."""

    @property
    def place(self) -> str:
        """The place as a person reads it: ``12:5``, or ``cell 3:2:5`` in a notebook."""
        if self.within is not None:
            return f"cell {self.cell}:{self.within.line}:{self.within.column}"
        return f"{self.start.line}:{self.start.column}"

    @property
    def where(self) -> str:
        """The line in words: ``line 12``, or ``cell 3, line 2`` in a notebook."""
        return f"cell {self.cell}, line {self.within.line}" if self.within is not None else f"line {self.start.line}"

    @property
    def told(self) -> str:
        """The message on one line; with the cell in front, for readers that know only lines of a file."""
        message = " ".join(self.message.split())
        return f"{self.where.capitalize()}: {message}" if self.within is not None else message


@dataclass(frozen=True)
class Settings:
    """What a caller may choose about a migration."""

    select: tuple[str, ...] = ()
    """Prefixes of the rule codes to run; none means all that are on by default."""
    ignore: tuple[str, ...] = ()
    """Prefixes of the rule codes not to run; stronger than ``select`` when equally long or longer."""
    annotate: bool = False
    """Also write the review findings into the file, as comments."""
    shim: bool = True
    """Whether migrated Python may import ``neuron_shim``; else plain lines stand in its place."""
    targets: tuple[tuple[str, str], ...] = ()
    """The versions of the libraries that are written for, as :func:`neuron_codemods.targets.checked` returns them."""


@dataclass(frozen=True)
class Migration:
    """The result of migrating one text."""

    text: str
    changed: bool
    findings: tuple[Finding, ...] = ()
    launch: tuple[str, ...] = ()
    """For a script that trains, what stands before ``torchrun`` (``TP_SIZE=2``, or nothing) now; else empty."""


@dataclass(frozen=True)
class Case:
    """One example of a rule: a test, the text of ``--explain`` and the documentation page at once.

    A case whose ``after`` is empty is a no-op: the rule must leave ``before`` as it is.
    """

    name: str
    before: str
    after: str = ""
    outcomes: tuple[Outcome, ...] = ()
    """The outcomes that this rule's findings must have, in order of place; empty means not looked at."""

    @property
    def expected(self) -> str:
        return self.after or self.before

    @property
    def is_noop(self) -> bool:
        return not self.after


@dataclass(frozen=True)
class Rule:
    """What a person sees of a rule; the code beside it does the work."""

    code: str
    name: str
    summary: str
    url: str
    outcomes: tuple[Outcome, ...] = field(default=(Outcome.REWRITTEN,))
    kind: str = "python"
    """What it looks at: a name of ``neuron_codemods.kinds``."""


class SourceError(ValueError):
    """A text that cannot be read as what it should be, such as Python 3, with the place of the first problem."""

    def __init__(self, message: str, line: int, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column

    def __reduce__(self) -> tuple[type[SourceError], tuple[str, int, int]]:
        return (SourceError, (self.message, self.line, self.column))
