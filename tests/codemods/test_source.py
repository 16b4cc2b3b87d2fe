"""Tokens are asked of a statement or two, and are those that the tokenizer finds in the whole text."""

from __future__ import annotations

import io
import tokenize

import pytest

from neuron_codemods.source import Source, Token

TEXTS = (
    "",
    "\n\n# only a comment",
    '"""Doc."""\n# one\nimport os  # two\n\n\nclass A:\n    # three\n    x = 1\n# four\n',
    "x = 1; y = 2; z = [\n1,\n]; import os\nprint(x)\n",
    "x = 1\n\\\ny = 2\n",
    "x = 1; \\\ny = 2\nz = 3\n",
    "# ends in a backslash \\\nx = 1\n",
    '@f(\n    1\n)\n@g  # why\nasync def h():\n    return """a\n  b"""\n\nx = h\n',
    "@\\\nf\nclass A: pass\nx = 1\n",
    "if x:\n\ty = 1\n  # odd\nelse:\n\tz = 2\nw = 3",
    '\fx = 1\n\f\ny = "ä\u2028"\nz = f"{x!r:>{y}}" "b"\n',
    "x = 1\r\ny = (\r2)\rz = 3\n",
)


def whole(source: Source) -> list[Token]:
    plain = "".join(line.rstrip("\r\n") + "\n" if line.endswith(("\r", "\n")) else line for line in source.lines)
    structure = {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    return [
        Token(token.type, token.string, *(source.line_starts[line - 1] + column for line, column in token[2:4]))
        for token in tokenize.generate_tokens(io.StringIO(plain, newline="").readline)
        if token.type not in structure
    ]


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_are_those_of_the_whole_text(text: str) -> None:
    source, expected = Source(text), whole(Source(text))
    for start in range(len(text) + 1):
        for end in range(start, len(text) + 1):
            assert source.tokens_between(start, end) == [each for each in expected if start <= each.start < end]
            around = [each for each in expected if each.start < start and end < each.end]
            assert source.token_around(start, end) == (around[0] if around else None)
    assert source.tokens == expected
    assert source.comments == [each for each in expected if each.text.startswith("#")]


def test_only_the_statement_that_is_asked_for_is_tokenised(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source("import a  # a\n" + "x = [1, 2]\n" * 1_000 + "def f():\n    return 1\n")
    tokenized: list[int] = []
    look = Source._tokenized
    monkeypatch.setattr(Source, "_tokenized", lambda self, section: tokenized.append(section) or look(self, section))
    assert [token.text for token in source.tokens_between(0, 14)] == ["import", "a", "# a"]
    assert [token.text for token in source.tokens_between(0, 8)] == ["import", "a"]
    assert tokenized == [0]
