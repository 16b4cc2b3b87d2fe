"""The names of the XLA stack, as a table, and what becomes of each.

``names.tsv`` has one row for each name by the module that users import it from; a ``*`` stands for every other name of
a module. The column ``source`` says whether a page of the vendor states the mapping or it was derived, and from what.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pkgutil import get_data

from neuron_codemods.model import Outcome

ROOTS = (
    *("torch_xla", "torch_neuronx", "torch_neuron", "neuronx_distributed", "neuronx_distributed_training"),
    *("neuronx_distributed_inference", "transformers_neuronx", "libneuronxla", "neuronxcc"),
)
"""The packages of the XLA stack. The native package is called torch_neuronx too: what no row names in it is native."""


@dataclass(frozen=True)
class Name:
    """A name of the XLA stack, by the module that users import it from."""

    module: str
    symbol: str
    rule: str
    """The code of the rule that knows what to do with a use."""
    outcome: Outcome
    native: str
    """The dotted name of what takes its place, where there is one."""
    message: str
    source: str

    @property
    def dotted(self) -> str:
        return f"{self.module}.{self.symbol}"


@cache
def names() -> Mapping[str, Name]:
    """Every row of the table of names, by dotted name."""
    rows = (
        Name(module, symbol, rule, Outcome(outcome), native, message, source)
        for module, symbol, rule, outcome, native, message, source in _rows("names.tsv")
    )
    return {row.dotted: row for row in rows}


@cache
def modules() -> frozenset[str]:
    """Every module of the table, and the packages around them."""
    parts = (row.module.split(".") for row in names().values())
    return frozenset(".".join(path[:length]) for path in parts for length in range(1, len(path) + 1))


def find(qualified: str) -> tuple[Name, tuple[str, ...]] | None:
    """The row of a dotted name and the attributes behind it; the row of ``*`` for a name that has none.

    None for a module as a whole, and for what no row is about.
    """
    parts = qualified.split(".")
    table = names()
    if qualified in modules() and qualified not in table:
        return None
    for cut in range(len(parts), 1, -1):
        row = table.get(".".join(parts[:cut]))
        if row is not None:
            return row, tuple(parts[cut:])
    for cut in range(len(parts), 0, -1):
        row = table.get(".".join((*parts[:cut], "*")))
        if row is not None:
            return row, ()
    return None


def is_stack(qualified: str) -> bool:
    """Whether a dotted name lies in the XLA stack."""
    return qualified.partition(".")[0] in ROOTS


def _rows(name: str) -> list[list[str]]:
    content = get_data(__package__, name)
    if content is None:  # pragma: no cover (a loader that cannot read files beside the modules it loads)
        raise FileNotFoundError(f"{name} is missing from {__package__}")
    return [line.split("\t") for line in content.decode().rstrip("\n").split("\n")[1:]]
