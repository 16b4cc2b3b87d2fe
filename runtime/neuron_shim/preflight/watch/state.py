"""How far the run has come."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from neuron_shim.preflight.journal import Journal


class Enough(BaseException):
    """Ends the script after the steps that were asked for. Not an Exception, so that no script swallows it."""


@dataclass
class State:
    journal: Journal
    limit: int
    """Optimizer steps, calls of ``generate`` and batches of an evaluation after which it is enough."""

    scratch: Path
    """Where a Trainer writes: preflight leaves the checkpoints of the user alone."""

    phase: str = "setup"
    steps: int = 0
    calls: int = 0
    """Of models, in this phase or any other."""

    generated: int = 0
    inferred: int = 0
    in_trainer: bool = False
    evaluating: bool = False
    generating: bool = False
    redirected: bool = False
    """Whether a model was saved elsewhere than the script said."""

    loader: dict[str, Any] | None = None
    """Who made the batch of the next model call."""

    prompts: dict[tuple[int, ...], str] = field(default_factory=dict)
    """Shape of what a tokenizer made, and the line that called it."""

    moved_at: str | None = None
    """The last line that moved a tokenizer's output to the device."""

    def note(self, event: str, **fields: Any) -> None:
        self.journal.note(event, phase=self.phase, step=self.steps, call=self.calls, **fields)
