"""Files of the kinds that can be migrated: from bytes to text and back.

Which kinds there are, and how a file's name or first line tells its own, is in ``neuron_codemods.kinds``; how to add
one is told there. A module here, or an object, has two functions from bytes, because only it knows how text lies in
such a file:

    collect(data, path) -> ModuleFacts | None           what other files may need to know
    migrate(data, path, settings, project) -> Migrated  the new bytes and the findings

Both may raise ``DocumentError`` for bytes they cannot read, and ``SourceError`` for text that does not parse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from neuron_codemods.kinds import KINDS, PYTHON, Kind, by_first_line, by_name

if TYPE_CHECKING:
    from neuron_codemods import ModuleFacts, Project
    from neuron_codemods.model import Finding, Settings

__all__ = ["HEAD", "KINDS", "PYTHON", "Kind", "by_first_line", "by_name", "document", "may_be_a_script", "readable"]

HEAD = 256
"""How many bytes of a file are enough to see its ``#!`` line."""


def may_be_a_script(name: str) -> bool:
    """Whether the name has no suffix, so that only the first line can tell the kind."""
    return "." not in name


def readable() -> str:
    """The kinds, as a person reads them in a message."""
    return ", ".join(kind.title for kind in KINDS)


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
    """What reads and writes the files of a kind."""
    if kind != PYTHON:
        from neuron_migrate.documents.text import TextDocument

        return TextDocument(kind)
    from importlib import import_module

    return cast("Document", import_module("neuron_migrate.documents.python"))
