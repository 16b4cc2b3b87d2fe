"""The kinds of file that can be migrated: this table, and one module here for each kind.

A module of a kind has two functions from bytes, because only it knows how text lies in such a file:

    collect(data, path) -> ModuleFacts | None           what other files may need to know
    migrate(data, path, settings, project) -> Migrated  the new bytes and the findings

Both may raise ``DocumentError`` for bytes they cannot read, and ``SourceError`` for text that does not parse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from neuron_codemods import ModuleFacts, Project
    from neuron_codemods.model import Finding, Settings


@dataclass(frozen=True)
class Kind:
    """One kind of file, and how it is told from the others."""

    name: str
    module: str
    """The module that reads and writes such a file; imported when the first one is migrated."""
    suffixes: tuple[str, ...] = ()
    interpreters: tuple[bytes, ...] = ()
    """Words in a ``#!`` line that tell the kind of a file whose name has no suffix."""


KINDS: tuple[Kind, ...] = (Kind("Python", "neuron_migrate.documents.python", (".py", ".pyi", ".pyw"), (b"python",)),)

PYTHON = KINDS[0]

_BY_SUFFIX = {suffix: kind for kind in KINDS for suffix in kind.suffixes}

HEAD = 256
"""How many bytes of a file are enough to see its ``#!`` line."""


def by_name(name: str) -> Kind | None:
    """The kind that a file's name tells, if it tells one."""
    dot = name.rfind(".")
    return _BY_SUFFIX.get(name[dot:].lower()) if dot > 0 else None


def may_be_a_script(name: str) -> bool:
    """Whether the name has no suffix, so that only the first line can tell the kind."""
    return "." not in name


def by_first_line(head: bytes) -> Kind | None:
    """The kind that a ``#!`` line tells, if there is one."""
    if not head.startswith(b"#!"):
        return None
    line = head.partition(b"\n")[0]
    for kind in KINDS:
        if any(interpreter in line for interpreter in kind.interpreters):
            return kind
    return None


def readable() -> str:
    """The kinds, as a person reads them in a message."""
    return "; ".join(f"{kind.name}: {', '.join(kind.suffixes)}" for kind in KINDS)


@dataclass(frozen=True)
class Migrated:
    """A file after its kind's module has migrated it."""

    data: bytes
    findings: tuple[Finding, ...] = ()
    launch: tuple[str, ...] = ()
    """For a script that is launched, what stands before its launcher now."""


class DocumentError(Exception):
    """Bytes that cannot be read as what they should be, or a text that cannot be written back."""

    def __init__(self, reason: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.column = column


class Document(Protocol):
    """What the module of a kind looks like."""

    def collect(self, data: bytes, path: str) -> ModuleFacts | None: ...

    def migrate(self, data: bytes, path: str, settings: Settings, project: Project) -> Migrated: ...


def document(kind: Kind) -> Document:
    """The module of a kind."""
    from importlib import import_module

    return cast("Document", import_module(kind.module))
