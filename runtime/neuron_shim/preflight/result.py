"""What a preflight found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Severity(str, Enum):
    FAILS = "fails"
    """The device would refuse it, or would not be used."""

    RECOMPILES = "recompiles"
    """A compilation at every step, or nearly."""

    COSTS = "costs"
    """Time, now and then, or another numerical result."""


@dataclass(frozen=True)
class Finding:
    kind: str
    severity: Severity
    where: str | None
    """``path:line`` of the user's line."""

    what: str
    why: str
    advice: str
    ranks: tuple[int, ...] = ()
    """The processes, unless it is all of them."""


@dataclass(frozen=True)
class InputShape:
    """One set of shapes that a model was called with."""

    tensors: dict[str, list[int]]
    calls: int
    first_call: int
    """Counted within the phase, from 1."""

    where: str
    """``path:line`` of the user's line that led to the call."""

    made_by: str | None
    """The collator or tokenizer call that gave the tensors their shape."""


@dataclass(frozen=True)
class Phase:
    name: str
    """"training", "evaluation", "inference" or "generation"."""

    model: str
    calls: int
    """Of all processes together."""

    shapes: tuple[InputShape, ...]
    graphs: int
    """Of ``torch.compile``, forward."""

    backward_graphs: int
    kernels: int
    """Operators that run by themselves, each with each set of shapes."""

    new_kernels_later: int
    """Of these, the ones that were new after the second step or call."""


@dataclass(frozen=True)
class Ending:
    """How the script ended."""

    how: str
    """"finished", "enough" (ended after its steps), "failed", "interrupted", "impossible" or "died"."""

    by_device: bool = False
    """Of a failure: whether the simulated device refused something."""

    error: str = ""
    where: str | None = None
    rank: int = 0


@dataclass(frozen=True)
class Result:
    script: str
    processes: int
    steps: int
    generated: int
    ending: Ending
    phases: tuple[Phase, ...]
    findings: tuple[Finding, ...]
    seconds_per_shape: int

    @property
    def shapes(self) -> int:
        return sum(len(phase.shapes) for phase in self.phases)

    @property
    def compile_seconds(self) -> int:
        """An estimate: with an empty cache, for the steps that were run."""
        return self.shapes * self.seconds_per_shape
