"""Marks what exported models ahead of time or kept compiled graphs on the Hub.

There is no artefact to export: `torch.compile` compiles on the first call, and its cache is a folder of the machine.
An unused import goes; code that depends on the folder or the cache needs a person.

https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renaming import without_native

RULE = Rule(
    code="NM202",
    name="export-or-cache",
    summary="optimum.exporters.neuron and the Hub cache: nothing to export, nothing to look up.",
    url="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html",
    outcomes=(Outcome.MANUAL, Outcome.REWRITTEN),
)

CATEGORIES = frozenset({"cache", "export"})


def check(module: Module) -> Iterator[Change]:
    yield from without_native(module, CATEGORIES)


CASES = (
    Case(
        "an unused export goes",
        "import os\nfrom optimum.exporters.neuron import NeuronDefaultConfig\n\nprint(os.name)\n",
        "import os\n\nprint(os.name)\n",
        (Outcome.REWRITTEN,),
    ),
    Case("another exporter", "from optimum.exporters.onnx import main_export\n\nmain_export('model')\n"),
    Case("an export of one's own", "def export(model):\n    return model\n\n\nexport('optimum')\n"),
)
