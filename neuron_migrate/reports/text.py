"""The report for people: what was found where, and at the end what was done, what is left and how to launch it.

On a terminal the findings of a file stand together, broken to its width. Anywhere else each is one line that begins
with ``path:line:column:``, for grep and editors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from neuron_migrate import launching
from neuron_migrate.diff import colored, unified
from neuron_migrate.output import Output, aligned, counted
from neuron_migrate.projects import COLUMNS, Projects
from neuron_migrate.reports import Detail, Mode
from neuron_migrate.results import FileResult, Problem, Totals

if TYPE_CHECKING:
    from neuron_codemods.model import Finding

OUTCOMES = {"rewritten": "green", "review": "yellow", "manual": "red"}

SHOWN_LAUNCHES = 8
SHOWN_PROJECTS = 20
TELLS_FILES = (Detail.NORMAL, Detail.VERBOSE)
ROOM = 40
"""Columns that a message needs; if there are fewer beside its place, it stands below."""


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
        self._projects = Projects()
        self._last = ""
        """What was told last: nothing, a line or a group of lines."""

    def file(self, result: FileResult) -> None:
        """Tell of one file."""
        if self._detail is Detail.STATISTICS:
            self._projects.add(result)
        if result.problem is not None:
            self._problem(result.path, result.problem)
        findings = [finding for finding in result.findings if finding.outcome.value in self._detail.value]
        done = ""
        if result.changed and self._detail in TELLS_FILES and self._mode in (Mode.WRITE, Mode.CHECK):
            done = "Rewrote" if self._mode is Mode.WRITE else "Would rewrite"
        if self._told.columns is None:
            self._lines(result.path, findings, done)
        elif findings or done:
            self._group(result.path, findings, done)
        if result.after is not None and self._mode is Mode.DIFF:
            diff = unified(result.path, result.before, result.after)
            if self._out.columns is not None:
                self._apart("group", self._out)
            self._out.data(colored(diff) if self._out.color else diff)

    def end(self, totals: Totals) -> None:
        """Tell what all files add up to."""
        if self._detail is Detail.QUIET:
            return
        if not totals.anything:
            self._told.line(f"Nothing to migrate: {counted(totals.scanned, 'file')} scanned.")
            return
        self._told.line()
        for line in self._summary(totals):
            self._told.paragraph(line)
        if totals.references:
            self._told.line()
            for line in self._table(totals):
                self._told.line(line)
        self._tell_projects()
        self._launches(launching.commands(totals.launches), launching.advice(totals.launches))

    def _tell_projects(self) -> None:
        rows = self._projects.rows()
        if not rows:
            return
        cells = [(name, *(f"{count:,}" if count else "-" for count in counts)) for name, counts in rows]
        shown = [("project", *COLUMNS), *cells[:SHOWN_PROJECTS]]
        self._told.line()
        for line in aligned(shown, frozenset(range(1, 1 + len(COLUMNS)))):
            self._told.line(line)
        if len(rows) > SHOWN_PROJECTS:
            self._told.line(f"and {len(rows) - SHOWN_PROJECTS:,} more projects; --report writes them all")

    def _launches(self, commands: Sequence[str], advice: str) -> None:
        if not commands:
            return
        self._told.line()
        self._told.line(self._told.style("Launch:", bold=True))
        for command in commands[:SHOWN_LAUNCHES]:
            self._told.line(f"  {command}")
        if len(commands) > SHOWN_LAUNCHES:
            self._told.line(f"  and {len(commands) - SHOWN_LAUNCHES:,} more")
        self._told.paragraph(advice)

    def _problem(self, path: str, problem: Problem) -> None:
        place = path if problem.line is None else f"{path}:{problem.line}:{problem.column or 1}"
        if self._err.columns is not None:
            self._apart("line", self._err)
        before = f"{self._err.style(place, 'red', bold=True)}:"
        if self._err.columns is None or len(place) + len(problem.reason) + 2 <= self._err.columns:
            self._err.line(f"{before} {problem.reason}")
        else:
            self._err.line(before)
            self._err.paragraph(problem.reason, " " * 4, 4)
        if self._detail is Detail.VERBOSE and problem.detail:
            self._err.line(problem.detail.rstrip())

    def _lines(self, path: str, findings: Sequence[Finding], done: str) -> None:
        for finding in findings:
            outcome = self._told.style(finding.outcome.value, OUTCOMES[finding.outcome.value])
            code = self._told.style(finding.code, "cyan")
            place = f"{path}:{finding.place}:"
            self._told.line(f"{place} {code} {outcome} {_message(finding)}")
        if done:
            self._told.line(f"{done} {path}")

    def _group(self, path: str, findings: Sequence[Finding], done: str) -> None:
        self._apart("group" if findings else "line", self._told)
        self._told.line(f"{done} {self._told.style(path, bold=True)}".lstrip())
        places = [finding.place for finding in findings]
        width = max(map(len, places), default=0)
        longest = max((len(finding.outcome.value) for finding in findings), default=0)
        for place, finding in zip(places, findings, strict=True):
            outcome = self._told.style(finding.outcome.value.ljust(longest), OUTCOMES[finding.outcome.value])
            before = f"  {place.rjust(width)}  {self._told.style(finding.code, 'cyan')}  {outcome}  "
            indentation = width + len(finding.code) + longest + 8
            if (self._told.columns or 0) - indentation < ROOM:
                self._told.line(before.rstrip())
                before, indentation = "    ", 4
            self._told.paragraph(_message(finding), before, indentation)

    def _apart(self, kind: str, stream: Output) -> None:
        """An empty line before a group of lines, and behind it."""
        if self._last and "group" in (self._last, kind):
            stream.line()
        self._last = kind

    def _summary(self, totals: Totals) -> list[str]:
        done = "rewritten" if self._mode.writes else "would be rewritten"
        files = [
            f"{totals.scanned:,} scanned",
            f"{totals.concerned:,} with findings",
            f"{totals.changed:,} {done}",
        ]
        if totals.failed:
            files.append(self._told.style(f"{totals.failed:,} could not be processed", "red"))
        counts = [totals.outcome(outcome) for outcome in OUTCOMES]
        told = (f"{counts[0]:,} rewritten", f"{counts[1]:,} to review", f"{counts[2]:,} to do by hand")
        lines = [f"Files: {', '.join(files)}.", f"References: {sum(counts):,} found, {', '.join(told)}."]
        if totals.declined:
            lines.append(f"Left as it was: {counted(totals.declined, 'change')}.")
        return lines

    def _table(self, totals: Totals) -> list[str]:
        names = self._names()
        rows: list[tuple[str, ...]] = [("code", "rule", *OUTCOMES)]
        for code in sorted({code for code, _ in totals.references}):
            numbers = (totals.references[code, outcome] for outcome in OUTCOMES)
            rows.append((code, names.get(code, ""), *(f"{number:,}" if number else "-" for number in numbers)))
        colors = ("cyan", "", *OUTCOMES.values())

        def styled(column: int, cell: str) -> str:
            plain = not colors[column] or cell.strip() == "-"
            return cell if plain else self._told.style(cell, colors[column])

        return aligned(rows, frozenset(range(2, 2 + len(OUTCOMES))), styled)


def _message(finding: Finding) -> str:
    return " ".join(finding.message.split())
