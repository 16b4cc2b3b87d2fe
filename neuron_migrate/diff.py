"""Unified diffs that ``git apply`` and ``patch -p1`` take, from the directory in which the command ran.

A diff is bytes from end to end: a line in Latin-1 or with a carriage return must arrive as it is in the file.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator

CONTEXT = 3

_COLORS = ((b"+++", b"\x1b[1m"), (b"---", b"\x1b[1m"), (b"@@", b"\x1b[36m"), (b"+", b"\x1b[32m"), (b"-", b"\x1b[31m"))
_RESET = b"\x1b[0m"

_ESCAPES = {
    0x07: b"a",
    0x08: b"b",
    0x09: b"t",
    0x0A: b"n",
    0x0B: b"v",
    0x0C: b"f",
    0x0D: b"r",
    0x22: b'"',
    0x5C: b"\\",
}


def unified(path: str, before: bytes, after: bytes) -> bytes:
    """The diff of one file; the path is as the file is opened."""
    name = _name(path)
    return b"".join(_body(_header(b"--- ", b"a/" + name), _header(b"+++ ", b"b/" + name), before, after))


def compared(before: str, after: str) -> str:
    """The diff of two short texts, without names."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=100)
    return "\n".join(lines)


def colored(diff: bytes) -> bytes:
    """A diff for a terminal; a changed line may look like a header, so headers are told by where they stand."""
    lines = []
    header = True
    for line in diff.split(b"\n"):
        header = header and not line.startswith(b"@@")
        for start, color in _COLORS if header else _COLORS[2:]:
            if line.startswith(start):
                line = color + line + _RESET
                break
        lines.append(line)
    return b"\n".join(lines)


def _body(old: bytes, new: bytes, before: bytes, after: bytes) -> Iterator[bytes]:
    # difflib compares text; Latin-1 gives each byte a character of its own, and back.
    lines = difflib.unified_diff(_lines(before), _lines(after), n=CONTEXT)
    yield from (old, new)
    for number, line in enumerate(lines):
        if number < 2:
            continue  # difflib's own header cannot hold every file name
        data = line.encode("latin-1")
        yield data if data.endswith(b"\n") else data + b"\n\\ No newline at end of file\n"


def _lines(data: bytes) -> list[str]:
    # Only "\n" ends a line of a diff; str.splitlines knows many more ends.
    lines = data.decode("latin-1").split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def _name(path: str) -> bytes:
    """A path as a diff names it: seen from the current directory, and as the file itself, because git and patch follow
    no links. A file elsewhere is named from the root, so that ``patch -p1 -d /`` finds it."""
    real = os.path.realpath(path) if os.path.exists(path) else os.path.abspath(path)
    here = os.path.join(os.path.realpath(os.getcwd()), "")
    inside = real.startswith(here)
    return os.fsencode((real[len(here) :] if inside else real).replace(os.sep, "/").lstrip("/"))


def _header(mark: bytes, name: bytes) -> bytes:
    if any(byte < 0x20 or byte in b'"\\\x7f' for byte in name):
        quoted = b"".join(
            b"\\" + _ESCAPES[byte]
            if byte in _ESCAPES
            else b"\\%03o" % byte
            if byte < 0x20 or byte > 0x7E
            else bytes((byte,))
            for byte in name
        )
        return mark + b'"' + quoted + b'"\n'
    # Without a tab, both readers end the name at its first blank.
    return mark + name + (b"\t\n" if b" " in name else b"\n")
