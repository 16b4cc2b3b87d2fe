"""Makefiles: the variables and the recipes, read as one shell script.

``ARGS = --zero_1 $(MORE)`` is an assignment to it and ``$(ARGS)`` an expansion, so that the rules for shell know what
reaches a launch; all else is a statement that does nothing. What has changed is put back piece by piece.

https://www.gnu.org/software/make/manual/html_node/Recipe-Syntax.html
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from neuron_codemods.model import Position
from neuron_codemods.source import Text
from neuron_codemods.texts import Parsed, Region

_PREFIX = re.compile(r"\t[ \t]*[@+-]*[ \t]*")
_TARGET = re.compile(r"[^\s#=][^=#]*?:(?![:=])[ \t]*")
_ASSIGNMENT = re.compile(
    r"(?P<head>[ ]*(?:export[ ]+)?(?P<name>[A-Za-z_]\w*))[ \t]*(?P<sign>\+?)(?:\?|:{0,3})=[ \t]*"
    r"(?P<value>(?:[^#\\]|\\[^\n]|\\\r?\n)*?)(?P<rest>[ \t]*(?:#[^\n]*)?\r?\n?)"
)
_COMMAND = re.compile(r"[^;#=]*;[ \t]*[@+-]*[ \t]*")
"""What stands before the first command of a recipe on the line of its target."""
_EXPORT = re.compile(r"(?:un)?export(?:[ \t]+\w+)+[ \t]*(?:#.*)?\s*")
_EXPANSION = re.compile(r"\$\$|\$\((?P<round>\w+)\)")
_PART = re.compile(r"((?s:.+?)(?:[ \t]#:(\d+)\r?(?:\n|\Z)|\Z))")
"""A part of the script up to the comment by which it is known: the number of its line."""
_TRAILING = re.compile(r"[ \t]+(?=[\r\n]|\Z)")
"""What stood before a word that is gone."""
_WORD = re.compile(r"(?m:^[ \t]*(?:#.*|export \w+=[^\"'\n#]*)\n)|\$\{\w+\}|=[\"']|[\"'\n\t]|[^\S\n\t]+|[^\s\"'=$]+|.")


def parse(text: str, path: str) -> Makefile:
    """A makefile; there is none that cannot be read."""
    return Makefile(text)


@dataclass(frozen=True)
class _Piece:
    """A stretch of the makefile, and what stands in the script for it."""

    start: int
    end: int
    text: str


class Makefile(Parsed):
    """A makefile."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._prefixes: dict[int, int] = {}
        """From where a command of a recipe starts to where its first line does."""
        self._pieces = [piece for piece in self._read() if piece.text or piece.start < piece.end]
        self._ends = list(accumulate(len(piece.text) for piece in self._pieces))
        """Where each piece ends in the script."""
        self.script = "".join(piece.text for piece in self._pieces)
        """The makefile as a shell script."""

    def regions(self) -> Sequence[Region]:
        return [Region("shell", 0, len(self.text), self.script, lambda new, _: self._restored(new), self._place)]

    # Reading ------------------------------------------------------------------------------------------------------

    def _read(self) -> Iterator[_Piece]:
        index, in_rule = 0, False
        while index < len(self.lines):
            first = index
            while self.lines[index].rstrip("\r\n").endswith("\\") and index + 1 < len(self.lines):
                index += 1
            index += 1
            start, end = self.line_starts[first], self.line_starts[index]
            prefix = _PREFIX.match(self.lines[first])
            content = self.text[start:end].rstrip("\r\n")
            stop = start + len(content)
            if prefix is not None and in_rule:
                yield from self._recipe(start, stop, prefix.end())
            elif not content.strip() or content.startswith("#"):
                yield _Piece(start, end, self.text[start:end])
                continue
            else:
                target = _TARGET.match(self.text, start, stop)
                in_rule = target is not None
                yield from self._line(start, stop, target.end() if target is not None else start)
            yield _Piece(stop, stop, "" if content.endswith("\\") else f" #:{first}")
            yield _Piece(stop, end, self.text[stop:end])

    def _recipe(self, start: int, end: int, prefix: int) -> Iterator[_Piece]:
        self._prefixes[start + prefix] = start
        yield _Piece(start, start + prefix, "")
        yield from self._expanded(start + prefix, end)

    def _line(self, start: int, end: int, after: int) -> Iterator[_Piece]:
        """A line that is not of a recipe: a variable, also of a target, or nothing for a shell."""
        text = self.text[start:end]
        assigned = _ASSIGNMENT.fullmatch(self.text, after, end)
        command = _COMMAND.match(self.text, after, end) if after > start and assigned is None else None
        quote = "'" if assigned is not None and '"' in assigned["value"] else '"'
        if _EXPORT.fullmatch(text):
            yield _Piece(start, end, text)
        elif command is not None:
            yield _Piece(start, command.end(), ":;\t")
            yield from self._expanded(command.end(), end)
        elif assigned is None or quote in assigned["value"] or "`" in assigned["value"]:
            for line, begin in zip(Text(text).lines, Text(text).line_starts, strict=False):
                content = line.rstrip("\r\n")
                yield _Piece(start + begin, start + begin + len(content), ":" if content else "")
                yield _Piece(start + begin + len(content), start + begin + len(line), line[len(content) :])
        else:
            head, value, rest = (assigned.span(group) for group in ("head", "value", "rest"))
            yield _Piece(start, after, ":;\t" if after > start else "")
            yield _Piece(*head, self.text[slice(*head)])
            yield _Piece(head[1], value[0], f"{assigned['sign']}={quote}")
            yield from self._expanded(*value)
            yield _Piece(value[1], value[1], quote)
            yield _Piece(*rest, self.text[slice(*rest)])

    def _expanded(self, start: int, end: int) -> Iterator[_Piece]:
        at = start
        for match in _EXPANSION.finditer(self.text, start, end):
            yield _Piece(at, match.start(), self.text[at : match.start()])
            yield _Piece(*match.span(), f"${{{match['round']}}}" if match["round"] else "$")
            at = match.end()
        yield _Piece(at, end, self.text[at:end])

    # Writing ------------------------------------------------------------------------------------------------------

    def _restored(self, new: str) -> str:
        """The makefile with the changes of the script; as it was if they would not come to the same script."""
        parts, left = _parts(self.script), {number: part for part, number in _parts(new)}
        result, words, at, place = [], [], 0, 0
        for part, number in parts:
            if number not in left:  # the command is gone; what is above it may be above the next one
                above = re.match(r"(?:[ \t]*(?:#.*)?\r?\n)*", part)
                assert above is not None
                words += [*_WORD.findall(above.group()), part[above.end() :]]
                continue
            for start, end, text in _differences([*words, *_WORD.findall(part)], left[number]):
                done, place = self._changed(at + start, at + end, text, place)
                result += done
            at += len("".join(words)) + len(part)
            words = []
        known = frozenset(self.lines)
        whole = Text("".join((*result, self.text[place:]))).lines
        changed = "".join(line if line in known else _TRAILING.sub("", line) for line in whole)
        return changed if _plain(Makefile(changed).script) == _plain(new) else self.text

    def _changed(self, start: int, at: int, text: str, place: int) -> tuple[list[str], int]:
        """The makefile from a place to behind a change of the script, and where that is."""
        begins, ends = self._begins_line(start), self._begins_line(at)
        lines = text[: text.rindex("\n") + 1] if begins and "\n" in text else ""
        if not begins or not (ends or lines):
            done = [self.text[place : self._offset(start)], self._written(text)]
            return done, self._offset(at, ends=at > start)
        # Whole lines come or go, with what stands before their commands.
        done = [self.text[place : self._line_of(start)], self._commented(lines, at)]
        place = self._line_of(at) if ends else self._line_of(start)
        done += [self.text[place : self._offset(at if ends else start)], self._written(text[len(lines) :])]
        return done, self._offset(at, ends=not ends)

    def _begins_line(self, script: int) -> bool:
        return not script or self.script[script - 1] == "\n"

    def _line_of(self, script: int) -> int:
        """Where the line of a command starts."""
        offset = self._offset(script)
        return self._prefixes.get(offset, offset)

    def _commented(self, lines: str, script: int) -> str:
        """Lines that are new above a place."""
        tab = "\t" if self._offset(script) in self._prefixes else ""
        return re.sub(r"^(?=#)", tab, self._written(lines), flags=re.MULTILINE)

    @staticmethod
    def _written(text: str) -> str:
        """What a part of the script is in a makefile."""
        if text.lstrip().startswith("#"):
            return text
        return re.sub(r"\$\{(\w+)\}", r"$(\1)", re.sub(r"\$(?!\{\w+\})", "$$$$", text))

    def _offset(self, script: int, *, ends: bool = False) -> int:
        """The place in the makefile of one in the script; ``ends`` if it is where a stretch ends."""
        index = bisect_left(self._ends, script if ends else script + 1)
        if index == len(self._pieces):
            return len(self.text)
        piece = self._pieces[index]
        inside = script - (self._ends[index] - len(piece.text))
        if piece.text == self.text[piece.start : piece.end]:
            return piece.start + inside
        return piece.end if inside else piece.start

    @cached_property
    def _inner(self) -> Text:
        return Text(self.script)

    def _place(self, position: Position) -> Position:
        start = self._inner.line_starts[min(position.line, len(self._inner.lines)) - 1]
        return self.position(self._offset(start + position.column - 1))


def _parts(script: str) -> list[tuple[str, str]]:
    """The parts of a script with their numbers; the last has none."""
    found = _PART.findall(script)
    return found if found and not found[-1][1] else [*found, ("", "")]


def _differences(words: Sequence[str], new: str) -> Iterator[tuple[int, int, str]]:
    """The stretches of a text that have changed, each with what stands there now."""
    others, at = _WORD.findall(new), 0
    for tag, i, j, k, m in difflib.SequenceMatcher(None, words, others, autojunk=False).get_opcodes():
        start, at = at, at + len("".join(words[i:j]))
        if tag != "equal":
            yield start, at, "".join(others[k:m])


def _plain(script: str) -> str:
    """A script without what a makefile does not have: quotes, numbers, what a target's variable leaves behind it."""
    plain = re.sub(r"[ \t]#:\d+\r?$|[\"'\r]", "", script, flags=re.MULTILINE)
    return re.sub(r"(?<=^:);$", "", re.sub(r"[ \t]+$", "", plain, flags=re.MULTILINE), flags=re.MULTILINE)
