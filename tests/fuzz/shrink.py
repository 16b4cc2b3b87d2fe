"""The smallest program that breaks the same promise: lines are left out as long as it does."""

from __future__ import annotations

from collections.abc import Callable

from neuron_codemods.source import Text


def shrunk(text: str, breaks: Callable[[str], bool]) -> str:
    """The text without all lines that can be left out."""
    lines = list(Text(text).lines)
    size = max(len(lines) // 2, 1)
    while True:
        lines, fewer = _pass(lines, size, breaks)
        if size > 1:
            size //= 2
        elif not fewer:
            return "".join(lines)


def _pass(lines: list[str], size: int, breaks: Callable[[str], bool]) -> tuple[list[str], bool]:
    fewer = False
    index = 0
    while index < len(lines):
        rest = lines[:index] + lines[index + size :]
        if breaks("".join(rest)):
            lines, fewer = rest, True
        else:
            index += size
    return lines, fewer
