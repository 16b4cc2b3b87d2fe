"""What becomes of environment variables of the XLA stack and of Optimum Neuron, wherever they are set or read.

``variables.tsv`` has one row for each variable, in which ``*`` may stand at the end. The column ``source`` says
whether a page of the vendor states the mapping or it was derived, and from what.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pkgutil import get_data

from neuron_codemods.model import Outcome

KEEP = "keep"
"""The outcome of a variable that is still read."""
FLAGS = "NEURON_CC_FLAGS"
"""The variable with options of the compiler, some of which were for the wrapper around it."""
CACHE = "TORCH_NEURONX_NEFF_CACHE_DIR"
"""The variable that names the folder of compiled graphs now."""
_OFF = frozenset({"", "0", "false", "False"})


@dataclass(frozen=True)
class Variable:
    """An environment variable, and what becomes of it."""

    name: str
    outcome: str
    """One of the outcomes of a rule, or ``keep``."""
    native: str
    """The variable that takes its place, where there is one."""
    said: str
    source: str

    @property
    def is_kept(self) -> bool:
        return self.outcome == KEEP

    @property
    def is_manual(self) -> bool:
        return self.outcome == Outcome.MANUAL.value

    @property
    def is_read(self) -> bool:
        """Whether it is still read under its own name, if not as before."""
        return self.native == self.name

    def message(self, name: str) -> str:
        """What is told of a variable of this row."""
        return self.said.replace(self.name, name)

    def gone(self, value: object) -> Outcome:
        """The outcome where the variable is taken out; ``value`` is what it was set to, where that is known."""
        return Outcome.REWRITTEN if is_off(value) else Outcome(self.outcome)


def is_off(value: object) -> bool:
    """Whether a value switches nothing on, so that a person need not know of its variable when it goes."""
    return isinstance(value, str) and value in _OFF


@cache
def variables() -> tuple[Variable, ...]:
    """Every row of the table."""
    lines = (get_data(__name__, "variables.tsv") or b"").decode().splitlines()[1:]
    return tuple(Variable(*line.split("\t")) for line in lines)


@cache
@lru_cache(maxsize=4096)
def variable(name: str) -> Variable | None:
    """The row of an environment variable: its own, or the first whose pattern it fits."""
    exact = next((row for row in variables() if row.name == name), None)
    return exact or next((row for row in variables() if fnmatchcase(name, row.name)), None)


@cache
def needles() -> tuple[bytes, ...]:
    """What a text holds that sets or reads a variable which is not read as before."""
    return tuple(row.name.rstrip("*").encode() for row in variables() if not row.is_kept)
