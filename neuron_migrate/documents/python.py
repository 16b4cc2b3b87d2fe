"""Python source files: from bytes to text and back, byte for byte.

The text keeps its newlines as they are. A byte order mark and the coding cookie (PEP 263) say how to read the bytes,
and the migrated text is written back the same way.
"""

from __future__ import annotations

import ast
import codecs
import io
import tokenize
from dataclasses import dataclass
from typing import TYPE_CHECKING

from neuron_migrate.documents import DocumentError, Migrated

if TYPE_CHECKING:
    from neuron_codemods import ModuleFacts, Project
    from neuron_codemods.model import Settings


@dataclass(frozen=True)
class Source:
    """The text of a file and what is needed to turn it into bytes again."""

    text: str
    encoding: str
    mark: bytes
    """The byte order mark, or nothing."""


def decode(data: bytes) -> Source:
    """The text of a Python file, newlines untouched."""
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    body = data[len(mark) :]
    try:
        encoding = _declared(data)
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        line, column = _place(body, error.start)
        hint = "; if it has another encoding, declare it in the first line (PEP 263)" if encoding == "utf-8" else ""
        reason = f"the file is not valid {encoding.upper()}: byte 0x{body[error.start]:02x} cannot be read{hint}"
        raise DocumentError(reason, line, column) from error
    except (LookupError, ValueError) as error:  # a cookie may name a codec that is no text encoding at all
        raise DocumentError(f"the file cannot be read in the encoding it declares: {error}", 1, 1) from error
    source = Source(text, encoding, mark)
    # Some encodings (UTF-7, ISO-2022) have several spellings of one text. A file in which writing back unchanged text
    # would already change bytes is not ours to touch.
    try:
        exact = encode(text, source) == data
    except DocumentError:
        exact = False
    if not exact:
        raise DocumentError(f"the file would not come back byte for byte from its encoding, {encoding}", 1, 1)
    return source


def _declared(data: bytes) -> str:
    """The encoding that the first lines name, or UTF-8."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        if "unknown encoding" in str(error) or "encoding problem" in str(error):
            raise DocumentError(f"the coding cookie cannot be followed: {error}", 1, 1) from error
        return "utf-8"  # the first lines are not UTF-8: let the decoder say where
    return "utf-8" if encoding == "utf-8-sig" else encoding


def encode(text: str, like: Source) -> bytes:
    """The bytes of a text, in the encoding of the file it came from."""
    try:
        return like.mark + text.encode(like.encoding)
    except UnicodeEncodeError as error:
        character = text[error.start]
        line = text.count("\n", 0, error.start) + 1
        column = error.start - (text.rfind("\n", 0, error.start) + 1) + 1
        reason = (
            f"the migrated text needs {character!r} (U+{ord(character):04X}), which {like.encoding} cannot express"
        )
        raise DocumentError(reason, line, column) from error
    except ValueError as error:
        raise DocumentError(f"the text cannot be written in {like.encoding}: {error}") from error


def collect(data: bytes, path: str) -> ModuleFacts | None:
    """What other files may need to know of this one."""
    from neuron_codemods import collect

    return collect(decode(data).text, path)


def migrate(data: bytes, path: str, settings: Settings, project: Project) -> Migrated:
    """The migrated bytes of a file; the same bytes if nothing is to change."""
    from neuron_codemods import migrate

    source = decode(data)
    migration = migrate(source.text, path=path, settings=settings, project=project)
    if migration.text == source.text:
        return Migrated(data, migration.findings)
    after = encode(migration.text, source)
    _check(data, after)
    return Migrated(after, migration.findings, migration.launch)


def _place(data: bytes, offset: int) -> tuple[int, int]:
    """The line and the column of a byte, both counted from 1."""
    return data.count(b"\n", 0, offset) + 1, offset - (data.rfind(b"\n", 0, offset) + 1) + 1


def _check(before: bytes, after: bytes) -> None:
    """Refuse a result that is no Python any more.

    An interpreter older than the file's syntax parses neither side; then there is nothing to compare.
    """
    error = _syntax_error(after)
    if error is not None and _syntax_error(before) is None:
        raise AssertionError(f"the migrated text would not parse: {error}")


def _syntax_error(data: bytes) -> Exception | None:
    try:
        ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return error
    return None
