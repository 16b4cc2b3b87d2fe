"""Where the findings of a file are once it is rewritten: an editor opens the new text, not the old one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from neuron_migrate.lines import line_in_new_text
from neuron_migrate.results import FileResult

if TYPE_CHECKING:
    from neuron_codemods.model import Finding, Position


def in_new_text(result: FileResult) -> FileResult:
    """The result of a file that was written, with its findings where their lines are now."""
    if result.after is None or not result.findings:
        return result
    line = line_in_new_text(result.before, result.after)
    findings = [moved(finding, line) for finding in result.findings]
    if any(finding.within is not None for finding in findings):
        findings = _in_cells(findings, result.before, result.after)
    return replace(result, findings=tuple(findings))


def _in_cells(findings: list[Finding], before: bytes, after: bytes) -> list[Finding]:
    """The same with their lines in the cells of a notebook."""
    from neuron_codemods.kinds import notebook

    old, new = (
        {cell.number: cell.text.encode() for cell in notebook.parse(data.decode("utf-8-sig"), "").cells}
        for data in (before, after)
    )
    found = []
    for finding in findings:
        if finding.within is not None:
            line = line_in_new_text(old[finding.cell], new[finding.cell])
            finding = replace(finding, within=replace(finding.within, line=line(finding.within.line)))
        found.append(finding)
    return found


def moved(finding: Finding, line: Callable[[int], int]) -> Finding:
    """A finding with its lines as ``line`` says that they are elsewhere."""

    def place(position: Position) -> Position:
        return replace(position, line=line(position.line))

    return replace(finding, start=place(finding.start), end=place(finding.end))
