"""The report for programs: one JSON document, described by ``report.schema.json`` beside this module."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from neuron_migrate import __version__, launching
from neuron_migrate.diff import unified
from neuron_migrate.lines import Stretch, stretches
from neuron_migrate.output import Output
from neuron_migrate.reports import Mode
from neuron_migrate.results import FileResult, Totals

if TYPE_CHECKING:
    from neuron_codemods.model import Finding

VERSION = 1
"""Of the form: a member that goes or changes its meaning makes it the next one; a new member does not."""


class JsonReport:
    """All files and the summary, written at the end, when the summary is known."""

    def __init__(self, mode: Mode, out: Output, *, names: Callable[[], Mapping[str, str]] = dict) -> None:
        self._mode = mode
        self._out = out
        self._names = names
        self._files: list[dict[str, Any]] = []

    def file(self, result: FileResult) -> None:
        """Tell of one file; a file with nothing to tell is only counted."""
        if not (result.changed or result.findings or result.problem):
            return
        told: dict[str, Any] = {"path": result.path, "changed": result.changed}
        told["findings"] = [self._finding(finding) for finding in result.findings]
        if result.changed:
            told["changes"] = [
                _change(stretch) for stretch in stretches(result.before, result.after or b"") if not stretch.equal
            ]
            if self._mode is Mode.DIFF:
                told["diff"] = _text(unified(result.path, result.before, result.after or b""))
        if result.problem is not None:
            problem = result.problem
            told["problem"] = {"reason": problem.reason, "line": problem.line, "column": problem.column}
        self._files.append(told)

    def end(self, totals: Totals) -> None:
        """Tell all."""
        document = {
            "version": VERSION,
            "tool": {"name": "neuron-migrate", "version": __version__},
            "mode": self._mode.value,
            "files": self._files,
            "summary": self._summary(totals),
        }
        self._out.line(json.dumps(document, indent=2))

    def _finding(self, finding: Finding) -> dict[str, Any]:
        told = {
            "code": finding.code,
            "name": self._names().get(finding.code, ""),
            "outcome": finding.outcome.value,
            "message": " ".join(finding.message.split()),
            "start": {"line": finding.start.line, "column": finding.start.column},
            "end": {"line": finding.end.line, "column": finding.end.column},
            "url": finding.url,
        }
        if finding.within is not None:
            within = finding.within
            told["cell"] = {"number": finding.cell, "line": within.line, "column": within.column}
        return told

    def _summary(self, totals: Totals) -> dict[str, Any]:
        names = self._names()
        outcomes = ("rewritten", "review", "manual")
        return {
            "files": {
                "scanned": totals.scanned,
                "concerned": totals.concerned,
                "changed": totals.changed,
                "failed": totals.failed,
            },
            "references": {outcome: totals.outcome(outcome) for outcome in outcomes},
            "rules": [
                {
                    "code": code,
                    "name": names.get(code, ""),
                    **{outcome: totals.references[code, outcome] for outcome in outcomes},
                }
                for code in sorted({code for code, _ in totals.references})
            ],
            "launch": launching.commands(totals.launches),
            "launch_advice": launching.advice(totals.launches),
            "exit_status": totals.status(writes=self._mode.writes),
        }


def _change(stretch: Stretch) -> dict[str, Any]:
    return {
        "before": {"line": stretch.old_line, "text": _text(b"".join(stretch.old))},
        "after": {"line": stretch.new_line, "text": _text(b"".join(stretch.new))},
    }


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
