"""The report for those who plan the work: a page of Markdown or HTML that stands by itself, written at the end.

What is left comes first: by hand, then to review, each by file; then every file, every rule, and how to launch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from neuron_migrate import launching
from neuron_migrate.diff import unified
from neuron_migrate.output import counted
from neuron_migrate.projects import Projects
from neuron_migrate.results import FileResult, Problem, Totals

if TYPE_CHECKING:
    from neuron_codemods.model import Finding

OUTCOMES = ("rewritten", "review", "manual")
LEFT = (
    (
        "manual",
        "To do by hand",
        "This is not rewritten. Where a comment can stand, a TODO above the line says the same.",
    ),
    (
        "review",
        "To review",
        "This is rewritten, and something differs that somebody should know before it runs.",
    ),
)
"""What is left for a person: the outcomes, each with its heading and what it means."""


@dataclass(frozen=True)
class FileEntry:
    """What the page says of one file."""

    path: str
    changed: bool
    findings: tuple[Finding, ...]
    diff: str
    problem: Problem | None

    def count(self, outcome: str) -> int:
        return sum(finding.outcome.value == outcome for finding in self.findings)

    def of(self, outcome: str) -> list[Finding]:
        return [finding for finding in self.findings if finding.outcome.value == outcome]


@dataclass
class Page:
    """Everything on the page, whatever its form."""

    writes: bool
    names: Mapping[str, str] = field(default_factory=dict)
    files: list[FileEntry] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    projects: Projects = field(default_factory=Projects)

    @property
    def references(self) -> int:
        return sum(self.totals.references.values())

    @property
    def headline(self) -> str:
        """The state of the migration in one sentence or two."""
        totals = self.totals
        if not totals.anything:
            return f"Nothing to migrate: {counted(totals.scanned, 'file')} scanned."
        done = "rewritten" if self.writes else "would be rewritten"
        files = f"{counted(totals.changed, 'file')} of {totals.scanned:,} {done}"
        if totals.failed:
            files += f", {totals.failed:,} could not be processed"
        left = ", ".join(
            f"{totals.outcome(outcome):,} {words}"
            for outcome, words in (("rewritten", "rewritten"), ("review", "to review"), ("manual", "to do by hand"))
        )
        return f"{files}. {counted(self.references, 'reference')} to Optimum Neuron: {left}."

    def with_outcome(self, outcome: str) -> list[FileEntry]:
        return [entry for entry in self.files if entry.count(outcome)]

    def by_message(self, outcome: str) -> list[tuple[Finding, list[str]]]:
        """What is said of several places, with all of them: many projects need the same looked at."""
        places: dict[tuple[str, str], tuple[Finding, list[str]]] = {}
        for entry in self.files:
            for finding in entry.of(outcome):
                told = places.setdefault((finding.code, finding.message), (finding, []))
                told[1].append(f"{entry.path}, {finding.where}")
        return sorted(places.values(), key=lambda told: (-len(told[1]), told[0].code, told[0].message))

    @property
    def rules(self) -> list[tuple[str, str, tuple[int, ...]]]:
        """Code, name and the counts of the three outcomes."""
        codes = sorted({code for code, _ in self.totals.references})
        return [
            (code, self.names.get(code, ""), tuple(self.totals.references[code, outcome] for outcome in OUTCOMES))
            for code in codes
        ]

    @property
    def launch(self) -> tuple[list[str], str]:
        return launching.commands(self.totals.launches), launching.advice(self.totals.launches)


class PageReport:
    """Collects the run and writes the page, in the form that ``render`` gives it."""

    def __init__(
        self, path: Path, render: Callable[[Page], str], *, writes: bool, names: Callable[[], Mapping[str, str]] = dict
    ) -> None:
        self._path = path
        self._render = render
        self._names = names
        self._page = Page(writes)

    def file(self, result: FileResult) -> None:
        """Remember one file."""
        if not (result.changed or result.findings or result.problem):
            return
        self._page.projects.add(result)
        diff = unified(result.path, result.before, result.after or b"").decode(errors="replace")
        self._page.files.append(
            FileEntry(result.path, result.changed, result.findings, diff if result.changed else "", result.problem)
        )

    def end(self, totals: Totals) -> None:
        """Write the page; raises ``OSError`` where that cannot be."""
        self._page.totals = totals
        self._page.names = self._names()
        try:
            self._path.write_text(self._render(self._page), encoding="utf-8", errors="backslashreplace")
        except OSError as error:  # a full disk is told without a name
            raise OSError(error.errno, f"the report is not whole: {error.strerror}", str(self._path)) from error
