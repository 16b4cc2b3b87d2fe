"""What is known about a file after the run, and what all files add up to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuron_codemods.model import Finding

WOULD_CHANGE = 1
"""Exit status: files would change. Only where nothing is written."""
WRONG_USAGE = 2
"""Exit status, always alone: the command line was not understood."""
LEFT_FOR_A_PERSON = 4
"""Exit status: at least one reference is left to be migrated by hand."""
NOT_PROCESSED = 8
"""Exit status: at least one file could not be processed."""


@dataclass(frozen=True)
class Problem:
    """Why a file could not be processed."""

    reason: str
    line: int | None = None
    column: int | None = None
    detail: str = ""
    """A traceback, for those who asked for one."""
    files: int = 1
    """How many files are left as they are because of it."""


@dataclass(frozen=True)
class FileResult:
    """What became of one file."""

    path: str
    before: bytes = b""
    after: bytes | None = None
    """The migrated bytes; None if nothing in the file changes."""
    findings: tuple[Finding, ...] = ()
    launch: tuple[str, ...] = ()
    """For a script that trains, what stands before its launcher once it is migrated; nothing may be one of them."""
    problem: Problem | None = None
    declined: int = 0
    """How many changes somebody who was asked did not want."""

    @property
    def changed(self) -> bool:
        return self.after is not None and self.problem is None

    def failed(self, problem: Problem) -> FileResult:
        """The same file, of which nothing came: what was found is not told, because it did not happen."""
        return replace(self, after=None, findings=(), launch=(), problem=problem)


@dataclass
class Totals:
    """The sum of all results."""

    scanned: int = 0
    concerned: int = 0
    changed: int = 0
    failed: int = 0
    declined: int = 0
    references: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many findings there are by rule code and outcome."""
    launches: list[tuple[str, str]] = field(default_factory=list)
    """What stands before the launcher of each migrated script that trains, and the path of the script."""

    def add(self, result: FileResult) -> None:
        self.failed += result.problem.files if result.problem is not None else 0
        self.changed += result.changed
        self.declined += result.declined
        self.concerned += result.changed or bool(result.findings)
        self.launches += ((before, result.path) for before in result.launch)
        for finding in result.findings:
            self.references[finding.code, finding.outcome.value] += 1

    @property
    def anything(self) -> bool:
        """Whether there was anything to migrate, or to fail at."""
        return bool(self.concerned or self.failed or self.declined)

    def outcome(self, outcome: str) -> int:
        """How many references have this outcome, whatever the rule."""
        return sum(count for (_, its), count in self.references.items() if its == outcome)

    def status(self, *, writes: bool) -> int:
        """The exit status: a sum of independent facts."""
        return (
            (WOULD_CHANGE if self.changed and not writes else 0)
            + (LEFT_FOR_A_PERSON if self.outcome("manual") else 0)
            + (NOT_PROCESSED if self.failed else 0)
        )
