"""Markdown and MDX: the code in fences; prose and fences of other languages are never touched.

Fences are found as CommonMark has them: of backticks or tildes, closed by as many, indented in lists, behind quotation
marks. https://spec.commonmark.org/0.31.2/#fenced-code-blocks
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuron_codemods.fences import Block, regions
from neuron_codemods.source import Token
from neuron_codemods.texts import Parsed, Region

_OPENING = re.compile(
    r"(?P<prefix>[ \t]*(?:>[ \t]?)*(?:[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+)*[ \t]*)"
    r"(?P<fence>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)"
)


def parse(text: str, path: str) -> Markdown:
    """A Markdown text; there is none that cannot be read."""
    return Markdown(text)


class Markdown(Parsed):
    """A Markdown text."""

    only_shows = True

    def comments(self) -> Sequence[Token]:
        """None: a line that begins with ``#`` is a heading."""
        return ()

    def regions(self) -> Sequence[Region]:
        return list(regions(self, self._blocks()))

    def _blocks(self) -> Iterator[Block]:
        index = 0
        while index < len(self.lines):
            opening = _OPENING.fullmatch(self.lines[index].rstrip("\r\n"))
            index += 1
            if opening is None:
                continue
            prefix = re.sub(r"[-*+\d.)]", " ", opening["prefix"])
            closing = re.compile(rf"[ \t>]*{re.escape(opening['fence'][0])}{{{len(opening['fence'])},}}[ \t]*")
            first = index
            while index < len(self.lines) and not closing.fullmatch(self.lines[index].rstrip("\r\n")):
                index += 1
            last = min(index + 1, len(self.lines))
            below = last < len(self.lines) and not self.lines[last].strip()
            yield Block(opening["info"].strip(), prefix, first, index, (first - 1, last + below))
            index += 1
