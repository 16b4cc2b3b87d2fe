"""Where the values of a JSON text stand, so that one of them can be changed and every other byte stays."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from neuron_codemods.model import SourceError

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.S)
_SCALAR = re.compile(r"[^\s,\]}]+")


@dataclass(frozen=True)
class Value:
    """A value and the stretch of the text that it takes."""

    start: int
    end: int
    entries: dict[str, Value] | None = None
    """The entries, if it is an object."""
    items: tuple[Value, ...] | None = None
    """The items, if it is an array."""
    members: tuple[tuple[Value, Value], ...] = ()
    """The key and the value of each entry, if it is an object, in order."""

    def get(self, *path: str) -> Value | None:
        """An entry of an entry, if there is one."""
        value: Value | None = self
        for key in path:
            value = (value.entries or {}).get(key) if value is not None else None
        return value


def scan(text: str, what: str) -> Value:
    """The values of a JSON text; a text that is none raises :class:`SourceError` with the place and ``what``."""
    try:
        json.loads(text, parse_int=len)  # no number is looked at, and Python refuses those of thousands of digits
        return _value(text, _skip(text, 0))
    except json.JSONDecodeError as error:
        raise SourceError(f"not {what}: {error.msg}", error.lineno, error.colno) from None
    except RecursionError:
        raise SourceError("nested too deeply to be read", 1) from None


def _skip(text: str, offset: int) -> int:
    match = _SPACE.match(text, offset)
    return match.end() if match else offset


def _value(text: str, start: int) -> Value:
    if text[start] == "{":
        return _object(text, start)
    if text[start] == "[":
        return _array(text, start)
    pattern = _STRING if text[start] == '"' else _SCALAR
    match = pattern.match(text, start)
    assert match is not None
    return Value(start, match.end())


def _object(text: str, start: int) -> Value:
    entries: dict[str, Value] = {}
    members = []
    offset = _skip(text, start + 1)
    while text[offset] != "}":
        key = _value(text, offset)
        offset = _skip(text, _skip(text, key.end) + 1)
        value = _value(text, offset)
        entries[json.loads(text[key.start : key.end], strict=False)] = value
        members.append((key, value))
        offset = _skip(text, value.end)
        if text[offset] == ",":
            offset = _skip(text, offset + 1)
    return Value(start, offset + 1, entries=entries, members=tuple(members))


def _array(text: str, start: int) -> Value:
    items = []
    offset = _skip(text, start + 1)
    while text[offset] != "]":
        item = _value(text, offset)
        items.append(item)
        offset = _skip(text, item.end)
        if text[offset] == ",":
            offset = _skip(text, offset + 1)
    return Value(start, offset + 1, items=tuple(items))


# Strings of several lines -----------------------------------------------------------------------------------------

_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.S
)


@dataclass(frozen=True)
class Line:
    """A line of a text in a JSON string: as it reads, as it is written, and where."""

    text: str
    raw: str
    start: int

    def offset(self, column: int) -> int:
        """Where in the JSON text a column, counted from 1, is."""
        offset = self.start
        for number, match in enumerate(_CHARACTER.finditer(self.raw), start=1):
            if number >= column:
                break
            offset = self.start + match.end()
        return offset


def lines(text: str, value: Value) -> list[Line]:
    """The lines of a string."""
    start = value.start + 1
    raw = text[start : value.end - 1]
    found = []
    begin = 0
    for match in _CHARACTER.finditer(raw):
        if match[0] in ("\\n", "\\u000a", "\\u000A", "\n"):
            found.append(_line(raw[begin : match.end()], start + begin))
            begin = match.end()
    if begin < len(raw):
        found.append(_line(raw[begin:], start + begin))
    return found


def _line(raw: str, start: int) -> Line:
    return Line(json.loads(f'"{raw}"', strict=False), raw, start)
