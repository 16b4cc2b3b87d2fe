"""Reports suppression comments that suppress nothing.

`# neuron-migrate: ignore[NM101]` keeps a rule away from a statement. Once the statement has nothing for the rule any
more, the comment only hides what may come later. The engine knows, after all other rules have looked.

https://pypi.org/project/neuron-migrate/
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module

RULE = Rule(
    code="NM002",
    name="unused-suppression",
    summary="A suppression comment that suppresses nothing.",
    url="https://pypi.org/project/neuron-migrate/",
    outcomes=(Outcome.REVIEW,),
)


def check(module: Module) -> Iterator[Change]:
    """Nothing: ``engine.migrate`` reports what is left when all rules have looked."""
    yield from ()


CASES = (
    Case(
        "nothing to suppress",
        "import os  # neuron-migrate: ignore[NM002]\n\nprint(os.name)\n",
        outcomes=(Outcome.REVIEW,),
    ),
    Case(
        "a suppression that holds a rule back",
        "from optimum.neuron import NeuronTrainer  # neuron-migrate: ignore[NM101]\n\nprint(NeuronTrainer)\n",
    ),
    Case("a comment that only speaks of it", "# see neuron-migrate: it can ignore a statement\nx = 1\n"),
)
