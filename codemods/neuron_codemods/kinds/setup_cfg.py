"""setup.cfg: the requirements in ``[options]``, ``[options.extras_require]`` and the like, one a line.

https://setuptools.pypa.io/en/latest/userguide/declarative_config.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from neuron_codemods.edits import Edit
from neuron_codemods.requirements.entries import Entry
from neuron_codemods.texts import Parsed

_SECTION = re.compile(r"\[([^\]]+)\]")
_KEY = re.compile(r"([\w.-]+)[ \t]*[=:][ \t]*")
_KEYS = {"options": re.compile("(install|setup|tests)_requires"), "options.extras_require": re.compile(".+")}


def parse(text: str, path: str) -> SetupConfiguration:
    """A setup.cfg; there is none that cannot be read."""
    return SetupConfiguration(text)


class SetupConfiguration(Parsed):
    """What stands in such a file."""

    @cached_property
    def entries(self) -> list[Entry]:
        """The requirements."""
        return list(self._entries())

    def edit(self, entry: Entry, new: Sequence[str]) -> Edit:
        """The change that puts other requirements in the place of one, or takes it out."""
        start, end = entry.span
        if new:
            separator = self.newline(start) + self._indentation(start)
            return Edit.replace((start, end), separator.join(new))
        line_start = self.line_start(start)
        if self.text[line_start:start].strip():  # behind the key itself
            return Edit.delete((start, end))
        return Edit.delete((line_start, self.line_end(end)))

    def _indentation(self, offset: int) -> str:
        own = self.indentation(offset)
        return own if own and not self.text[self.line_start(offset) : offset].strip() else "    "

    def _entries(self) -> Iterator[Entry]:
        section, wanted = "", False
        for line, start in zip(self.lines, self.line_starts, strict=False):
            body = line.strip()
            if not body or body.startswith(("#", ";")):
                continue
            heading = _SECTION.match(line)
            if heading:
                section, wanted = heading[1].strip(), False
                continue
            skipped = len(line) - len(line.lstrip())
            if not skipped:
                key = _KEY.match(line)
                pattern = _KEYS.get(section)
                wanted = bool(key and pattern and pattern.fullmatch(key[1]))
                skipped = key.end() if key else 0
            text = re.split(r"\s#", line[skipped:])[0].strip()
            if wanted and text:
                yield Entry(text, (start + skipped, start + skipped + len(text)))
