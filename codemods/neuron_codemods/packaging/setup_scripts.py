"""Moves the requirements that a script lists from the stack of Optimum Neuron to the native one.

What holds for requirements files holds here, in every list of strings of a script that calls `setup()`, and elsewhere
in a list with a version or the extras of Optimum Neuron (`reqs=["optimum-neuron==0.0.20", ...]`), as libraries take it
that set up machines. Lists that are put together when the script runs are left as they are.

https://awsdocs-neuron.readthedocs-hosted.com/en/v2.33.0/setup/pytorch/update-manual.html
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from neuron_codemods.edits import Change, Edit
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.requirements import layout, stack
from neuron_codemods.requirements.entries import Entry
from neuron_codemods.requirements.plan import decide

RULE = Rule(
    code="NM504",
    name="setup-script-requirements",
    summary="Requirements of the old stack become those of the native one, in setup.py and in lists for machines.",
    url=stack.URL,
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

_SETUPS = ("setuptools.setup", "distutils.core.setup")
_IS_REQUIREMENT = re.compile(r"(?:optimum-neuron|optimum\[neuronx?\])\s*[\[<>=~@]|optimum\[neuronx?\]$")
"""A requirement that says more than a name, which may stand in a list of names for something else."""


def check(module: Module) -> Iterator[Change]:
    """The decisions about the strings of all lists, taken together."""
    if "neuron" not in module.source.text:
        return
    lists = _lists(module)
    if not any(module.resolve(call.func) in _SETUPS for call in module.calls):
        lists = [entries for entries in lists if _is_of_requirements(entries)]
    nodes = {entry: node for entries in lists for entry, node in entries}
    decisions = decide(nodes, module.project)
    new = {each.entry: each.new for each in decisions if each.new is not None}
    edits: dict[Entry, tuple[Edit, ...]] = {}
    for entries in lists:
        written = [(entry.span, _written(module, node, new.get(entry))) for entry, node in entries]
        changes = layout.edits(module.source, written)
        edits |= {entry: (changes[entry.span],) for entry, _ in entries if entry.span in changes}
    for decision in decisions:
        yield Change(decision.outcome, nodes[decision.entry], decision.message, edits.get(decision.entry, ()))


def _lists(module: Module) -> list[list[tuple[Entry, ast.Constant]]]:
    """The strings of each list, in order."""
    lists: dict[ast.AST | None, list[tuple[Entry, ast.Constant]]] = {}
    for node in module.names.strings:
        holder = module.parent(node)
        if isinstance(holder, (ast.List, ast.Tuple, ast.Set)) and isinstance(node.value, str):
            # One with a prefix, with escapes or in several parts is nothing to rewrite.
            plain = module.source.segment(node)[1:-1] == node.value
            text = node.value.strip() if plain else ""
            lists.setdefault(holder, []).append((Entry(text, module.source.span(node)), node))
    return list(lists.values())


def _is_of_requirements(entries: list[tuple[Entry, ast.Constant]]) -> bool:
    """Whether a list holds requirements, and not the words of a command that installs them."""
    texts = [entry.text for entry, _ in entries]
    return "install" not in texts and any(map(_IS_REQUIREMENT.match, texts))


def _written(module: Module, node: ast.Constant, new: Sequence[str] | None) -> list[str] | None:
    quote = module.source.segment(node)[0]
    return None if new is None else [f"{quote}{each}{quote}" for each in new]


CASES = (
    Case(
        "requirements of setup()",
        """from setuptools import setup

setup(
    name="train",
    install_requires=[
        "optimum-neuron[neuronx]==0.0.24",
        "libneuronxla",
        "datasets",
    ],
    extras_require={"dev": ["torch-xla", "trl==0.11.4"]},
)
""",
        """from setuptools import setup

setup(
    name="train",
    install_requires=[
        "torch-neuronx==2.14.*",
        "neuronx-cc==2.*",
        "nki",
        "transformers>=5.24",
        "accelerate>=1.15",
        "datasets",
    ],
    extras_require={"dev": ["trl>=1.16"]},
)
""",
    ),
    Case(
        "requirements of a machine",
        """from ray import init

init(runtime_env={"pip": ["optimum-neuron==0.0.20", "diffusers==0.27.2"], "working_dir": "."})
""",
        """from ray import init

init(runtime_env={"pip": ["torch-neuronx==2.14.*", "neuronx-cc==2.*", "nki", "transformers>=5.24", \
"accelerate>=1.15", "diffusers>=0.42"], "working_dir": "."})
""",
    ),
    Case("a list of names", 'PACKAGES = ["optimum-neuron"]\n'),
    Case("a command", 'install(["pip", "install", "optimum-neuron==0.0.20"])\n'),
    Case("no Neuron", 'from setuptools import setup\n\nsetup(install_requires=["optimum[onnxruntime]"])\n'),
)
