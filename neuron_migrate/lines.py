"""How the lines of a file before the migration and after it belong together."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

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
    old, new = _LINE.findall(before), _LINE.findall(after)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    middle = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    found = [(True, 0, head, 0, head)]
    found += [
        (tag == "equal", head + start, head + end, head + there, head + stop)
        for tag, start, end, there, stop in middle.get_opcodes()
    ]
    found.append((True, len(old) - tail, len(old), len(new) - tail, len(new)))
    return [
        Stretch(equal, tuple(old[start:end]), tuple(new[there:stop]), start + 1, there + 1)
        for equal, start, end, there, stop in found
        if end > start or stop > there
    ]


def line_in_new_text(before: bytes, after: bytes) -> Callable[[int], int]:
    """From the number of a line in the old text to that of the same line, or of what stands for it, in the new one."""
    numbers: list[int] = []
    for stretch in stretches(before, after):
        numbers += [stretch.new_line + index for index in _partners(stretch.old, stretch.new)]
    return lambda number: numbers[number - 1] if 0 < number <= len(numbers) else number


def _partners(old: Sequence[bytes], new: Sequence[bytes]) -> list[int]:
    """For each of some lines the index of what most likely stands for it.

    Where a call was broken into lines, these belong to the line that begins as the call did.
    """
    last = max(len(new) - 1, 0)
    there = {_beginning(line): index for index, line in reversed(tuple(enumerate(new)))}
    known = [there.get(_beginning(line)) for line in old]
    if len(old) == len(new) or not any(index is not None for index in known):
        return [min(index, last) for index in range(len(old))]
    found, at = [], 0
    for index in known:
        at = at if index is None else index
        found.append(at)
    return found


def _beginning(line: bytes) -> bytes:
    """What a line sets, calls or opens, which stays when the rest of a statement changes."""
    return re.split(rb"[=(:#]", line, maxsplit=1)[0].strip()


def _common(first: list[bytes], second: list[bytes]) -> int:
    """How many lines two texts have in common at their start."""
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count
