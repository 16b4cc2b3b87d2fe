"""Makefiles: the recipes, each logical line of which is a shell command.

https://www.gnu.org/software/make/manual/html_node/Recipe-Syntax.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuron_codemods.texts import Lines, Parsed, Region

_PREFIX = re.compile(r"\t[ \t]*[@+-]*[ \t]*")
_RULE = re.compile(r"[^\s#=][^=]*:(?!=)")


def parse(text: str, path: str) -> Makefile:
    """A makefile; there is none that cannot be read."""
    return Makefile(text)


class Makefile(Parsed):
    """A makefile."""

    def regions(self) -> Sequence[Region]:
        return list(self._recipes())

    def _recipes(self) -> Iterator[Region]:
        index, in_rule = 0, False
        while index < len(self.lines):
            line = self.lines[index]
            prefix = _PREFIX.match(line)
            if prefix is None or not in_rule:
                if line.strip() and not line.startswith("#"):
                    in_rule = _RULE.match(line) is not None
                index += 1
                continue
            first = index
            while self.lines[index].rstrip("\r\n").endswith("\\") and index + 1 < len(self.lines):
                index += 1
            index += 1
            yield self._recipe(first, index, prefix[0])

    def _recipe(self, first: int, last: int, prefix: str) -> Region:
        lines = []
        for number in range(first, last):
            start = self.line_starts[number]
            head = len(prefix) if number == first else 1 if self.lines[number].startswith("\t") else 0
            lines.append((start + head, start + len(self.lines[number])))

        def prefixes(new: Sequence[str]) -> list[str]:
            result: list[str] = []
            continued = False
            for line in new:
                result.append("\t" if continued or line.startswith("#") else prefix)
                continued = line.rstrip("\r\n").endswith("\\")
            return result

        return Lines(self, lines, prefixes).region("shell")
