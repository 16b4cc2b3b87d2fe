"""Reports names of Optimum Neuron that only appear as text.

`importlib.import_module("optimum.neuron")`, `mock.patch("optimum.neuron.NeuronTrainer")` and `getattr(module, "Name")`
reach the package without an import statement, so nothing can be rewritten safely, and `version("optimum-neuron")` of
`importlib.metadata` fails where it is not installed. Nor can a program that is a text:
one that a script writes to a file, or hands to another interpreter.

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
    summary="Names of optimum.neuron in strings: import_module, patch, find_spec, programs.",
    url="https://huggingface.co/docs/optimum-neuron",
    outcomes=(Outcome.MANUAL,),
)

_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ ]+optimum\.neuron[\w.]*[ ]+import[ ]|import[ ]+optimum\.neuron\b)", re.MULTILINE
)
_PROGRAM = (
    "This text is a program that imports Optimum Neuron: migrate it as a file of its own (neuron-migrate - reads "
    "standard input) and put the result here."
)


_DISTRIBUTIONS = ("optimum-neuron", "optimum_neuron")
_VERSION_OF = frozenset(
    f"{package}.{function}"
    for package in ("importlib.metadata", "importlib_metadata")
    for function in ("version", "distribution", "metadata", "requires")
) | {"pkg_resources.get_distribution"}


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
        elif text in _DISTRIBUTIONS and _asks_for_version(module, constant):
            message = (
                f"{text} is not installed natively, so this raises an error: ask for transformers or torch-neuronx."
            )
            yield Change(Outcome.MANUAL, constant, message)
        elif isinstance(text, str) and _IMPORT.search(text) and not isinstance(module.parent(constant), ast.Expr):
            yield Change(Outcome.MANUAL, constant, _PROGRAM)


def _asks_for_version(module: Module, constant: ast.Constant) -> bool:
    above = module.parent(constant)
    return isinstance(above, ast.Call) and module.resolve(above.func) in _VERSION_OF


CASES = (
    Case(
        "the version of the package",
        'import importlib.metadata as m\n\nprint(m.version("optimum-neuron"))\n',
        "import importlib.metadata as m\n\n"
        "# TODO(neuron-migrate NM005): optimum-neuron is not installed natively, so this raises an error: ask for "
        "transformers or torch-neuronx: https://huggingface.co/docs/optimum-neuron\n"
        'print(m.version("optimum-neuron"))\n',
        (Outcome.MANUAL,),
    ),
    Case("the package in a message", 'print("optimum-neuron", version("optimum-neuron"))\n'),
    Case("a message", 'print("optimum.neuron is gone")\n'),
    Case("a list of words", 'names = ["optimum.neuron"]\n'),
    Case(
        "an example in a docstring",
        'def load():\n    """Load it.\n\n    from optimum.neuron import pipeline\n    """\n',
    ),
    Case("a sentence", 'print("Write from optimum.neuron import pipeline.")\n'),
    Case(
        "a program that is written to a file",
        """SCRIPT = '''import os
from optimum.neuron import pipeline
'''
""",
        """# TODO(neuron-migrate NM005): This text is a program that imports Optimum Neuron: migrate it as a file of \
its own (neuron-migrate - reads standard input) and put the result here: \
https://huggingface.co/docs/optimum-neuron
SCRIPT = '''import os
from optimum.neuron import pipeline
'''
""",
        (Outcome.MANUAL,),
    ),
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
