"""The report for people: one line a finding, and at the end what was done and what is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING

from neuron_migrate.diff import colored, unified
from neuron_migrate.output import Output, aligned, counted
from neuron_migrate.results import FileResult, Problem, Totals

if TYPE_CHECKING:
    from neuron_codemods.model import Finding

OUTCOMES = {"rewritten": "green", "review": "yellow", "manual": "red"}


class Mode(Enum):
    """What a run does with the files it would change."""

    WRITE = "write"
    CHECK = "check"
    DIFF = "diff"
    FILTER = "filter"
    """From standard input to standard output."""


class Detail(Enum):
    """How much is told: at most this outcome's findings and the ones that matter more."""

    QUIET = ("manual",)
    NORMAL = ("manual", "review")
    VERBOSE = ("manual", "review", "rewritten")


class TextReport:
    """Findings and summary on one stream, problems on standard error."""

    def __init__(
        self,
        mode: Mode,
        out: Output,
        err: Output,
        *,
        detail: Detail = Detail.NORMAL,
        names: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self._mode = mode
        self._out = out
        self._err = err
        # What a pipe is to receive, a diff or a text, must come alone.
        self._told = err if mode in (Mode.DIFF, Mode.FILTER) else out
        self._detail = detail
        self._names = names

    def file(self, result: FileResult) -> None:
        """Tell of one file."""
        if result.problem is not None:
            self._problem(result.path, result.problem)
        for finding in result.findings:
            if finding.outcome.value in self._detail.value:
                self._told.line(self._finding(result.path, finding))
        if result.after is not None and self._mode is Mode.DIFF:
            diff = unified(result.path, result.before, result.after)
            self._out.data(colored(diff) if self._out.color else diff)
        elif result.changed and self._detail is not Detail.QUIET and self._mode in (Mode.WRITE, Mode.CHECK):
            self._told.line(f"{'Rewrote' if self._mode is Mode.WRITE else 'Would rewrite'} {result.path}")

    def end(self, totals: Totals) -> None:
        """Tell what all files add up to."""
        if self._detail is Detail.QUIET:
            return
        if not (totals.concerned or totals.failed):
            self._told.line(f"Nothing to migrate: {counted(totals.scanned, 'file')} scanned.")
            return
        self._told.line()
        for line in self._summary(totals):
            self._told.line(line)
        text = closing(totals)
        if text:
            self._told.line()
            self._told.line(text)

    def _problem(self, path: str, problem: Problem) -> None:
        place = path if problem.line is None else f"{path}:{problem.line}:{problem.column or 1}"
        self._err.line(f"{self._err.style(place, 'red', bold=True)}: {problem.reason}")
        if self._detail is Detail.VERBOSE and problem.detail:
            self._err.line(problem.detail.rstrip())

    def _finding(self, path: str, finding: Finding) -> str:
        place = f"{path}:{finding.start.line}:{finding.start.column}:"
        outcome = self._told.style(finding.outcome.value, OUTCOMES[finding.outcome.value])
        code = self._told.style(finding.code, "cyan")
        return f"{place} {code} {outcome} {' '.join(finding.message.split())}"

    def _summary(self, totals: Totals) -> list[str]:
        done = "rewritten" if self._mode in (Mode.WRITE, Mode.FILTER) else "would be rewritten"
        files = [
            f"{totals.scanned:,} scanned",
            f"{totals.concerned:,} with Optimum Neuron",
            f"{totals.changed:,} {done}",
        ]
        if totals.failed:
            files.append(self._told.style(f"{totals.failed:,} could not be processed", "red"))
        counts = [totals.outcome(outcome) for outcome in OUTCOMES]
        told = (f"{counts[0]:,} rewritten", f"{counts[1]:,} to review", f"{counts[2]:,} to do by hand")
        lines = [f"Files: {', '.join(files)}.", f"References: {sum(counts):,} found, {', '.join(told)}."]
        return [*lines, "", *self._table(totals)] if totals.references else lines

    def _table(self, totals: Totals) -> list[str]:
        names = self._names()
        rows: list[tuple[str, ...]] = [("code", "rule", *OUTCOMES)]
        for code in sorted({code for code, _ in totals.references}):
            numbers = (totals.references[code, outcome] for outcome in OUTCOMES)
            rows.append((code, names.get(code, ""), *(f"{number:,}" if number else "-" for number in numbers)))
        return aligned(rows, frozenset(range(2, 2 + len(OUTCOMES))))


def closing(totals: Totals) -> str:
    """The last paragraph: how to launch what was migrated. Empty until findings can tell."""
    return ""
