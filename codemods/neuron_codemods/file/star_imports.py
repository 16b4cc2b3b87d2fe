"""Reports `from optimum.neuron import *`, from which names come that nobody can list for sure.

Names that can only have come from there are rewritten like any other. If every unknown name of the file is explained
that way, or there is none, the star import goes; else it stays under a marker.

https://huggingface.co/docs/optimum-neuron
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import PurePath

from neuron_codemods.edits import Change, RemoveStatement
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renaming import star_uses

RULE = Rule(
    code="NM004",
    name="star-import",
    summary="from optimum.neuron import *: what can be told is rewritten, the rest is reported.",
    url="https://huggingface.co/docs/optimum-neuron",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)


def check(module: Module) -> Iterator[Change]:
    renamed: dict[ast.ImportFrom, list[str]] = {}
    unknown = {reference.name for reference in module.names.unresolved()}
    kept: dict[ast.ImportFrom, set[str]] = {}
    for statement, name, symbol in star_uses(module):
        if not symbol.rename:
            kept.setdefault(statement, set()).add(name.id)
        else:
            renamed.setdefault(statement, []).append(name.id)
            unknown.discard(name.id)
    for node in module.names.imports:
        if not (isinstance(node, ast.ImportFrom) and node.names[0].name == "*" and node.module in module.star_modules):
            continue
        names = sorted(set(renamed.get(node, ())))
        is_package = PurePath(module.path).name == "__init__.py"
        if not (names or unknown or module.names.exported or is_package):
            message = f"The star import goes: nothing of {node.module} is used."
            yield Change(Outcome.REWRITTEN, node, message, (RemoveStatement(node),))
        elif names and not unknown and not module.names.exported:
            yield Change(
                Outcome.REVIEW, node, f"The star import gives way to the names used from it: {', '.join(names)}."
            )
        else:
            left = f" ({', '.join(sorted(kept[node]))})" if node in kept else ""
            message = (
                f"Import by name what this file uses from {node.module}{left}: a star import cannot be followed, and "
                "the package does not install beside native PyTorch."
            )
            yield Change(Outcome.MANUAL, node, message)


CASES = (
    Case(
        "nothing is used",
        "from optimum.exporters.neuron.model_configs import *\nfrom os import path\n\nprint(path.sep)\n",
        "from os import path\n\nprint(path.sep)\n",
        (Outcome.REWRITTEN,),
    ),
    Case("another package's names", "from optimum.onnxruntime import *\n\nprint(ORTModel)\n"),
    Case("names imported one by one", "from optimum.neuron import NeuronTrainer\n\nprint(NeuronTrainer)\n"),
    Case(
        "nothing can be told",
        "from optimum.exporters.neuron.model_configs import *\n\nprint(BertNeuronConfig)\n",
        "# TODO(neuron-migrate NM004): Import by name what this file uses from optimum.exporters.neuron.model_configs "
        "(BertNeuronConfig): a star import cannot be followed, and the package does not install beside native "
        "PyTorch: "
        "https://huggingface.co/docs/optimum-neuron\n"
        "from optimum.exporters.neuron.model_configs import *\n\nprint(BertNeuronConfig)\n",
        (Outcome.MANUAL,),
    ),
)
