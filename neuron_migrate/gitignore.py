"""Patterns as gitignore(5) has them, turned into regular expressions.

The judge of a doubtful case is git itself, byte by byte: what it takes ``a**/b``, an unclosed bracket or a lonely
backslash for is taken for the same here. The tests compare the two on random patterns and trees.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

_BOM = b"\xef\xbb\xbf"
_SPECIAL = re.compile(rb"[*?\[\\]")
_SLASH, _DASH, _COLON, _OPEN, _CLOSE, _BACKSLASH = b"/-:[]\\"

# A directory is matched with a NUL behind its name, which no path holds: one expression serves files and directories.
_DIRECTORY = b"\0"
_SOME = rb"[^/\0]*"
_ANY = rb"[^\0]*"
_NEVER = rb"(?!)"

_ASCII = range(128)
_CLASSES = {
    b"alnum": [byte for byte in _ASCII if chr(byte).isalnum()],
    b"alpha": [byte for byte in _ASCII if chr(byte).isalpha()],
    b"blank": list(b"\t "),
    b"cntrl": [*range(32), 127],
    b"digit": list(b"0123456789"),
    b"graph": range(33, 127),
    b"lower": [byte for byte in _ASCII if chr(byte).islower()],
    b"print": range(32, 127),
    b"punct": [byte for byte in range(33, 127) if not chr(byte).isalnum()],
    b"space": list(b"\t\n\r "),
    b"upper": [byte for byte in _ASCII if chr(byte).isupper()],
    b"xdigit": list(b"0123456789abcdefABCDEF"),
}


class PatternError(ValueError):
    """A pattern that can never match anything."""


class Pattern(NamedTuple):
    """One line of a .gitignore."""

    negated: bool
    """Whether what matches is taken back in."""
    anchored: bool
    """Whether it is compared with the path below the .gitignore, not with the bare name."""
    expression: bytes


class Patterns:
    """The lines of one .gitignore, ready to match: the last line that matches decides."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        runs: list[tuple[bool, list[bytes], list[bytes]]] = []
        for negated, anchored, expression in patterns:
            if not runs or runs[-1][0] != negated:
                runs.append((negated, [], []))
            _, names, paths = runs[-1]
            (paths if anchored else names).append(expression)
        # Neighbours that say the same are one expression, or a tree would be as slow as its .gitignore is long.
        self._runs = [(negated, _either(names), _either(paths)) for negated, names, paths in reversed(runs)]

    def __bool__(self) -> bool:
        return bool(self._runs)

    def verdict(self, path: bytes, *, directory: bool) -> bool | None:
        """Whether an entry is ignored; None if no pattern has anything to say of it.

        The path is relative to the place of the patterns, with slashes. The directories above it are the caller's
        business: what lies in an ignored directory is ignored, whatever the patterns say.
        """
        if directory:
            path += _DIRECTORY
        name = path[path.rfind(b"/") + 1 :]
        for negated, names, paths in self._runs:
            if names(name) or paths(path):
                return not negated
        return None


def read(data: bytes) -> Patterns:
    """The patterns in the bytes of a .gitignore; like git, it passes over those that can never match."""
    return Patterns(_readable(data.removeprefix(_BOM).split(b"\n")))


def _readable(lines: Iterable[bytes]) -> Iterator[Pattern]:
    for line in lines:
        try:
            pattern = parse(line.removesuffix(b"\r"))
        except PatternError:
            continue
        if pattern is not None:
            yield pattern


def parse(line: bytes) -> Pattern | None:
    """One line; None for an empty line and a comment."""
    text = line.partition(b"\0")[0]
    if text.startswith(b"#"):
        return None
    text = _trimmed(text)
    if not text:
        return None
    negated = text.startswith(b"!")
    text = text.removeprefix(b"!")
    directory = text.endswith(b"/")
    text = text.removesuffix(b"/")
    anchored = b"/" in text
    text = text.removeprefix(b"/")
    if not text:
        raise PatternError("it names nothing")
    expression = _expression(text, anchored=anchored)
    return Pattern(negated, anchored, expression + (_DIRECTORY if directory else _DIRECTORY + b"?"))


def _trimmed(text: bytes) -> bytes:
    bare = text.rstrip(b" ")
    escaped = (len(bare) - len(bare.rstrip(b"\\"))) % 2
    return text[: len(bare) + escaped]


def _either(expressions: list[bytes]) -> Callable[[bytes], object]:
    return re.compile(b"|".join(expressions) if expressions else _NEVER).fullmatch


def _expression(pattern: bytes, *, anchored: bool) -> bytes:
    special = _SPECIAL.search(pattern)
    start = special.start() if special else len(pattern)
    parts = [re.escape(pattern[:start])]
    at = start
    while at < len(pattern):
        character = pattern[at : at + 1]
        if character == b"*":
            part, at = _stars(pattern, start, at) if anchored else (_SOME, _after_stars(pattern, at))
        elif character == b"?":
            part, at = rb"[^/\0]", at + 1
        elif character == b"[":
            part, at = _bracket(pattern, at + 1)
        else:
            if character == b"\\":
                at += 1
                character = pattern[at : at + 1]
                if not character:
                    raise PatternError("nothing follows its last backslash")
            part, at = re.escape(character), at + 1
        parts.append(part)
    return b"".join(parts)


def _after_stars(pattern: bytes, at: int) -> int:
    while pattern[at : at + 1] == b"*":
        at += 1
    return at


def _stars(pattern: bytes, start: int, at: int) -> tuple[bytes, int]:
    """``*`` or ``**``: two stars that stand alone between slashes cross them.

    git compares what comes before the first special character for itself: two stars right there count as the first
    thing between slashes, so that ``a**/b`` crosses them as well.
    """
    end = _after_stars(pattern, at)
    alone = at == start or pattern[at - 1] == _SLASH
    rest = pattern[end:]
    if end - at == 1 or not alone or (rest and not rest.startswith((b"/", b"\\/"))):
        return _SOME, end
    if rest.startswith(b"/"):
        return b"(?:" + _ANY + b"/)?", end + 1
    return _ANY, end


def _bracket(pattern: bytes, at: int) -> tuple[bytes, int]:
    """What follows ``[`` as a set of bytes, and the place behind its end."""
    negated = pattern[at : at + 1] in (b"!", b"^")
    at += negated
    members: set[int] = set()
    previous = None
    first = True
    while first or _at(pattern, at) != _CLOSE:
        first = False
        byte = _at(pattern, at)
        following = pattern[at + 1 : at + 2]
        if byte == _DASH and previous is not None and following not in (b"", b"]"):
            at += 1
            if _at(pattern, at) == _BACKSLASH:
                at += 1
            members.update(range(previous, _at(pattern, at) + 1))
            previous = None
        elif byte == _OPEN and following == b":":
            name, end = _class_name(pattern, at + 2)
            if name is None:
                members.add(byte)
                previous = byte
            else:
                members.update(_named(name))
                previous = None
                at = end
        else:
            if byte == _BACKSLASH:
                at += 1
                byte = _at(pattern, at)
            members.add(byte)
            previous = byte
        at += 1
    chosen = (set(range(256)) - members if negated else members) - {0, _SLASH}
    return b"[" + b"".join(b"\\x%02x" % byte for byte in sorted(chosen)) + b"]" if chosen else _NEVER, at + 1


def _class_name(pattern: bytes, at: int) -> tuple[bytes | None, int]:
    """The name in ``[:name:]`` and where its last bracket stands; no name if it does not end in ``:]``."""
    end = pattern.find(b"]", at)
    if end < 0:
        raise PatternError("its bracket is not closed")
    return (pattern[at : end - 1], end) if end > at and pattern[end - 1] == _COLON else (None, end)


def _named(name: bytes) -> Iterable[int]:
    if name not in _CLASSES:
        raise PatternError(f"there is no class of characters [:{name.decode(errors='replace')}:]")
    return _CLASSES[name]


def _at(pattern: bytes, at: int) -> int:
    if at >= len(pattern):
        raise PatternError("its bracket is not closed")
    return pattern[at]
