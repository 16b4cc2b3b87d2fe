"""How the lines of a text before a migration and after it belong together."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

Block = tuple[bool, int, int, int, int]
"""Whether some lines are equal, where they start and end in the old text, and where in the new one."""


def blocks(old: Sequence[object], new: Sequence[object]) -> list[Block]:
    """Both texts from beginning to end, in blocks that are equal and blocks that are not."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    middle = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    found = [(True, 0, head, 0, head)]
    found += [
        (tag == "equal", head + start, head + end, head + there, head + stop)
        for tag, start, end, there, stop in middle.get_opcodes()
    ]
    found.append((True, len(old) - tail, len(old), len(new) - tail, len(new)))
    return [block for block in found if block[2] > block[1] or block[4] > block[3]]


def line_in_new_text(old: Sequence[str], new: Sequence[str]) -> Callable[[int], int]:
    """From the number of an old line, counted from 1, to that of the new one that is the same or stands for it.

    A number beyond the old lines stays.
    """
    numbers: list[int] = []
    for _, start, end, there, stop in blocks(old, new):
        numbers += [there + 1 + index for index in _partners(old[start:end], new[there:stop])]
    return lambda number: numbers[number - 1] if 0 < number <= len(numbers) else number


def _partners(old: Sequence[str], new: Sequence[str]) -> list[int]:
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


def _beginning(line: str) -> str:
    """What a line sets, calls or opens, which stays when the rest of a statement changes."""
    return re.split(r"[=(:#]", line, maxsplit=1)[0].strip()


def _common(first: Sequence[object], second: Sequence[object]) -> int:
    """How many lines two texts have in common at their start."""
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count
