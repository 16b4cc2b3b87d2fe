"""Python files from bytes to text and back."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_migrate.documents import DocumentError
from neuron_migrate.documents.python import Source, decode, encode

NEWLINES = st.sampled_from(["\n", "\r\n", "\r", "\x0c", "\u2028", "\x85", ""])
LINES = st.lists(st.tuples(st.text(max_size=20), NEWLINES), max_size=12)
ENCODINGS = st.sampled_from(
    [
        "utf-8",
        "latin-1",
        "iso-8859-15",
        "cp1252",
        "cp1251",
        "koi8-r",
        "ascii",
        "euc-jp",
        "shift_jis",
        "gb18030",
        "utf-7",
    ]
)


def joined(lines: list[tuple[str, str]]) -> str:
    return "".join(line + newline for line, newline in lines)


@given(st.binary(max_size=200))
def test_any_bytes_come_back_as_they_were_or_are_refused(data: bytes) -> None:
    try:
        source = decode(data)
    except DocumentError:
        return
    assert encode(source.text, source) == data


@given(LINES, st.booleans())
def test_any_utf8_text_is_read_as_it_is_with_or_without_a_mark(lines: list[tuple[str, str]], mark: bool) -> None:
    text = "x = 1\n\n" + joined(lines)
    data = (codecs.BOM_UTF8 if mark else b"") + text.encode()
    source = decode(data)
    assert source.text == text
    assert encode(source.text, source) == data


@given(LINES, ENCODINGS, st.booleans())
@settings(max_examples=200)
def test_any_text_in_a_declared_encoding_comes_back_byte_for_byte_or_is_refused(
    lines: list[tuple[str, str]], encoding: str, second: bool
) -> None:
    text = f"{'#!/usr/bin/python' if second else '# x'}\n# -*- coding: {encoding} -*-\n" + joined(lines)
    data = text.encode(encoding, errors="ignore")
    try:
        source = decode(data)
    except DocumentError:
        assert encoding in ("utf-7", "shift_jis", "euc-jp", "gb18030")
        return
    assert encode(source.text, source) == data


@pytest.mark.parametrize(
    ("data", "line", "column"),
    [
        (b"\xff", 1, 1),
        (b"x\n\xff", 2, 1),
        (b"x\ny\nz \xff", 3, 3),
        (b"x\r\ny\r\nz\r\n\xc3(", 4, 1),
        (b"\xef\xbb\xbfx\n\n\n\xff", 4, 1),
    ],
)
def test_the_first_byte_that_cannot_be_read_is_pointed_at(data: bytes, line: int, column: int) -> None:
    with pytest.raises(DocumentError) as caught:
        decode(data)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_the_first_character_that_cannot_be_written_is_pointed_at() -> None:
    with pytest.raises(DocumentError, match="'☃'") as caught:
        encode("ok\nx = '☃'\n", Source("", "ascii", b""))
    assert (caught.value.line, caught.value.column) == (2, 6)
