"""The reports that can be asked for, each made with what it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neuron_migrate.output import Output
from neuron_migrate.reports import Detail, Mode, Report
from neuron_migrate.results import FileResult, Totals

if TYPE_CHECKING:
    from neuron_codemods.registry import RuleModule

FORMATS = ("text", "json", "sarif", "github")
"""What ``--output-format`` takes."""
PAGES = {".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html"}
"""What the file of ``--report`` may end in, each with the module of its form."""
SUFFIXES = tuple(PAGES)


def make(name: str, mode: Mode, out: Output, err: Output, detail: Detail) -> Report:
    """The report of one of the :data:`FORMATS`; the module of no other is imported."""
    if name == "json":
        from neuron_migrate.reports.json import JsonReport

        return JsonReport(mode, out, names=_names)
    if name == "sarif":
        from neuron_migrate.reports.sarif import SarifReport

        return SarifReport(mode, out, _rules)
    if name == "github":
        from neuron_migrate.reports.github import GithubReport

        return GithubReport(out, detail=detail, names=_names)
    from neuron_migrate.reports.text import TextReport

    return TextReport(mode, out, err, detail=detail, names=_names)


def page(report: Report, path: str, mode: Mode) -> Report:
    """The same report, and a page for people beside it."""
    from importlib import import_module

    from neuron_migrate.reports.page import PageReport

    form = import_module(f"neuron_migrate.reports.{PAGES[Path(path).suffix.lower()]}")
    return _Both(report, PageReport(Path(path), form.render, writes=mode.writes, names=_names))


class _Both:
    def __init__(self, *reports: Report) -> None:
        self._reports = reports

    def file(self, result: FileResult) -> None:
        for report in self._reports:
            report.file(result)

    def end(self, totals: Totals) -> None:
        for report in self._reports:
            report.end(totals)


def _names() -> Mapping[str, str]:
    from neuron_migrate import catalog

    return catalog.names()


def _rules() -> Sequence[RuleModule]:
    from neuron_codemods.registry import rules

    return rules()
