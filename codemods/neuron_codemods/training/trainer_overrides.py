"""Gives overrides of trainer methods the parameters that the native trainer passes, and marks those never called.

`Trainer.training_step` calls `compute_loss(model, inputs, num_items_in_batch=...)`; an override written for an older
trainer would raise a TypeError at the first step. A loss that an override computes as a mean is said to be one
(`loss_is_scaled_for_ga = False`), or it would no longer be divided by the accumulation steps.

https://huggingface.co/docs/transformers/main_classes/trainer#transformers.Trainer.compute_loss
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.data import members
from neuron_codemods.derivation import Kind, class_kind
from neuron_codemods.edits import AnyEdit, CallEdit, Change, Edit, InsertLines
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.training.parallel import trains
from neuron_codemods.values import TRAINER_CLASSES, keyword

RULE = Rule(
    code="NM123",
    name="trainer-override",
    summary="Overrides of compute_loss, training_step and log take what the native trainer passes.",
    url="https://huggingface.co/docs/transformers/main_classes/trainer#transformers.Trainer.compute_loss",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

_SCALED = "loss_is_scaled_for_ga"
_MEAN = f"{_SCALED}=False says that this loss is a mean, to be divided by the accumulation steps."
_PARAMETERS = {
    "compute_loss": ("num_items_in_batch", "the number of tokens of the whole accumulated batch"),
    "training_step": ("num_items_in_batch", "the number of tokens of the whole accumulated batch"),
    "log": ("start_time", "when the run began"),
    "_get_train_sampler": ("train_dataset", "the data set to sample from"),
}
"""What a method is called with natively and an old override may lack."""


def check(module: Module) -> Iterator[Change]:
    if not trains(module):
        return
    for definition in module.names.statements:
        kind = class_kind(module, definition, TRAINER_CLASSES) if isinstance(definition, ast.ClassDef) else None
        if kind is not None:
            assert isinstance(definition, ast.ClassDef)
            for method in definition.body:
                if isinstance(method, ast.FunctionDef):
                    yield from _override(module, definition, method, kind)


def _override(module: Module, definition: ast.ClassDef, method: ast.FunctionDef, kind: Kind) -> Iterator[Change]:
    if method.name in _PARAMETERS:
        yield from with_parameter(module, definition, method)
        if kind.is_neuron and _takes_all(method) and _is_mean(definition, method):
            yield Change(Outcome.REWRITTEN, method, _MEAN, (_scaled(method),))
    elif kind.is_neuron:
        rows = [row for row in members("trainer").get(method.name, ()) if row.action in ("drop", "manual")]
        if rows:
            what = "is never called natively" if rows[0].action == "drop" else "may not be called as before"
            yield Change(Outcome.MANUAL, method, f"The override of {method.name} {what}. {rows[0].reason}")


def with_parameter(module: Module, definition: ast.ClassDef, method: ast.FunctionDef) -> Iterator[Change]:
    """An override with the parameter that the native trainer passes, and with what says that its loss is a mean."""
    if method.name in _PARAMETERS and _takes_self(method):
        name, meaning = _PARAMETERS[method.name]
        if _lacks(method.args, name):
            edits: list[AnyEdit] = [_add(module, method, name)]
            parents = list(_calls_of_super(method))
            for call in parents:
                if keyword(call, name) is None and not any(isinstance(item, ast.Starred) for item in call.args):
                    if not any(item.arg is None for item in call.keywords):
                        edits.append(CallEdit(call, added=((name, name),)))
            message = f"{method.name} is called with {name}, {meaning}."
            if _is_mean(definition, method):
                edits.append(_scaled(method))
                message += f" {_MEAN}"
            yield Change(Outcome.REWRITTEN, method, message, tuple(edits))


def _is_mean(definition: ast.ClassDef, method: ast.FunctionDef) -> bool:
    """Whether a loss is computed here and knows nothing of the number of tokens, so that it is a mean."""
    if method.name != "compute_loss" or next(_calls_of_super(method), None) is not None or _says_scaled(definition):
        return False
    kwargs = method.args.kwarg.arg if method.args.kwarg is not None else ""
    read = {node.id for node in ast.walk(method) if isinstance(node, ast.Name)}
    return not read & {"num_items_in_batch", kwargs}


def _scaled(method: ast.FunctionDef) -> InsertLines:
    return InsertLines(method, (f"{_SCALED} = False", ""))


def _takes_all(method: ast.FunctionDef) -> bool:
    return _takes_self(method) and not _lacks(method.args, _PARAMETERS[method.name][0])


def _takes_self(method: ast.FunctionDef) -> bool:
    return bool(method.args.args or method.args.posonlyargs) and not method.decorator_list


def _lacks(arguments: ast.arguments, name: str) -> bool:
    names = [item.arg for item in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return arguments.kwarg is None and arguments.vararg is None and name not in names


def _add(module: Module, method: ast.FunctionDef, name: str) -> Edit:
    """After the last parameter, so that positional calls mean the same."""
    source = module.source
    arguments = method.args
    last: ast.expr | ast.arg = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs][-1]
    end = source.span(last)[1]
    if arguments.kwonlyargs and arguments.kw_defaults[-1] is not None:
        end = source.span(arguments.kw_defaults[-1])[1]
    elif arguments.defaults and not arguments.kwonlyargs:
        end = source.span(arguments.defaults[-1])[1]
    return Edit.insert(end, f", {name}=None")


def _calls_of_super(method: ast.FunctionDef) -> Iterator[ast.Call]:
    """The calls of the overridden method itself."""
    for node in ast.walk(method):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method.name:
            above = node.func.value
            if isinstance(above, ast.Call) and isinstance(above.func, ast.Name) and above.func.id == "super":
                yield node


def _says_scaled(definition: ast.ClassDef) -> bool:
    return any(isinstance(node, (ast.Name, ast.Attribute)) and _name(node) == _SCALED for node in ast.walk(definition))


def _name(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


_HEAD = "from optimum.neuron import NeuronTrainer\n\n\nclass MyTrainer(NeuronTrainer):\n"

CASES = (
    Case(
        "a loss that is changed after the trainer has computed it",
        f"""{_HEAD}    def compute_loss(self, model, inputs, return_outputs=False):
        return super().compute_loss(model, inputs, return_outputs)
""",
        f"""{_HEAD}    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return super().compute_loss(
            model,
            inputs,
            return_outputs,
            num_items_in_batch=num_items_in_batch,
        )
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "a loss of its own",
        f'''{_HEAD}    """A weighted loss."""

    def compute_loss(self, model, inputs, return_outputs=False):
        outputs = model(**inputs)
        return (outputs.loss, outputs) if return_outputs else outputs.loss
''',
        f'''{_HEAD}    """A weighted loss."""

    loss_is_scaled_for_ga = False

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        return (outputs.loss, outputs) if return_outputs else outputs.loss
''',
        (Outcome.REWRITTEN,),
    ),
    Case(
        "a step and what is logged",
        f"""{_HEAD}    def training_step(self, model, inputs):
        return super().training_step(model, inputs)

    def log(self, logs):
        super().log(logs)
""",
        f"""{_HEAD}    def training_step(self, model, inputs, num_items_in_batch=None):
        return super().training_step(
            model,
            inputs,
            num_items_in_batch=num_items_in_batch,
        )

    def log(self, logs, start_time=None):
        super().log(logs, start_time=start_time)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "a hook that is never called",
        f"{_HEAD}    def synchronize_hub_cache(self):\n        pass\n",
        """from optimum.neuron import NeuronTrainer


class MyTrainer(NeuronTrainer):
    # TODO(neuron-migrate NM123): The override of synchronize_hub_cache is never called natively. Delete it: there \
is no native counterpart: \
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.Trainer.compute_loss
    def synchronize_hub_cache(self):
        pass
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "a loss of its own that takes anything",
        f"{_HEAD}    def compute_loss(self, model, inputs, **kwargs):\n        return model(**inputs).loss\n",
        f"""{_HEAD}    loss_is_scaled_for_ga = False

    def compute_loss(self, model, inputs, **kwargs):
        return model(**inputs).loss
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "a loss that passes on what it is given",
        f"{_HEAD}    def compute_loss(self, model, inputs, **kwargs):\n"
        "        return model(**inputs, **kwargs).loss\n",
    ),
    Case(
        "an override of today",
        f"{_HEAD}    def log(self, logs, start_time=None):\n        super().log(logs, start_time)\n",
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
    Case(
        "a trainer of a file without Optimum Neuron",
        """from transformers import Trainer


class MyTrainer(Trainer):
    def compute_loss(self, model, inputs):
        return model(**inputs).loss
""",
    ),
)
