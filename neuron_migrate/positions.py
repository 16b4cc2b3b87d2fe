"""Where the findings of a file are once it is rewritten: an editor opens the new text, not the old one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from neuron_migrate.results import FileResult

if TYPE_CHECKING:
    from neuron_codemods.model import Finding, Position

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


def in_new_text(result: FileResult) -> FileResult:
    """The result of a file that was written, with its findings where their lines are now."""
    if result.after is None or not result.findings:
        return result
    line = _lines(result.before, result.after)
    return replace(result, findings=tuple(_moved(finding, line) for finding in result.findings))


def _moved(finding: Finding, line: Callable[[int], int]) -> Finding:
    def place(position: Position) -> Position:
        return replace(position, line=line(position.line))

    return replace(finding, start=place(finding.start), end=place(finding.end))


def _lines(before: bytes, after: bytes) -> Callable[[int], int]:
    """From the number of a line in one text to that of the same line, or of what stands for it, in the other."""
    old, new = _LINE.findall(before), _LINE.findall(after)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    middle = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    numbers = list(range(1, head + 1))
    for _, start, end, there, stop in middle.get_opcodes():
        numbers += [head + 1 + min(there + index, max(stop - 1, there)) for index in range(end - start)]
    numbers += range(len(new) - tail + 1, len(new) + 1)
    return lambda number: numbers[number - 1] if 0 < number <= len(numbers) else number


def _common(first: list[bytes], second: list[bytes]) -> int:
    """How many lines two texts have in common at their start."""
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count
