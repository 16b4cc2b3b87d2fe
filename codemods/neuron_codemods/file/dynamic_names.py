"""Reports names of Optimum Neuron that only appear as text.

`importlib.import_module("optimum.neuron")`, `mock.patch("optimum.neuron.NeuronTrainer")` and `getattr(module, "Name")`
reach the package without an import statement, so nothing can be rewritten safely.

https://huggingface.co/docs/optimum-neuron
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from neuron_codemods.data import is_neuron_module
from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module

RULE = Rule(
    code="NM005",
    name="dynamic-name",
    summary="Names of optimum.neuron in strings: import_module, patch, find_spec.",
    url="https://huggingface.co/docs/optimum-neuron",
    outcomes=(Outcome.MANUAL,),
)

_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


def check(module: Module) -> Iterator[Change]:
    for constant in module.names.strings:
        text = constant.value
        if (
            isinstance(text, str)
            and _DOTTED.fullmatch(text)
            and is_neuron_module(text)
            and isinstance(module.parent(constant), (ast.Call, ast.keyword))
        ):
            message = f'"{text}" reaches Optimum Neuron by its name in a string: replace it by hand.'
            yield Change(Outcome.MANUAL, constant, message)


CASES = (
    Case("a message", 'print("optimum.neuron is gone")\n'),
    Case("a list of words", 'names = ["optimum.neuron"]\n'),
    Case("another package", 'import importlib\n\nimportlib.import_module("optimum.onnxruntime")\n'),
    Case(
        "an import by name",
        'import importlib\n\nneuron = importlib.import_module("optimum.neuron")\n',
        "import importlib\n\n"
        '# TODO(neuron-migrate NM005): "optimum.neuron" reaches Optimum Neuron by its name in a string: replace it by '
        "hand: https://huggingface.co/docs/optimum-neuron\n"
        'neuron = importlib.import_module("optimum.neuron")\n',
        (Outcome.MANUAL,),
    ),
)
