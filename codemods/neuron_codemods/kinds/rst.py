"""reStructuredText: the code in ``.. code-block::`` directives and in doctest blocks.

https://docutils.sourceforge.io/docs/ref/rst/directives.html#code
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuron_codemods.fences import Block, regions
from neuron_codemods.source import Token
from neuron_codemods.texts import Parsed, Region

_DIRECTIVE = re.compile(
    r"(?P<indent>[ \t]*)\.\.[ \t]+(?:code-block|code|sourcecode|prompt)::[ \t]*(?P<language>\S*)[ \t]*"
)
_OPTION = re.compile(r"[ \t]+:[\w-]+:.*")


def parse(text: str, path: str) -> Rst:
    """A reStructuredText; there is none that cannot be read."""
    return Rst(text)


class Rst(Parsed):
    """A reStructuredText."""

    only_shows = True

    comment = ".. "

    def comments(self) -> Sequence[Token]:
        """None that this tool writes."""
        return ()

    def regions(self) -> Sequence[Region]:
        return list(regions(self, self._blocks()))

    def _blocks(self) -> Iterator[Block]:
        index = 0
        while index < len(self.lines):
            line = self.lines[index].rstrip("\r\n")
            directive = _DIRECTIVE.fullmatch(line)
            if directive is not None:
                first, last, prefix = self._body(index + 1, _width(directive["indent"]))
                yield Block(directive["language"] or "python", prefix, first, last)
                index = max(last, index + 1)
            elif line.lstrip().startswith(">>> "):
                last = index
                while last < len(self.lines) and self.lines[last].strip():
                    last += 1
                yield Block("pycon", line[: len(line) - len(line.lstrip())], index, last)
                index = last
            else:
                index += 1

    def _body(self, index: int, indent: int) -> tuple[int, int, str]:
        """The first line of a directive's text, the line after its last, and its indentation."""
        while index < len(self.lines) and _OPTION.fullmatch(self.lines[index].rstrip("\r\n")):
            index += 1
        while index < len(self.lines) and not self.lines[index].strip():
            index += 1
        first = index
        if first == len(self.lines) or _indent(self.lines[first]) <= indent:
            return first, first, ""
        last = first
        while index < len(self.lines) and not (self.lines[index].strip() and _indent(self.lines[index]) <= indent):
            last = index + 1 if self.lines[index].strip() else last
            index += 1
        least = min(filter(str.strip, self.lines[first:last]), key=_indent)
        return first, last, least[: len(least) - len(least.lstrip())]


def _indent(line: str) -> int:
    return _width(line[: len(line) - len(line.lstrip())])


def _width(space: str) -> int:
    return len(space.expandtabs())
