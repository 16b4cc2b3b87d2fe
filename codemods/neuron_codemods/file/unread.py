"""Reports code that cannot be read inside of a document: a code fence, a notebook cell, a line of a shell script.

The rest of the document is migrated. A fence that shows only a part of a program, or a cell in another language, is
left alone without a word unless it holds names of Optimum Neuron.

https://pypi.org/project/neuron-migrate/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from neuron_codemods.model import Case, Outcome, Rule

RULE = Rule(
    code="NM007",
    name="unread",
    summary="Code in a document that cannot be read and names Optimum Neuron.",
    url="https://pypi.org/project/neuron-migrate/",
    outcomes=(Outcome.MANUAL,),
    kind="markdown",
)


def check(parsed: Any, project: Any) -> Iterator[Any]:
    """Nothing: ``texts.migrate_text`` reports what it meets."""
    yield from ()


CASES = (
    Case(
        "a fence that is not Python",
        "```python\nfrom optimum.neuron import (\n    ...\n```\n",
        outcomes=(Outcome.MANUAL,),
    ),
    Case(
        "a diff that brings Optimum Neuron in",
        "```diff\n-from transformers import Trainer\n+from optimum.neuron import NeuronTrainer as Trainer\n```\n",
        outcomes=(Outcome.MANUAL,),
    ),
    Case("a diff that takes it away", "```diff\n-from optimum.neuron import NeuronTrainer\n+import trl\n```\n"),
    Case("a fence that does not name Optimum Neuron", "```python\nmodel = ...(\n```\n"),
)
