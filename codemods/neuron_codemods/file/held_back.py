"""Says that nothing about training is rewritten in a file where a person keeps one of its names.

The trainer, its arguments and the way the model is loaded belong together: with one of them old and the others native
a script fails. So `ignore[NM101]` on an import, or `--ignore NM101`, holds back all rules about training in that file.

https://pypi.org/project/neuron-migrate/
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module

RULE = Rule(
    code="NM006",
    name="held-back",
    summary="A training name is kept by a suppression, so nothing about training is rewritten.",
    url="https://pypi.org/project/neuron-migrate/",
    outcomes=(Outcome.REVIEW,),
)


def check(module: Module) -> Iterator[Change]:
    """Nothing: ``selection.hold_back`` reports it when all rules have looked."""
    yield from ()


CASES = (
    Case(
        "a trainer that is kept",
        """from optimum.neuron import NeuronTrainer  # neuron-migrate: ignore[NM101]

trainer = NeuronTrainer(tokenizer=tokenizer)
""",
        outcomes=(Outcome.REVIEW,),
    ),
    Case("nothing is kept", "import os\n\nprint(os.name)\n"),
)
