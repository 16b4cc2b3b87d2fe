"""Read every file once, and keep those that may concern the tool.

Nearly all files of a tree hold nothing to migrate: for them this module is the whole cost, so it works on bytes with
as few system calls as there can be.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from neuron_codemods.needles import ROOT, concerns
from neuron_migrate.discover import Found, said
from neuron_migrate.documents import (
    HEAD,
    PYTHON,
    Kind,
    by_first_line,
    by_name,
    readable,
)
from neuron_migrate.results import FileResult, Problem

LIMIT = 10_000_000
"""No person writes a source file of more bytes, and parsing one would take gigabytes of memory."""

_TOO_LARGE = Problem(f"the file is larger than {LIMIT // 1_000_000} MB, too large to migrate")

_OPEN = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
"""O_NONBLOCK: were the file replaced by a pipe since it was listed, opening it would wait for ever."""


@dataclass(frozen=True)
class Hit:
    """A file that may hold something to migrate, with its bytes."""

    path: str
    kind: Kind
    data: bytes
    identity: tuple[int, int] | str
    """The same for two paths that lead to one file: a link and its target, or two hard links."""
    alone: bool = True
    """Whether it concerns the tool by itself; else only together with another: see ``Kind.launches``."""


@dataclass
class Scan:
    """What the first look at all files has brought."""

    files: int = 0
    entries: list[Hit | FileResult] = field(default_factory=list)
    """In the order of discovery: files to migrate, and those that cannot be."""

    @property
    def hits(self) -> list[Hit]:
        return [entry for entry in self.entries if isinstance(entry, Hit)]


def scan(
    found: Iterable[Found | FileResult], tick: Callable[[], None] = lambda: None, further: tuple[bytes, ...] = ()
) -> Scan:
    """Look for the needles in every file, in Python files also for further ones."""
    result = Scan()
    for item in found:
        tick()
        if isinstance(item, FileResult):
            result.entries.append(item)
            continue
        try:
            looked = _look(item, further)
        except OSError as error:
            gone = isinstance(error, FileNotFoundError)
            reason = "the file has vanished" if gone else f"the file cannot be read: {said(error)}"
            looked = FileResult(item.path, problem=Problem(reason))
        result.files += looked is not None
        if isinstance(looked, (Hit, FileResult)):
            result.entries.append(looked)
    result.entries = _concerned(_once(result.entries))
    return result


def standard_input(data: bytes, path: str, further: tuple[bytes, ...] = ()) -> Scan:
    """The same look at a text that came through a pipe; without a suffix in its given name it is Python."""
    kind = by_name(os.path.basename(path)) or PYTHON
    if not kind.concerns(data, further):
        return Scan(1, [FileResult(path, data)])
    if len(data) > LIMIT:
        return Scan(1, [FileResult(path, data, problem=_TOO_LARGE)])
    return Scan(1, [Hit(path, kind, data, path)])


class _Nothing:
    """A file that was looked at and holds no needle."""


_NOTHING = _Nothing()


def _look(found: Found, further: tuple[bytes, ...]) -> Hit | FileResult | _Nothing | None:
    """What is in a file; None if it is of no kind that is looked at."""
    descriptor = os.open(found.path, _OPEN)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return FileResult(found.path, problem=Problem("this is not a regular file"))
        kind, head = found.kind, b""
        if kind is None:
            head = os.read(descriptor, HEAD)
            kind = by_first_line(head)
            if kind is None and not found.named:
                return None
        if status.st_size > LIMIT:
            concerned = concerns if kind is None else partial(kind.concerns, further=further)
            return _look_at_large(descriptor, head, found.path, concerned)
        data = head + _rest(descriptor, status.st_size - len(head))
    finally:
        os.close(descriptor)
    if kind is None:
        if not concerns(data):
            return _NOTHING
        reason = f"neuron-migrate does not know this kind of file, only {readable()}"
        return FileResult(found.path, problem=Problem(reason))
    if kind is PYTHON and not further and ROOT not in data:
        return _NOTHING  # most files: one search tells both of what is asked below
    alone = kind.concerns(data, further)
    if not alone and not (kind.launches and kind.may_launch(data)):
        return _NOTHING
    identity = (status.st_dev, status.st_ino) if status.st_ino else os.path.realpath(found.path)
    return Hit(found.path, kind, data, identity, alone)


def _rest(descriptor: int, expected: int) -> bytes:
    # Asking for one byte more than is expected saves the read that only tells that the end is reached.
    data = os.read(descriptor, max(expected, 0) + 1)
    if len(data) == expected:
        return data
    parts = [data]
    while data := os.read(descriptor, 1 << 20):
        parts.append(data)
    return b"".join(parts)


def _look_at_large(
    descriptor: int, head: bytes, path: str, concerned: Callable[[bytes], bool]
) -> FileResult | _Nothing:
    window = head
    while piece := os.read(descriptor, 1 << 20):
        window = window[-HEAD:] + piece  # a needle may lie across two pieces
        if concerned(window):
            return FileResult(path, problem=_TOO_LARGE)
    return _NOTHING


def _concerned(entries: list[Hit | FileResult]) -> list[Hit | FileResult]:
    """The entries without launchers of scripts that are not migrated, and scripts that no launcher concerns."""
    alone = [entry for entry in entries if isinstance(entry, Hit) and entry.alone]
    names = {os.fsencode(os.path.basename(entry.path)) for entry in alone if entry.kind == PYTHON}
    launched = any(entry.kind != PYTHON for entry in alone)
    return [
        entry
        for entry in entries
        if not isinstance(entry, Hit)
        or entry.alone
        or (launched if entry.kind == PYTHON else any(name in entry.data for name in names))
    ]


def _once(entries: list[Hit | FileResult]) -> list[Hit | FileResult]:
    """Each file once, under the path that is the file itself rather than a link to it, if there is one."""
    best: dict[tuple[int, int] | str, Hit] = {}
    for entry in entries:
        if isinstance(entry, Hit):
            other = best.get(entry.identity)
            if other is None or (os.path.islink(other.path) and not os.path.islink(entry.path)):
                best[entry.identity] = entry
    return [entry for entry in entries if not isinstance(entry, Hit) or best[entry.identity] is entry]
