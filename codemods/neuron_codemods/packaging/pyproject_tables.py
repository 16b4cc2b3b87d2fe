"""Moves the requirements of pyproject.toml and Pipfile from the stack of Optimum Neuron to the native one.

What holds for requirements files holds here, in the arrays of PEP 621, dependency groups, uv and Hatch and in the
tables of Poetry and Pipenv. Where the index of AWS is to be named depends on the installer, so that is told; and a
project that excludes Python 3.12 excludes TorchNeuron.

https://awsdocs-neuron.readthedocs-hosted.com/en/v2.33.0/setup/pytorch/update-manual.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from neuron_codemods.kinds import parser
from neuron_codemods.kinds.pyproject import Pyproject
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.project import Project
from neuron_codemods.requirements import stack
from neuron_codemods.requirements.plan import decide
from neuron_codemods.texts import Change

RULE = Rule(
    code="NM502",
    name="pyproject-requirements",
    summary="Requirements of the old stack become those of the native one, in pyproject.toml and Pipfile.",
    url=stack.URL,
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
    kind="pyproject",
)


def check(file: Pyproject, project: Project) -> Iterator[Change]:
    """The decisions, and what else of the file stands in the way of the native packages."""
    by_hand = {element.entry for element in file.elements if not element.is_plain}
    decisions = [
        replace(each, outcome=Outcome.MANUAL, message=f"Do this by hand: {each.message}", new=None)
        if each.entry in by_hand and each.new is not None
        else each
        for each in decide((element.entry for element in file.elements), project)
    ]
    edits = file.edits({each.entry: each.new for each in decisions if each.new is not None})
    for decision in decisions:
        yield Change(decision.outcome, decision.entry.span, decision.message, edits.get(decision.entry, ()))
    left = {_name(new) for each in decisions for new in each.new or ()}
    gone = {_name(each.entry.text): each.new for each in decisions if each.new is not None}
    for name, span in file.extras:
        if name in gone and name not in left:
            instead = ", ".join(map(_name, gone[name]))
            task = f"Name {instead} instead of {name} in this list" if instead else f"Take {name} out of this list"
            message = f"{task}: {name} is no requirement any more."
            yield Change(Outcome.MANUAL, span, message)
    if not any(decision.new for decision in decisions):
        return
    if stack.NEURON_INDEX not in file.text:
        message = (
            f"torch-neuronx is not on PyPI, which has placeholders only. Name {stack.NEURON_INDEX} where you install: "
            "--extra-index-url of pip, [[tool.uv.index]], [[tool.poetry.source]] or [[source]] of a Pipfile."
        )
        yield Change(Outcome.REVIEW, decisions[0].entry.span, message)
    specifiers = parser("packaging.specifiers", "requirements")
    for versions, span in file.pythons:
        try:
            excluded = not specifiers.SpecifierSet(versions).contains(f"{stack.PYTHON}.0")
        except specifiers.InvalidSpecifier:
            continue
        if excluded:
            message = f"TorchNeuron needs Python {stack.PYTHON} or later, which this excludes."
            yield Change(Outcome.MANUAL, span, message)


def _name(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0]


_PEP_621 = """[project]
name = "train"
requires-python = ">=3.10"
dependencies = [
    "optimum-neuron[neuronx,training]==0.4.5",  # trains
    "datasets>=3",
    "neuronx-distributed",
    "transformers~=4.57.1",
]
"""
_PEP_621_AFTER = """[project]
name = "train"
requires-python = ">=3.10"
dependencies = [
    "torch-neuronx==2.14.*",
    "neuronx-cc==2.*",
    "nki",
    "accelerate>=1.15",
    "trl>=1.16",
    "peft>=0.21",  # trains
    "datasets>=3",
    "transformers>=5.24",
]
"""

CASES = (
    Case("PEP 621", _PEP_621, _PEP_621_AFTER),
    Case(
        "an array on one line",
        "[project.optional-dependencies]\ntrn = ['libneuronxla', 'optimum-neuron', 'x']\ncpu = ['y']\n",
        "[project.optional-dependencies]\n"
        "trn = ['torch-neuronx==2.14.*', 'neuronx-cc==2.*', 'nki', 'transformers>=5.24', 'accelerate>=1.15', 'x']\n"
        "cpu = ['y']\n",
    ),
    Case(
        "Poetry",
        '[tool.poetry.dependencies]\npython = "^3.10"\noptimum-neuron = {version = "^0.0.24", extras = ["neuronx"]}\n'
        'neuronx-cc = "2.14.227.0"\ntrl = "^0.11"\n',
        '[tool.poetry.dependencies]\npython = "^3.10"\ntorch-neuronx = "==2.14.*"\nnki = "*"\n'
        'transformers = ">=5.24"\naccelerate = ">=1.15"\nneuronx-cc = "==2.*"\ntrl = ">=1.16"\n',
    ),
    Case(
        "a project that excludes Python 3.12",
        '[project]\nrequires-python = ">=3.10,<3.12"\ndependencies = ["torch-neuronx==2.8.*"]\n',
        "[project]\n"
        f"# TODO(neuron-migrate NM502): TorchNeuron needs Python 3.12 or later, which this excludes: {stack.URL}\n"
        'requires-python = ">=3.10,<3.12"\ndependencies = ["torch-neuronx==2.14.*"]\n',
        (Outcome.MANUAL, Outcome.REWRITTEN, Outcome.REVIEW),
    ),
    Case("an array that holds no requirements", '[tool.x]\ndependencies = ["optimum-neuron"]\n'),
    Case("the native stack", '[project]\ndependencies = ["torch-neuronx==2.14.*", "transformers>=5.24"]\n'),
    Case("no Neuron", '[project]\ndependencies = ["torch==2.8.0", "transformers==4.57.1"]\n'),
    Case("a Pipfile without Neuron", '[packages]\ntorch = "*"\n'),
)
