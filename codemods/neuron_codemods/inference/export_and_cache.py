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
from neuron_codemods.values import keyword, literal

RULE = Rule(
    code="NM202",
    name="export-or-cache",
    summary="optimum.exporters.neuron and the Hub cache: nothing to export, nothing to look up.",
    url="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html",
    outcomes=(Outcome.MANUAL, Outcome.REWRITTEN),
)

CATEGORIES = frozenset({"cache", "export"})
_ANY_EXPORTER = "optimum.exporters."
_ASKED_FOR = (
    'exporter="neuron" asks for what Optimum Neuron registers with optimum: delete it. The shapes that a model is '
    "compiled for are those of the inputs that it is called with."
)


def check(module: Module) -> Iterator[Change]:
    yield from without_native(module, CATEGORIES)
    for call in module.calls:
        exporter = keyword(call, "exporter")
        if exporter is not None and literal(exporter.value) == "neuron":
            if (module.resolve(call.func) or "").startswith(_ANY_EXPORTER):
                yield Change(Outcome.MANUAL, exporter, _ASKED_FOR)


CASES = (
    Case(
        "an unused export goes",
        "import os\nfrom optimum.exporters.neuron import NeuronDefaultConfig\n\nprint(os.name)\n",
        "import os\n\nprint(os.name)\n",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "a configuration that optimum is asked for",
        "from optimum.exporters import TasksManager\n\n"
        'TasksManager.get_exporter_config_constructor(model=model, exporter="neuron")\n',
        "from optimum.exporters import TasksManager\n\n"
        f"# TODO(neuron-migrate NM202): {_ASKED_FOR.removesuffix('.')}: {RULE.url}\n"
        'TasksManager.get_exporter_config_constructor(model=model, exporter="neuron")\n',
        (Outcome.MANUAL,),
    ),
    Case(
        "one for another exporter, and a word of one's own",
        "from optimum.exporters import TasksManager\n\n"
        'TasksManager.get_exporter_config_constructor(model=model, exporter="onnx")\nship(exporter="neuron")\n',
    ),
    Case("another exporter", "from optimum.exporters.onnx import main_export\n\nmain_export('model')\n"),
    Case("an export of one's own", "def export(model):\n    return model\n\n\nexport('optimum')\n"),
)
