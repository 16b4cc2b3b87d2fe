"""Gives `compute_loss` overrides the parameter that the native trainer passes.

`Trainer.training_step` calls `compute_loss(model, inputs, num_items_in_batch=...)`; an override written for an older
trainer would raise a TypeError at the first step. The parameter is added, and left for the override to use.

https://huggingface.co/docs/transformers/main_classes/trainer#transformers.Trainer.compute_loss
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import Change, Edit
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.training.parallel import trains
from neuron_codemods.values import TRAINER_CLASSES, derives_from

RULE = Rule(
    code="NM123",
    name="loss-override",
    summary="compute_loss overrides take num_items_in_batch.",
    url="https://huggingface.co/docs/transformers/main_classes/trainer#transformers.Trainer.compute_loss",
    outcomes=(Outcome.REVIEW,),
)

_MESSAGE = (
    "The trainer passes num_items_in_batch, the number of tokens of the whole accumulated batch, and expects a loss "
    "that is "
    "summed and divided by it; a loss that is a mean is averaged over the accumulation steps as before."
)


def check(module: Module) -> Iterator[Change]:
    if not trains(module):
        return
    for definition in module.names.statements:
        if not (isinstance(definition, ast.ClassDef) and derives_from(module, definition, TRAINER_CLASSES)):
            continue
        for method in definition.body:
            if isinstance(method, ast.FunctionDef) and method.name == "compute_loss" and _lacks(method.args):
                yield Change(Outcome.REVIEW, method, _MESSAGE, (_add(module, method),))


def _lacks(arguments: ast.arguments) -> bool:
    names = [item.arg for item in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return arguments.kwarg is None and "num_items_in_batch" not in names


def _add(module: Module, method: ast.FunctionDef) -> Edit:
    """After the last parameter, so that positional calls mean the same."""
    source = module.source
    arguments = method.args
    last: ast.expr | ast.arg = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs][-1]
    end = source.span(last)[1]
    if arguments.kwonlyargs and arguments.kw_defaults[-1] is not None:
        end = source.span(arguments.kw_defaults[-1])[1]
    elif arguments.defaults and not arguments.kwonlyargs:
        end = source.span(arguments.defaults[-1])[1]
    return Edit.insert(end, ", num_items_in_batch=None")


CASES = (
    Case(
        "an override of the old signature",
        """from optimum.neuron import NeuronTrainer


class MyTrainer(NeuronTrainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        return super().compute_loss(model, inputs, return_outputs)
""",
        """from optimum.neuron import NeuronTrainer


class MyTrainer(NeuronTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return super().compute_loss(model, inputs, return_outputs)
""",
        (Outcome.REVIEW,),
    ),
    Case(
        "an override that takes anything",
        """from optimum.neuron import NeuronTrainer


class MyTrainer(NeuronTrainer):
    def compute_loss(self, model, inputs, **kwargs):
        return model(**inputs).loss
""",
    ),
    Case(
        "a method of that name in another class",
        """from optimum.neuron import NeuronTrainer


class Loss:
    def compute_loss(self, model, inputs):
        return model(**inputs).loss


NeuronTrainer(model=Loss())
""",
    ),
)
