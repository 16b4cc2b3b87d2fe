"""Where the command writes: standard output and standard error, coloured or not, and closed early or not."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

import click

WIDEST = 120
"""A line of text with more columns is hard to read, however wide the terminal is."""
NARROWEST = 24


class ClosedError(Exception):
    """The reader at the other end has gone (``| head``), and nothing but output was wanted."""


class NoAnswerError(Exception):
    """Nobody is there to answer: standard input is closed or at its end."""


class Output:
    """One of the two streams."""

    def __init__(
        self,
        stream: TextIO | None,
        *,
        color: str = "auto",
        needed: bool = False,
        before: Callable[[], None] = lambda: None,
    ) -> None:
        self._stream = stream
        self._before = before
        """Called ahead of every write: a progress bar has to make room."""
        self.color = wants_color(color, stream)
        self.columns = columns(stream)
        """How wide the terminal is; None for a file or a pipe, in which every line stays whole."""
        self._needed = needed
        """Whether the run is pointless without this stream; a rewriting run goes on when nobody reads its report."""

    def line(self, text: str = "") -> None:
        """Write one line of text."""
        if self._stream is not None:
            with self._reader():
                self._stream.write(text + "\n")

    def data(self, data: bytes) -> None:
        """Write bytes as they are."""
        if self._stream is not None:
            with self._reader():
                self._stream.flush()
                self._stream.buffer.write(data)
                self._stream.flush()

    def flush(self) -> None:
        """Let the reader have what was written so far."""
        if self._stream is not None:
            with self._reader():
                self._stream.flush()

    def paragraph(self, text: str, before: str = "", indentation: int = 0) -> None:
        """Write a text, broken to the width of a terminal; ``before`` stands in the indentation of the first line."""
        if self.columns is None:
            self.line(before + text)
            return
        width = max(min(self.columns, WIDEST) - indentation, NARROWEST)
        first, *others = wrapped(text, width)
        self.line(before + first)
        for line in others:
            self.line(" " * indentation + line)

    def style(self, text: str, color: str | None = None, *, bold: bool = False) -> str:
        """The text in a colour, on a stream that shows any."""
        return click.style(text, fg=color, bold=bold or None) if self.color else text

    @contextlib.contextmanager
    def _reader(self) -> Iterator[None]:
        try:
            self._before()
            yield
        except BrokenPipeError as error:
            assert self._stream is not None
            # What is still buffered has nowhere to go; Python would complain of it at its end.
            with contextlib.suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self._stream.fileno())
                os.close(nowhere)
            if self._needed:
                raise ClosedError from error


def wants_color(choice: str, stream: TextIO | None) -> bool:
    """Whether a stream gets colours: as chosen, else as the environment says, else if it is a terminal."""
    if choice != "auto" or stream is None:
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def columns(stream: TextIO | None) -> int | None:
    """The width of a terminal that people read; editors that look for ``path:line:`` in one call it dumb."""
    if stream is None or not stream.isatty() or os.environ.get("TERM") == "dumb":
        return None
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80


def wrapped(text: str, width: int) -> list[str]:
    """A text as lines of at most that many columns, of which colours take none; a longer word stays whole."""
    lines: list[list[str]] = [[]]
    room = width
    for word in text.split():
        length = len(click.unstyle(word))
        if lines[-1] and length >= room:
            lines.append([])
            room = width
        room -= length + bool(lines[-1])
        lines[-1].append(word)
    return [" ".join(line) for line in lines]


def aligned(
    rows: Sequence[tuple[str, ...]],
    right: frozenset[int] = frozenset(),
    style: Callable[[int, str], str] = lambda column, cell: cell,
) -> list[str]:
    """Rows as lines with straight columns; the columns in ``right`` are for numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            style(number, cell.rjust(width) if number in right else cell.ljust(width))
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def counted(number: int, noun: str) -> str:
    """``1 file``, ``2 files``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
