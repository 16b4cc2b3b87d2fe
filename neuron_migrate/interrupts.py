"""Ctrl-C and polite kills: never while a file is being written, else at once and without a traceback."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_holds = 0
_waiting: int | None = None


def install() -> None:
    """Turn the signals that end a program into exceptions, so that clean-up runs; only in the main thread."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # Whoever started us may have had these ignored (nohup does): that stays so.
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _arrived)


@contextmanager
def held() -> Iterator[None]:
    """Let a signal that arrives inside wait until the end."""
    global _holds, _waiting
    _holds += 1
    try:
        yield
    finally:
        _holds -= 1
        if not _holds and _waiting is not None:
            number, _waiting = _waiting, None
            _end(number)


def _arrived(number: int, frame: FrameType | None) -> None:
    global _waiting
    if _holds:
        _waiting = number
    else:
        _end(number)


def _end(number: int) -> None:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)
