"""Files that are not Python: UTF-8, with or without a byte order mark, and back byte for byte."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from neuron_codemods.kinds import Kind, MissingParserError
from neuron_migrate.documents import DocumentError, Migrated

if TYPE_CHECKING:
    from neuron_codemods import ModuleFacts, Project
    from neuron_codemods.model import Settings


@dataclass(frozen=True)
class TextDocument:
    """Reads and writes the files of one kind."""

    kind: Kind

    def collect(self, data: bytes, path: str) -> ModuleFacts | None:
        """What other files may need to know of this one."""
        from neuron_codemods import kinds

        try:
            return kinds.collect(self.kind.name, _decode(data), path)
        except MissingParserError as error:
            raise DocumentError(str(error)) from None

    def migrate(self, data: bytes, path: str, settings: Settings, project: Project) -> Migrated:
        """The migrated bytes of a file; the same bytes if nothing is to change."""
        from neuron_codemods import migrate_text

        text = _decode(data)
        try:
            migration = migrate_text(self.kind.name, text, path=path, settings=settings, project=project)
        except MissingParserError as error:
            raise DocumentError(str(error)) from None
        if migration.text == text:
            return Migrated(data, migration.findings)
        return Migrated(migration.text.encode(), migration.findings, migration.launch)


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        reason = f"the file is not valid UTF-8: byte 0x{data[error.start]:02x} cannot be read"
        raise DocumentError(reason, line, column) from error
