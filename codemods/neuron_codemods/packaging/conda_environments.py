"""Moves conda environments from the stack of Optimum Neuron to the native one.

What holds for requirements files holds for the list below `pip:`. An environment that asks for a Python before 3.12
cannot hold TorchNeuron.

https://awsdocs-neuron.readthedocs-hosted.com/en/v2.33.0/setup/pytorch/update-manual.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuron_codemods.edits import Edit
from neuron_codemods.kinds.yaml import Scalar, Yaml
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.project import Project
from neuron_codemods.requirements import stack
from neuron_codemods.requirements.entries import Entry
from neuron_codemods.requirements.plan import decide
from neuron_codemods.texts import Change

RULE = Rule(
    code="NM506",
    name="conda-environment",
    summary="Requirements of the old stack become those of the native one, in conda environments.",
    url=stack.URL,
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
    kind="yaml",
)

_PYTHON = re.compile(r"python\s*[=<~]+\s*3\.(\d+)")


def check(file: Yaml, project: Project) -> Iterator[Change]:
    """The decisions, and the Python that stands in their way."""
    scalars = {
        Entry(scalar.value, (scalar.start, scalar.end)): scalar
        for scalar in file.scalars
        if scalar.keys[-2:] == ("dependencies", "pip")
    }
    decisions = decide(scalars, project)
    for decision in decisions:
        edits = () if decision.new is None else (_edit(file, scalars[decision.entry], decision.new),)
        yield Change(decision.outcome, decision.entry.span, decision.message, edits)
    for scalar in file.scalars if decisions else ():
        python = _PYTHON.match(scalar.value)
        if scalar.keys[-1:] == ("dependencies",) and python and int(python[1]) < 12:
            message = f"TorchNeuron needs Python {stack.PYTHON} or later."
            yield Change(Outcome.MANUAL, (scalar.start, scalar.end), message)


def _edit(file: Yaml, scalar: Scalar, new: Sequence[str]) -> Edit:
    line, end = file.line_start(scalar.start), file.line_end(scalar.end)
    if not new:
        return Edit.delete((line, end))
    separator = file.newline(line) + file.text[line : scalar.start]
    return Edit.replace((scalar.start, scalar.end), separator.join(new))


CASES = (
    Case(
        "the list of pip",
        "name: train\ndependencies:\n  - python=3.12\n  - pip\n  - pip:\n      - optimum-neuron[neuronx]  # trains\n"
        "      - libneuronxla\n      - datasets\n",
        "name: train\ndependencies:\n  - python=3.12\n  - pip\n  - pip:\n      - torch-neuronx==2.14.*\n"
        "      - neuronx-cc==2.*\n      - nki\n      - transformers>=5.24\n      - accelerate>=1.15  # trains\n"
        "      - datasets\n",
    ),
    Case(
        "a Python that is too old",
        "dependencies:\n  - python=3.10\n  - pip:\n    - torch-xla\n    - torch-neuronx==2.8\n",
        "dependencies:\n  # TODO(neuron-migrate NM506): TorchNeuron needs Python 3.12 or later: " + stack.URL + "\n"
        "  - python=3.10\n  - pip:\n    - torch-neuronx==2.14.*\n",
        (Outcome.MANUAL, Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case("another list", "packages:\n  pip:\n    - optimum-neuron\n"),
    Case("no Neuron", "dependencies:\n  - python=3.9\n  - pip:\n    - torch-xla\n"),
)
