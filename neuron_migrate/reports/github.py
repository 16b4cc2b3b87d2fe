"""The report for GitHub Actions: workflow commands, which become annotations beside the lines of a pull request.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from neuron_migrate.output import Output
from neuron_migrate.reports import Detail
from neuron_migrate.results import FileResult, Problem, Totals

if TYPE_CHECKING:
    from neuron_codemods.model import Finding

LEVELS = {"manual": "error", "review": "warning", "rewritten": "notice"}


class GithubReport:
    """One line for each finding and each problem."""

    def __init__(
        self, out: Output, *, detail: Detail = Detail.NORMAL, names: Callable[[], Mapping[str, str]] = dict
    ) -> None:
        self._out = out
        self._detail = detail
        self._names = names

    def file(self, result: FileResult) -> None:
        """Tell of one file."""
        if result.problem is not None:
            self._problem(result.path, result.problem)
        for finding in result.findings:
            if finding.outcome.value in self._detail.value:
                self._finding(result.path, finding)

    def end(self, totals: Totals) -> None:
        """Nothing more: GitHub counts the annotations itself."""

    def _problem(self, path: str, problem: Problem) -> None:
        place = {"file": path, "line": problem.line, "col": problem.column}
        self._annotate("error", {**place, "title": "neuron-migrate"}, problem.reason)

    def _finding(self, path: str, finding: Finding) -> None:
        properties: dict[str, str | int | None] = {
            "file": path,
            "line": finding.start.line,
            "endLine": finding.end.line,
            "title": f"{finding.code} {self._names().get(finding.code, '')}".rstrip(),
        }
        if finding.start.line == finding.end.line:  # GitHub refuses columns of a place with several lines
            properties |= {"col": finding.start.column, "endColumn": finding.end.column}
        self._annotate(LEVELS[finding.outcome.value], properties, finding.told)

    def _annotate(self, level: str, properties: Mapping[str, str | int | None], message: str) -> None:
        given = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items() if value is not None)
        self._out.line(f"::{level} {given}::{_escaped(message)}")


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
