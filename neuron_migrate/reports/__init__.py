"""How a run is told: one module for each format."""

from __future__ import annotations

from typing import Protocol

from neuron_migrate.results import FileResult, Totals


class Report(Protocol):
    """Told of every file in turn, and of the end."""

    def file(self, result: FileResult) -> None: ...

    def end(self, totals: Totals) -> None: ...
