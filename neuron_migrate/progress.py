"""A progress bar for those who wait: on a terminal, and only once the work has turned out to be long."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, TextIO

from neuron_migrate.output import wants_color

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

PATIENCE = 1.0
"""Seconds without a bar."""
MANY = 200
"""So many files to migrate take longer than that for sure."""
_INTERVAL = 0.1


class Progress:
    """Counts steps; shows them where that helps."""

    def __init__(self, stream: TextIO | None, *, wanted: bool, color: str = "auto") -> None:
        terminal = stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
        self._color = wants_color(color, stream)
        self._enabled = wanted and terminal and not os.environ.get("CI")
        self._started = time.monotonic()
        self._looked = self._started
        self._what = ""
        self._done = 0
        self._total: int | None = None
        self._long = False
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def begin(self, what: str, total: int | None = None, *, long: bool = False) -> None:
        """A new stage of the work."""
        self._what, self._total, self._done, self._long = what, total, 0, long

    def tick(self) -> None:
        """One step is done. Cheap: most calls only count."""
        self._done += 1
        if not self._enabled or (self._done % 8 and self._total is None):
            return
        now = time.monotonic()
        if now - self._looked >= _INTERVAL and (self._long or now - self._started >= PATIENCE):
            self._looked = now
            self._show()

    def hide(self) -> None:
        """Take the bar off the terminal, because something else is written there; the next step brings it back."""
        if self._bar is not None:
            self._bar.stop()

    def _show(self) -> None:
        # No thread of its own: the bar moves when a step is done, and workers can be forked at any time.
        if self._bar is None or self._task is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                console=Console(stderr=True, no_color=not self._color),
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._task = self._bar.add_task(self._what)
        self._bar.start()
        self._bar.update(self._task, description=self._what, completed=self._done, total=self._total, refresh=True)
