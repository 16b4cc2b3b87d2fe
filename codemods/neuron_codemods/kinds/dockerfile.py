"""Dockerfiles: the image that each stage starts from, and the commands and variables in the instructions.

An instruction goes over as many lines as end in a backslash (or in what ``# escape=`` says), and RUN may be followed
by here-documents. https://docs.docker.com/reference/dockerfile/
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from neuron_codemods.model import Position
from neuron_codemods.source import MARKER, Token
from neuron_codemods.texts import Parsed, Region, mapped

_INSTRUCTION = re.compile(r"\s*([A-Za-z]+)(?=\s|$)[ \t]*")
_ESCAPE = re.compile(r"#\s*escape\s*=\s*(\S)", re.IGNORECASE)
_HEREDOC = re.compile(r"<<-?\s*([\"']?)(\w+)\1")
_OPTIONS = re.compile(r"(?:--[\w-]+(?:=\S+)?[ \t\\]+(?:\r?\n\s*)?)*")
_PAIRS = re.compile(r"\w+=")
_INNER_COMMENT = re.compile(r"(?<=\n)[ \t]*#[^\r\n]*(?=\r?\n)")
_HIDING = re.compile(r"(?:\A|\s)#[^\r\n]*\\(?=\r?\n)")
"""A comment of the shell whose line goes on: the shell, which gets one line, reads no more."""
_EMPTY_LINE = re.compile(r"(?<=\n)[ \t]*\\(?=\r?\n)")
_EXPORT = "export "
_SHELL = ("RUN", "CMD", "ENTRYPOINT")
"""The instructions with commands."""


def parse(text: str, path: str) -> Dockerfile:
    """A Dockerfile; an instruction that cannot be read is left alone."""
    return Dockerfile(text)


@dataclass(frozen=True)
class Instruction:
    """One instruction with its arguments."""

    name: str
    """In capitals, as ``FROM``."""
    start: int
    arguments: int
    """Where the arguments start, behind the options."""
    end: int
    """Where the arguments end, without the newline."""
    last: int
    """Where its last line ends, here-documents included."""
    heredoc: tuple[int, int] | None = None
    """The lines of its here-document."""


class Dockerfile(Parsed):
    """What stands in such a file."""

    @cached_property
    def instructions(self) -> list[Instruction]:
        """All instructions, in order."""
        return list(self._instructions())

    def statement(self, offset: int) -> tuple[int, int]:
        """The lines of the instruction that holds a place."""
        for instruction in self.instructions:
            if instruction.start <= offset < instruction.last:
                return self.line_start(instruction.start), instruction.last
        return super().statement(offset)

    def comments(self) -> Sequence[Token]:
        """The comments between the instructions, without those that belong to a region."""
        inside = [(region.start, region.end) for region in self.regions()]
        inside += [(each.start, each.last) for each in self.instructions]
        return [token for token in super().comments() if not any(a <= token.start < b for a, b in inside)]

    def regions(self) -> Sequence[Region]:
        """Commands as shell; the variables of ENV as what ``export`` would say."""
        return [region for each in self.instructions if not self._hides(each) for region in self._regions(each)]

    def unread(self) -> Sequence[tuple[tuple[int, int], str]]:
        said = "a comment in it hides the rest from the shell"
        return [((each.start, each.end), said) for each in self.instructions if self._hides(each)]

    def _hides(self, each: Instruction) -> bool:
        command = _INNER_COMMENT.sub(_continued, self.text[each.arguments : each.end])
        return each.name in _SHELL and each.heredoc is None and _HIDING.search(command) is not None

    def _regions(self, each: Instruction) -> Iterator[Region]:
        text = self.text[each.arguments : each.end]
        if each.name in _SHELL:
            if text.startswith("["):
                yield from self._array(each, text)
            elif each.heredoc is not None and _HEREDOC.match(text):
                start, end = each.heredoc
                yield Region("shell", start, end, self.text[start:end], lambda new, _: new, mapped(self, start))
            else:
                comments = _INNER_COMMENT.findall(text)
                yield self._command(
                    each, _INNER_COMMENT.sub(_continued, text), lambda new: _with_comments(new, comments, text)
                )
        elif each.name == "ENV" and _PAIRS.match(text):
            yield self._command(each, _EXPORT + text, _as_environment)
        elif each.name == "ENV" and "\n" not in text:
            name, between, value = re.match(r"(\S*)(\s*)(.*)", text).groups()  # type: ignore[union-attr]
            yield self._command(each, f"{_EXPORT}{name}={shlex.quote(value)}", lambda new: _as_pair(new, between))

    def _array(self, each: Instruction, text: str) -> Iterator[Region]:
        """A command as a JSON array of its words."""
        try:
            words = json.loads(re.sub(r"\\\r?\n", "", text))
        except ValueError:
            return
        if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
            command = shlex.join(words)
            yield self._command(each, command, lambda new: text if new == command else _as_array(new))

    def _command(self, each: Instruction, command: str, written: Callable[[str], str]) -> Region:
        """A command with this tool's comments above its instruction, which would not be comments inside of it."""
        start = self._marks_above(each)
        line = self.line_start(each.start)
        marks = self.text[start:line]
        before, behind = self.text[line : each.arguments], self.text[each.end : each.last]
        first, shift = self.position(start), self.position(each.arguments)
        count = marks.count("\n")

        def place(position: Position) -> Position:
            if position.line <= count:
                return Position(first.line + position.line - 1, position.column)
            column = position.column + (shift.column - 1 if position.line == count + 1 else 0)
            return Position(shift.line + position.line - count - 1, max(column, 1))

        def restore(new: str, _: Sequence[str]) -> str:
            comments = re.match(r"(?:[ \t]*#[^\n]*\n)*", new)
            assert comments is not None
            rest = new[comments.end() :].rstrip()
            above = "".join(line.rstrip("\r") + self.newline(start) for line in comments.group().split("\n")[:-1])
            return above + (before + written(rest) + behind if rest else "")

        return Region("shell", start, each.last, marks + command, restore, place)

    def _marks_above(self, each: Instruction) -> int:
        """Where the comments of this tool start that stand directly above an instruction."""
        start = self.line_start(each.start)
        while start:
            above = self.line_start(start - 1)
            line = self.text[above:start]
            if not MARKER.match(line.lstrip()):
                break
            start = above
        return start

    def _instructions(self) -> Iterator[Instruction]:
        escape = "\\"
        index = 0
        while index < len(self.lines):
            line, start = self.lines[index], self.line_starts[index]
            index += 1
            directive = _ESCAPE.match(line)
            if directive:
                escape = directive[1]
            named = _INSTRUCTION.match(line)
            if named is None or line.lstrip().startswith("#"):
                continue
            while self._goes_on(index - 1, escape) and index < len(self.lines):
                while index + 1 < len(self.lines) and self.lines[index].lstrip().startswith("#"):
                    index += 1  # a comment between the lines of an instruction
                index += 1
            options = _OPTIONS.match(self.text, start + named.end())
            arguments = options.end() if options else start + named.end()
            end = start + len(self.text[start : self.line_starts[index]].rstrip())
            heredoc = None
            first = index
            for mark in _HEREDOC.finditer(self.text, arguments, max(end, arguments)):
                while index < len(self.lines) and self.lines[index].strip() != mark[2]:
                    index += 1
                heredoc = heredoc or (self.line_starts[first], self.line_starts[min(index, len(self.lines))])
                index = min(index + 1, len(self.lines))
            skipped = len(line) - len(line.lstrip())
            yield Instruction(
                named[1].upper(), start + skipped, min(arguments, end), end, self.line_starts[index], heredoc
            )

    def _goes_on(self, index: int, escape: str) -> bool:
        line = self.lines[index].rstrip()
        return line.endswith(escape) and not line.lstrip().startswith("#")


def _continued(comment: re.Match[str]) -> str:
    """A line as long as a comment that the shell passes over: a comment would end the command there."""
    return " " * (len(comment.group()) - 1) + "\\"


def _with_comments(new: str, comments: Sequence[str], before: str) -> str:
    """The comments where their lines have been; the text from before if those are not all there any more."""
    if not comments:
        return new
    if len(_EMPTY_LINE.findall(new)) != len(comments):
        return before
    left = iter(comments)
    return _EMPTY_LINE.sub(lambda _: next(left), new)


def _as_environment(command: str) -> str:
    """What stands behind ENV for an ``export``; the first variable may have gone, and left the rest of its line."""
    return re.sub(r"^\\\r?\n\s*", "", command.removeprefix(_EXPORT))


def _as_pair(command: str, between: str) -> str:
    """What stands behind ENV for an ``export``, in the form without ``=``, which has room for one variable."""
    pairs = [word.partition("=") for word in shlex.split(command)[1:]]
    if len(pairs) == 1:
        return f"{pairs[0][0]}{between}{pairs[0][2]}"
    return " ".join(f"{name}={shlex.quote(value)}" for name, _, value in pairs)


def _as_array(command: str) -> str:
    """A command as an array of its words; variables before it need a program that sets them."""
    words = shlex.split(command)
    if re.match(r"\w+=", words[0]):
        words.insert(0, "env")
    return json.dumps(words, ensure_ascii=False)
