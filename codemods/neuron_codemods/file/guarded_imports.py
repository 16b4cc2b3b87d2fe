"""Points out imports that told whether Optimum Neuron is installed.

An import in a `try` succeeded where Optimum Neuron was. What stands in its place succeeds wherever transformers is,
and neuron_shim where that is needed: on any machine with a GPU. A flag that is set behind it, or another import in its
`except`, then means something else.

https://github.com/huggingface/transformers/blob/main/src/transformers/utils/import_utils.py
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import Change
from neuron_codemods.imports import guard
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module

RULE = Rule(
    code="NM011",
    name="guarded-import",
    summary="An import in a try that told whether Optimum Neuron is installed.",
    url="https://github.com/huggingface/transformers/blob/main/src/transformers/utils/import_utils.py",
    outcomes=(Outcome.REVIEW,),
)

_MESSAGE = (
    "The try tells no more whether Optimum Neuron is installed: what it imports now is there without it. Where that "
    "decides something, ask transformers.utils.is_torch_neuron_available()."
)


def check(module: Module) -> Iterator[Change]:
    """One finding for each ``try`` that does more without Optimum Neuron than to fail."""
    found = {guard(module, binding.statement): binding.statement for binding in reversed(module.neuron_bindings)}
    for above, statement in found.items():
        if isinstance(above, ast.Try) and not all(_fails(handler) for handler in above.handlers):
            yield Change(Outcome.REVIEW, statement, _MESSAGE)


def _fails(handler: ast.ExceptHandler) -> bool:
    return isinstance(handler.body[-1], ast.Raise)


CASES = (
    Case(
        "a flag",
        """try:
    from optimum.neuron import NeuronTrainer

    HAS_NEURON = True
except ImportError:
    HAS_NEURON = False
""",
        outcomes=(Outcome.REVIEW,),
    ),
    Case(
        "another class",
        """try:
    from optimum.neuron import NeuronTrainer as Trainer
except ImportError:
    from transformers import Trainer
""",
        outcomes=(Outcome.REVIEW,),
    ),
    Case(
        "nothing goes on without it",
        """try:
    from optimum.neuron import NeuronTrainer
except ImportError as error:
    raise SystemExit("pip install optimum-neuron") from error
""",
    ),
    Case(
        "the user decides",
        """import os

if os.environ.get("BACKEND") == "neuron":
    from optimum.neuron import NeuronTrainer as Trainer
else:
    from transformers import Trainer
""",
    ),
    Case(
        "a try for something else",
        """from optimum.neuron import NeuronTrainer

try:
    import wandb
except ImportError:
    wandb = None
""",
    ),
)
