"""How far an export has come: one line on a terminal, rewritten in place."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing import TextIO

WIDTH = 24  # of the bar, where the line is long enough
EVERY = 0.2  # seconds


class Progress(Protocol):
    """Told what is being done, how many bytes of it are done, and how many there are."""

    def __call__(self, what: str, done: int, total: int) -> None: ...


def silent(what: str, done: int, total: int) -> None:
    """Says nothing."""


class Counter:
    """Adds up the bytes of one step, also from several threads: a count that comes late shows up with the next one."""

    def __init__(self, progress: Progress, what: str, total: int) -> None:
        self._progress, self._what, self._total, self._done = progress, what, total, 0

    def __call__(self, size: int) -> None:
        self._done += size
        self._progress(self._what, self._done, self._total)


class Bar:
    """Share, rate and time left."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._what = ""
        self._started = self._told = 0.0
        self._length = 0

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if what != self._what:
            self._what, self._started, self._told = what, now, 0.0
        if now - self._told < EVERY and done < total:
            return
        self._told = now
        self._write(line(what, done, total, now - self._started, shutil.get_terminal_size().columns))

    def close(self) -> None:
        """Leave the line empty for what comes next."""
        if self._length:
            self._stream.write("\r" + " " * self._length + "\r")
            self._stream.flush()
            self._length = 0

    def _write(self, text: str) -> None:
        self._stream.write("\r" + text.ljust(self._length))
        self._stream.flush()
        self._length = len(text)


def line(what: str, done: int, total: int, seconds: float, columns: int) -> str:
    """Such as ``Writing [####            ]  25%  1.0 of 4.0 GB, 310 MB/s, 10 s left``.

    The bar becomes shorter where the line would not fit: a line that wraps cannot be rewritten.
    """
    share = min(1.0, done / total) if total else 1.0
    rate = done / seconds if seconds > 0 else 0.0
    left = f", {_duration((total - done) / rate)} left" if rate and done < total else ""
    numbers = f"{share:4.0%}  {done / 1e9:.1f} of {total / 1e9:.1f} GB, {rate / 1e6:.0f} MB/s{left}"
    width = max(0, min(WIDTH, columns - len(f"{what} [] {numbers}") - 1))
    filled = int(share * width)
    return f"{what} [{'#' * filled}{' ' * (width - filled)}] {numbers}"[: max(1, columns - 1)]


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
