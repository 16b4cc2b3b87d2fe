"""Lines that set an environment variable in a text that is no shell: read as what ``export`` would say."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from neuron_codemods.source import Text
from neuron_codemods.texts import Region


def exported(outer: Text, lines: tuple[int, int], place: int, name: str, value: str) -> Region:
    """A variable that whole lines set; what is told of it is told of ``place``."""
    start, end = lines
    item, position = outer.text[start:end], outer.position(place)

    def restore(new: str, _: Sequence[str]) -> str:
        """An item for each variable, below the comments of this tool."""
        newline, indentation = outer.newline(start), outer.indentation(start)
        marks = [indentation + text + newline for text in new.splitlines() if text.startswith("#")]
        pairs = [word.partition("=") for word in shlex.split(new, comments=True) if word != "export"]
        return "".join((*marks, *(_renamed(item, (name, value), (other, said)) for other, _, said in pairs)))

    return Region("shell", start, end, f"export {name}={shlex.quote(value)}\n", restore, lambda _: position)


def _renamed(item: str, old: tuple[str, str], new: tuple[str, str]) -> str:
    """The lines with another name and another value."""
    before, _, behind = item.partition(old[0])
    if old[1] in behind:
        behind = behind.replace(old[1], new[1], 1)
    else:  # the value stands first
        before = before.replace(old[1], new[1], 1)
    return before + new[0] + behind
