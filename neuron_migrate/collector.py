"""Python's collector of reference cycles, told what this program is like.

A syntax tree is some hundred thousand objects that are made in one go and live until the file is done. By default the
collector looks through them again after every few hundred, and through the rules each time that they outgrow a
quarter of all: a fifth of the time, for no object.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 100_000
"""How many new objects bring the collector to look at them: about one file of 2,000 lines."""


def rest() -> None:
    """Let the collector of this process rest for the most part, from here on."""
    gc.freeze()
    gc.set_threshold(OBJECTS, *gc.get_threshold()[1:])


@contextmanager
def resting() -> Iterator[None]:
    """Let it rest for a while."""
    before = gc.get_threshold()
    rest()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
