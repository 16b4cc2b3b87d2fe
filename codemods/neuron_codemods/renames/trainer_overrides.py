"""Gives methods that a derived trainer or callback overrides the parameters that transformers 5 passes.

The trainer calls `training_step(model, inputs, num_items_in_batch)` and `log(logs, start_time)`, and hands callbacks
a `processing_class` where they were given a `tokenizer`: an old override fails, or reads None.

https://huggingface.co/docs/transformers/main_classes/trainer
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import AnyEdit, Change, Edit
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renames.libraries import current, trainer_class
from neuron_codemods.training.parallel import trains
from neuron_codemods.training.trainer_overrides import with_parameter
from neuron_codemods.values import keyword, remove_argument

RULE = Rule(
    code="NM721",
    name="renamed-trainer-override",
    summary="Overrides of compute_loss, training_step, log and others, and callbacks that read the tokenizer.",
    url="https://huggingface.co/docs/transformers/main_classes/trainer",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

CALLBACK = "transformers.TrainerCallback"
_CALLBACKS = frozenset({CALLBACK, "transformers.trainer_callback.TrainerCallback"})


_CHANGED = {
    "_maybe_log_save_evaluate": "It is called with (tr_loss, grad_norm, model, trial, epoch, ignore_keys_for_eval, "
    "start_time, learning_rate) now: take these, and pass them on.",
    "prediction_loop": "It is never called: override evaluation_loop.",
    "_tune_save_checkpoint": "It is called with (checkpoint_dir) now: take it, and pass it on.",
}
_OLD_SIZES = {"_maybe_log_save_evaluate": 8, "prediction_loop": 99, "_tune_save_checkpoint": 2}
"""How many parameters, with self, one of today has."""


def check(module: Module) -> Iterator[Change]:
    if not module.renames:
        return
    for definition in module.names.statements:
        if not isinstance(definition, ast.ClassDef):
            continue
        trainer = any(trainer_class(module, base) for base in definition.bases)
        callback = any(current(module, base) in _CALLBACKS for base in definition.bases)
        for method in definition.body:
            if isinstance(method, ast.FunctionDef) and trainer:
                yield from _override(module, definition, method)
            elif isinstance(method, ast.FunctionDef) and callback and method.name.startswith("on_"):
                yield from _callback(module, method)


def _override(module: Module, definition: ast.ClassDef, method: ast.FunctionDef) -> Iterator[Change]:
    if not trains(module):
        yield from with_parameter(module, definition, method)
    if method.name in _CHANGED and _count(method.args) < _OLD_SIZES[method.name] and method.args.vararg is None:
        yield Change(Outcome.MANUAL, method, f"{method.name}: {_CHANGED[method.name]}")
    if method.name == "create_optimizer" and _count(method.args) == 1 and method.args.vararg is None:
        edit = Edit.insert(module.source.span(_parameters(method.args)[-1])[1], ", model=None")
        message = "With FSDP by accelerate, create_optimizer is given the wrapped model: optimise its parameters."
        yield Change(Outcome.REVIEW, method, message, (edit,))
    if method.name == "_save_checkpoint":
        yield from _metrics(method)


def _metrics(method: ast.FunctionDef) -> Iterator[Change]:
    """``super()._save_checkpoint(model, trial, metrics=metrics)``: it takes no metrics any more."""
    for call in ast.walk(method):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            continue
        if call.func.attr != "_save_checkpoint":
            continue
        given = keyword(call, "metrics") or (call.args[2] if len(call.args) == 3 else None)
        if given is not None:
            message = "_save_checkpoint takes no metrics any more."
            yield Change(Outcome.REWRITTEN, given, message, (remove_argument(call, given),))


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def _count(arguments: ast.arguments) -> int:
    return len(_parameters(arguments))


# Callbacks ----------------------------------------------------------------------------------------------------------


def _callback(module: Module, method: ast.FunctionDef) -> Iterator[Change]:
    parameter = next((item for item in _parameters(method.args) if item.arg == "tokenizer"), None)
    if parameter is not None:
        yield _parameter(module, method, parameter)
    if method.args.kwarg is not None:
        yield from _mapping(module, method, method.args.kwarg.arg)


def _parameter(module: Module, method: ast.FunctionDef, parameter: ast.arg) -> Change:
    message = "Callbacks are given a processing_class, no longer a tokenizer, which would be None."
    inside = [node for node in ast.walk(method) if isinstance(node, ast.Name) and node.id == "tokenizer"]
    taken = any(isinstance(node, ast.Name) and node.id == "processing_class" for node in ast.walk(method))
    bindings = [module.binding(node) for node in inside]
    if taken or any(binding is None or binding.node is not parameter for binding in bindings):
        return Change(Outcome.MANUAL, parameter, message)
    start, _ = module.source.span(parameter)
    edits: list[AnyEdit] = [Edit.replace((start, start + len("tokenizer")), "processing_class")]
    edits += [Edit.replace(module.source.span(node), "processing_class") for node in inside]
    if not all(module.is_placed(node) for node in inside):
        return Change(Outcome.MANUAL, parameter, message)
    return Change(Outcome.REWRITTEN, parameter, message, tuple(edits))


def _mapping(module: Module, method: ast.FunctionDef, name: str) -> Iterator[Change]:
    for node in ast.walk(method):
        key: ast.expr | None = None
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name:
            key = node.slice
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            if isinstance(node.func.value, ast.Name) and node.func.value.id == name:
                key = node.args[0] if node.func.attr in ("get", "pop") else None
        if isinstance(key, ast.Constant) and key.value == "tokenizer" and module.is_placed(key):
            edit = Edit.replace(module.source.span(key), module.source.string_like(key, "processing_class"))
            message = "Callbacks are given a processing_class, no longer a tokenizer."
            yield Change(Outcome.REWRITTEN, key, message, (edit,))


CASES = (
    Case(
        "overrides of old signatures",
        """from transformers import Trainer


class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        return model(**inputs).loss

    def log(self, logs):
        super().log({**logs, "mine": 1.0})

    def _save_checkpoint(self, model, trial, metrics=None):
        super()._save_checkpoint(model, trial, metrics=metrics)
""",
        """from transformers import Trainer


class MyTrainer(Trainer):
    loss_is_scaled_for_ga = False

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return model(**inputs).loss

    def log(self, logs, start_time=None):
        super().log({**logs, "mine": 1.0}, start_time=start_time)

    def _save_checkpoint(self, model, trial, metrics=None):
        super()._save_checkpoint(model, trial)
""",
        (Outcome.REWRITTEN,) * 3,
    ),
    Case(
        "a step of training",
        """from trl import SFTTrainer


class MyTrainer(SFTTrainer):
    def training_step(self, model, inputs):
        return super().training_step(model, inputs)

    def _maybe_log_save_evaluate(self, tr_loss, model, trial, epoch, ignore_keys_for_eval):
        pass
""",
        """from trl import SFTTrainer


class MyTrainer(SFTTrainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        return super().training_step(model, inputs, num_items_in_batch=num_items_in_batch)

    # TODO(neuron-migrate NM721): _maybe_log_save_evaluate: It is called with (tr_loss, grad_norm, model, trial, \
epoch, ignore_keys_for_eval, start_time, learning_rate) now: take these, and pass them on: \
https://huggingface.co/docs/transformers/main_classes/trainer
    def _maybe_log_save_evaluate(self, tr_loss, model, trial, epoch, ignore_keys_for_eval):
        pass
""",
        (Outcome.REWRITTEN, Outcome.MANUAL),
    ),
    Case(
        "callbacks that read the tokenizer",
        """from transformers import TrainerCallback


class Save(TrainerCallback):
    def on_save(self, args, state, control, tokenizer=None, **kwargs):
        tokenizer.save_pretrained(args.output_dir)

    def on_log(self, args, state, control, **kwargs):
        print(kwargs["tokenizer"], kwargs.get("tokenizer"))
""",
        """from transformers import TrainerCallback


class Save(TrainerCallback):
    def on_save(self, args, state, control, processing_class=None, **kwargs):
        processing_class.save_pretrained(args.output_dir)

    def on_log(self, args, state, control, **kwargs):
        print(kwargs["processing_class"], kwargs.get("processing_class"))
""",
        (Outcome.REWRITTEN,) * 3,
    ),
    Case(
        "overrides of today",
        """from transformers import Trainer, TrainerCallback


class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, *args, **kwargs):
        return super().compute_loss(model, inputs, *args, **kwargs)

    def log(self, logs, start_time=None):
        super().log(logs, start_time)


class Save(TrainerCallback):
    def on_save(self, args, state, control, processing_class=None, **kwargs):
        pass
""",
    ),
    Case(
        "the same methods of another class",
        """import transformers


class Logger:
    def log(self, logs):
        print(logs)

    def on_save(self, tokenizer):
        print(tokenizer)
""",
    ),
)
