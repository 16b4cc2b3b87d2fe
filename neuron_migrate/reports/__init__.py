"""How a run is told: one module for each format."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from neuron_migrate.results import FileResult, Totals


class Mode(Enum):
    """What a run does with the files it would change."""

    WRITE = "write"
    CHECK = "check"
    DIFF = "diff"
    FILTER = "filter"
    """From standard input to standard output."""

    @property
    def writes(self) -> bool:
        """Whether the migrated text goes somewhere, so that nothing "would" change any more."""
        return self in (Mode.WRITE, Mode.FILTER)


class Detail(Enum):
    """How much is told: findings of these outcomes, the ones that matter most first."""

    STATISTICS = ()
    QUIET = ("manual",)
    NORMAL = ("manual", "review")
    VERBOSE = ("manual", "review", "rewritten")


class Report(Protocol):
    """Told of every file in turn, and of the end."""

    def file(self, result: FileResult) -> None: ...

    def end(self, totals: Totals) -> None: ...
