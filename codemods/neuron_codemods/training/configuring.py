"""Prepares the Neuron device before a model is loaded.

TorchNeuron needs weights loaded in one thread and no automatic dynamic shapes; a run over several processes on a
machine without an accelerator must be told to use its CPUs. `configure()` of the shim does the three, and nothing
where none is needed.

https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.edits import Change, InsertLines
from neuron_codemods.imports import existing_import, first_import, last_import, local_name
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.training.parallel import loads, trains
from neuron_codemods.values import all_arguments, trainer_kind

RULE = Rule(
    code="NM140",
    name="configure",
    summary="configure() after the imports of a script that trains.",
    url="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html",
)

CONFIGURE = "neuron_shim.configure"


def check(module: Module) -> Iterator[Change]:
    if not needs_configuring(module) or is_configured(module):
        return
    anchor = last_import(module) or first_import(module)
    if anchor is None:
        return
    lines = ("", f"{local_name(module, CONFIGURE)}()")
    message = "configure() prepares the device before a model is loaded."
    yield Change(
        Outcome.REWRITTEN, anchor, message, (InsertLines(anchor, lines, after=True),), (CONFIGURE,), launch=""
    )


def needs_configuring(module: Module) -> bool:
    """Whether a script makes what training on Neuron is made of."""
    return trains(module) and bool(all_arguments(module) or loads(module) or _makes_trainer(module))


def is_configured(module: Module) -> bool:
    """Whether a script prepares the device already, through the shim or by what stands in its place without it."""
    return existing_import(module, CONFIGURE) is not None or "HF_DEACTIVATE_ASYNC_LOAD" in module.source.text


def _makes_trainer(module: Module) -> bool:
    return any(trainer_kind(module, call) is not None for call in module.calls)


CASES = (
    Case(
        "after the imports",
        '''"""Train."""
import os

from optimum.neuron import NeuronTrainingArguments

args = NeuronTrainingArguments("out")
''',
        '''"""Train."""
import os

from optimum.neuron import NeuronTrainingArguments
from neuron_shim import configure

configure()

args = NeuronTrainingArguments("out")
''',
        (Outcome.REWRITTEN,),
    ),
    Case(
        "once",
        """from neuron_shim import configure
from optimum.neuron import NeuronTrainingArguments

configure()
args = NeuronTrainingArguments("out")
""",
    ),
    Case(
        "a module that only derives a trainer",
        """from optimum.neuron import NeuronTrainer


class MyTrainer(NeuronTrainer):
    pass
""",
    ),
    Case(
        "a script that does not train with Optimum Neuron",
        """from transformers import TrainingArguments

args = TrainingArguments("out")
""",
    ),
)
