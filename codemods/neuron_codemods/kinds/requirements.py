"""Files of pip's own form: one requirement or option a line, with comments, continuations, hashes and markers.

https://pip.pypa.io/en/stable/reference/requirements-file-format/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from neuron_codemods.requirements.entries import Entry, read
from neuron_codemods.texts import Parsed

_COMMENT = re.compile(r"(?:^|\s)#.*")
_OPTIONS = re.compile(r"\s+--?[A-Za-z].*", re.DOTALL)
_EDITABLE = re.compile(r"(?:-e|--editable)(?:\s+|=)")
_VIA, _MORE_OF_VIA = re.compile(r"[ \t]+# via\b"), re.compile(r"[ \t]+#   \S")
_CONTINUED = re.compile(r"\\\r?\n?$")


def parse(text: str, path: str) -> RequirementsFile:
    """A file of requirements; what in it cannot be read is told by ``unread``."""
    return RequirementsFile(text)


@dataclass(frozen=True)
class Line:
    """One logical line: a requirement or an option, over as many lines as it has backslashes."""

    text: str
    """Without comments and white space around it."""
    start: int
    """Where that text starts."""
    first: int
    """Where its first line starts."""
    last: int
    """Where its last line ends, newline included."""


class RequirementsFile(Parsed):
    """What stands in such a file."""

    @cached_property
    def logical(self) -> list[Line]:
        """The lines that say something."""
        found = []
        index = 0
        while index < len(self.lines):
            first = index
            parts = [_uncommented(self.lines[index])]
            while _CONTINUED.search(parts[-1]) and index + 1 < len(self.lines):
                index += 1
                parts.append(_uncommented(self.lines[index]))
            index += 1
            text = "".join(parts)
            if text.strip():
                start = self.line_starts[first] + len(text) - len(text.lstrip())
                found.append(Line(text.strip(), start, self.line_starts[first], self.line_starts[index]))
        return found

    @cached_property
    def entries(self) -> list[tuple[Entry, Line]]:
        """The requirements."""
        return [(entry, line) for line in self.logical for entry in _entries(line)]

    @property
    def options(self) -> list[Line]:
        """Lines that are options of pip: indexes, other files."""
        return [line for line in self.logical if line.text.startswith("-") and not _EDITABLE.match(line.text)]

    def statement(self, offset: int) -> tuple[int, int]:
        """The lines of the requirement that holds a place."""
        for line in self.logical:
            if line.first <= offset < line.last:
                return line.first, line.last
        return super().statement(offset)

    def unread(self) -> Sequence[tuple[tuple[int, int], str]]:
        """Lines that are neither a requirement nor an option."""
        said = "this is no requirement as PEP 508 has them"
        return [(entry.span, said) for entry, _ in self.entries if read(entry) is None]

    def notes_below(self, line: Line) -> int:
        """Where the comments end that pip-compile writes below a requirement: who asked for it."""
        end = line.last
        note = _VIA
        while note.match(self.text, end):
            end = self.line_end(end)
            note = _MORE_OF_VIA
        return end


def _uncommented(line: str) -> str:
    comment = _COMMENT.search(line)
    return line[: comment.start()] if comment else line


def _entries(line: Line) -> Iterator[Entry]:
    editable = _EDITABLE.match(line.text)
    if line.text.startswith("-") and not editable:
        return
    skipped = editable.end() if editable else 0
    body = line.text[skipped:]
    options = _OPTIONS.search(body)
    hashed = options is not None and "--hash" in options.group()
    written = (body[: options.start()] if options else body).rstrip("\\ \t\r\n")
    text = re.sub(r"\\\r?\n", "", written)
    if text.startswith((".", "/", "~")) or (text.endswith((".whl", ".tar.gz", ".zip")) and "://" not in text):
        return  # a path: nothing in it tells a name
    yield Entry(text, (line.start, line.start + skipped + len(written)), hashed)
