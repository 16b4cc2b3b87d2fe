"""A Python text with its syntax tree, its tokens, and the way from tree positions to places in the text."""

from __future__ import annotations

import ast
import re
import tokenize
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain

from neuron_codemods.model import Position, SourceError

MARKER = re.compile(r"# (?:TODO|NOTE)\(neuron-migrate [^\r\n]*")
"""A comment that this tool has written: what it says shows nothing of what a text is for."""
_INDENTATION = re.compile(r"[ \t\f]*")
_ONLY_CONTINUED = re.compile(r" *\\[\r\n]*")  # Python counts a tab there in a way of its own
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


@dataclass(frozen=True)
class Token:
    """One token with its place in the text, in characters."""

    kind: int
    text: str
    start: int
    end: int


_STRUCTURE = frozenset({tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})


def _start(token: Token) -> int:
    return token.start


class Text:
    """A text, its lines, and the places in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = _LINE.findall(text)
        self.line_starts = [0, *accumulate(map(len, self.lines))]

    def offset(self, line: int, utf8_column: int) -> int:
        """The place in the text of an ``ast`` position: a line from 1 and a column in UTF-8 bytes from 0."""
        start = self.line_starts[line - 1]
        content = self.lines[line - 1] if line <= len(self.lines) else ""
        if content.isascii():
            return start + utf8_column
        return start + len(content.encode("utf-8", "surrogatepass")[:utf8_column].decode("utf-8", "surrogatepass"))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node with a position starts and ends in the text."""
        start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        return start, self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def segment(self, node: ast.AST) -> str:
        """The text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def needs_brackets(self, node: ast.expr) -> bool:
        """Whether an expression goes over several lines only because of the brackets around it."""
        return parse_expression(self.segment(node)) is None

    def string_like(self, literal: ast.Constant, text: str) -> str:
        """A string literal for a text without quotes, in the quotes of another literal."""
        quote = self.segment(literal).lstrip("rRuU")[0]
        return f"{quote}{text}{quote}"

    def position(self, offset: int) -> Position:
        """The line and column, both from 1, of a place in the text."""
        line = max(bisect_right(self.line_starts, offset) - 1, 0)
        if line == len(self.lines) and line and not self.lines[line - 1].endswith(("\r", "\n")):
            line -= 1
        return Position(line + 1, offset - self.line_starts[line] + 1)

    def line_start(self, offset: int) -> int:
        """Where the line that holds a place starts."""
        return self.line_starts[self.position(offset).line - 1]

    def line_end(self, offset: int) -> int:
        """Where the line that holds a place ends, its newline included."""
        index = self.position(offset).line
        return self.line_starts[min(index, len(self.line_starts) - 1)]

    def indentation(self, offset: int) -> str:
        """The white space at the start of the line that holds a place."""
        start = self.line_start(offset)
        match = _INDENTATION.match(self.text, start)
        return match.group().rpartition("\f")[2] if match else ""

    def newline(self, offset: int) -> str:
        """The newline that a line inserted at a place should have: that of the line there, or the one before it."""
        index = self.position(offset).line - 1
        for number in chain(range(index, -1, -1), range(index + 1, len(self.lines))):
            line = self.lines[number] if number < len(self.lines) else ""
            ending = line[len(line.rstrip("\r\n")) :]
            if ending:
                return ending
        return "\n"


class Source(Text):
    """The text of one file (or cell, or fence) and what the standard library reads in it.

    Raises :class:`SourceError` when the text is not Python 3 as the running interpreter knows it.
    """

    def __init__(self, text: str, path: str = "<text>") -> None:
        super().__init__(text)
        self.path = path
        self.tree = parse(text, path)
        self._tokens: dict[int, list[Token]] = {}

    @cached_property
    def indentation_step(self) -> str:
        """One step of this file's indentation."""
        for node in self.tree.body:
            body = getattr(node, "body", None)
            if body and isinstance(body, list) and body[0].lineno > node.lineno:
                step = self.indentation(self.span(body[0])[0])
                if step:
                    return step
        return "    "

    @cached_property
    def line_limit(self) -> int:
        """How long new lines may be: as long as the file's own, within what formatters commonly allow."""
        longest = max((len(line.rstrip()) for line in self.lines), default=0)
        return min(max(longest, 88), 119)

    @property
    def tokens(self) -> list[Token]:
        """All tokens but line structure (NEWLINE, INDENT ...), in order; comments included."""
        return self.tokens_between(0, len(self.text))

    def line_start(self, offset: int) -> int:
        """Where the line that holds a place starts; a backslash alone on the line above belongs to it."""
        index = self.position(offset).line - 1
        while index and _ONLY_CONTINUED.fullmatch(self.lines[index - 1]):
            index -= 1
        return self.line_starts[index]

    def tokens_between(self, start: int, end: int) -> list[Token]:
        """The tokens that start at or after one place and before another."""
        result: list[Token] = []
        for section in range(self._section(start), self._section(end - 1) + 1):
            tokens = self._tokens_of(section)
            result += tokens[bisect_left(tokens, start, key=_start) : bisect_left(tokens, end, key=_start)]
        return result

    def token_around(self, start: int, end: int) -> Token | None:
        """The token that a stretch is a part of, if it is one."""
        tokens = self._tokens_of(self._section(start))
        index = bisect_left(tokens, start, key=_start) - 1
        return tokens[index] if index >= 0 and end < tokens[index].end else None

    @cached_property
    def _sections(self) -> list[int]:
        """The lines, from 0, at which stretches start that can be tokenised by themselves.

        A change needs the tokens of a statement or two, and the tokenizer takes longer than the parser of Python.
        """
        sections = [0]
        for node in self.tree.body:
            decorators = getattr(node, "decorator_list", None)
            line = (decorators[0] if decorators else node).lineno - 1
            starts_line = node.col_offset == 0 and (not decorators or self.lines[line].startswith("@"))
            if starts_line and line and not self.lines[line - 1].rstrip("\r\n").endswith("\\"):
                sections.append(line)
        return sections

    def _section(self, offset: int) -> int:
        return bisect_right(self._sections, bisect_right(self.line_starts, max(offset, 0)) - 1) - 1

    def _tokens_of(self, section: int) -> list[Token]:
        if section not in self._tokens:
            self._tokens[section] = list(self._tokenized(section))
        return self._tokens[section]

    def _tokenized(self, section: int) -> Iterator[Token]:
        first, *behind = self._sections[section : section + 2]
        lines = self.lines[first : behind[0] if behind else None]
        # tokenize wants the newlines that the parser sees; every newline becomes one character there, so lines and
        # columns agree with this text although offsets do not.
        plain = (line.rstrip("\r\n") + "\n" if line.endswith(("\r", "\n")) else line for line in lines)
        for token in tokenize.generate_tokens(plain.__next__):
            if token.type not in _STRUCTURE:
                start, end = (self.line_starts[first + line - 1] + column for line, column in (token.start, token.end))
                yield Token(token.type, token.string, start, end)

    @cached_property
    def comments(self) -> list[Token]:
        return [token for token in self.tokens if token.kind == tokenize.COMMENT]


@contextmanager
def shallow() -> Iterator[None]:
    """Where a text may nest too deeply to be read: that raises :class:`SourceError` instead of a RecursionError."""
    try:
        yield
    except RecursionError:
        raise SourceError("nested too deeply to be read", 1) from None


def parse(text: str, path: str = "<text>") -> ast.Module:
    """Parse a text; a text that is not Python 3 raises :class:`SourceError` with the line and column."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if text.endswith("\\\r\n"):  # ast reads on behind the last line, but Python refuses such a file
                text = text[:-2] + "\n"
            return ast.parse(text, filename=path)
    except SyntaxError as error:
        raise SourceError(f"not Python 3: {error.msg}", error.lineno or 1, error.offset or 1) from None
    except ValueError as error:  # pragma: no cover - null bytes, before Python 3.11.4
        raise SourceError(f"not Python 3: {error}", 1) from None
    except (RecursionError, MemoryError):
        raise SourceError("nested too deeply to be parsed", 1) from None


def parse_module(text: str) -> ast.Module | None:
    """The tree of a text, or None when it is not Python 3."""
    try:
        return parse(text)
    except SourceError:
        return None


def parse_expression(text: str) -> ast.expr | None:
    """The tree of an expression, or None when the text is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
