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
    return replace(result, findings=tuple(_moved(finding, line) for finding in result.findings))


def _moved(finding: Finding, line: Callable[[int], int]) -> Finding:
    def place(position: Position) -> Position:
        return replace(position, line=line(position.line))

    return replace(finding, start=place(finding.start), end=place(finding.end))
