"""How the lines of a file before the migration and after it belong together, in its bytes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


@dataclass(frozen=True)
class Stretch:
    """Lines of the old text and what stands for them in the new one; either may be none."""

    equal: bool
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]
    old_line: int
    """The number of the first old line, or of the one that the new lines stand before; counted from 1."""
    new_line: int


def stretches(before: bytes, after: bytes) -> list[Stretch]:
    """Both texts from beginning to end, in stretches that are equal and stretches that are not."""
    from neuron_codemods.lines import blocks

    old, new = _LINE.findall(before), _LINE.findall(after)
    return [
        Stretch(equal, tuple(old[start:end]), tuple(new[there:stop]), start + 1, there + 1)
        for equal, start, end, there, stop in blocks(old, new)
    ]


def line_in_new_text(before: bytes, after: bytes) -> Callable[[int], int]:
    """From the number of a line in the old text to that of the same line, or of what stands for it, in the new one."""
    from neuron_codemods import lines

    old, new = ([line.decode("latin-1") for line in _LINE.findall(text)] for text in (before, after))
    return lines.line_in_new_text(old, new)
