"""Marks calls that may make a trainer or arguments of a class that is only known when the script runs.

The class is renamed where it is imported, but a helper that is given it (`build(NeuronTrainer, tokenizer=...)`) or
that calls a parameter (`trainer_cls(tokenizer=...)`) may serve other classes too. The marker names the argument.

https://huggingface.co/docs/transformers/main_classes/trainer
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.data import keywords
from neuron_codemods.derivation import is_partial, kind_of
from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.training.parallel import trains
from neuron_codemods.training.trainer_calls import TO_CONFIG
from neuron_codemods.values import ARGUMENT_CLASSES, SFT_TRAINER, TRAINER_CLASSES, trainers

RULE = Rule(
    code="NM126",
    name="dynamic-call",
    summary="A call that may make a trainer or arguments, of a class that is not known here.",
    url="https://huggingface.co/docs/transformers/main_classes/trainer",
    outcomes=(Outcome.MANUAL,),
)

_TRAINER = "tokenizer"
_BESIDE = frozenset({"args", "train_dataset", "eval_dataset", "data_collator", "model", "peft_config"})
"""What a trainer is given beside its tokenizer."""
_ONLY_NEURON = frozenset(
    {
        *("tensor_parallel_size", "pipeline_parallel_size", "zero_1", "async_save", "use_xser", "neuron_cc_optlevel"),
        *("disable_embedding_parallelization", "disable_sequence_parallel", "kv_size_multiplier", "skip_cache_push"),
        *("evaluation_strategy", "overwrite_output_dir", "fuse_qkv", "recompute_causal_mask", "use_autocast"),
    }
)
_TOLD = _ONLY_NEURON | TO_CONFIG.keys() | {_TRAINER}


def check(module: Module) -> Iterator[Change]:
    if not trains(module):
        return
    for call in module.calls:
        if not any(given.arg in _TOLD for given in call.keywords):
            continue  # whatever is called, there is nothing to say
        if is_partial(module, call) or call in trainers(module):
            continue
        if _is_unknown(module, call.func):
            yield from _call(call, is_sft=False)
        else:
            given = next((node for node in call.args if _is_class(module, node)), None)
            if given is not None and module.native(call.func) not in _SAFE:
                kind = kind_of(module, given, TRAINER_CLASSES)
                yield from _call(call, is_sft=kind is not None and kind.native == SFT_TRAINER)


_SAFE = frozenset({"issubclass", "isinstance", "functools.partial"})


def _is_unknown(module: Module, function: ast.expr) -> bool:
    """Whether what is called is only known as the script runs: a parameter, or what a call or a mapping gives."""
    if isinstance(function, (ast.Call, ast.Subscript)):
        return kind_of(module, function, ARGUMENT_CLASSES | TRAINER_CLASSES) is None
    if not isinstance(function, ast.Name):
        return False
    binding = module.binding(function)
    if binding is None:
        return False
    if isinstance(binding.node, ast.arg):
        return kind_of(module, function, ARGUMENT_CLASSES | TRAINER_CLASSES) is None
    if not isinstance(binding.node, ast.Name) or kind_of(module, function, ARGUMENT_CLASSES | TRAINER_CLASSES):
        return False
    value = binding.value
    if isinstance(binding.statement, ast.Assign) and isinstance(module.parent(binding.node), ast.Tuple):
        value = binding.statement.value
    return isinstance(value, (ast.Call, ast.Subscript, ast.IfExp)) and not is_partial_value(module, value)


def is_partial_value(module: Module, value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and is_partial(module, value)


def _is_class(module: Module, node: ast.expr) -> bool:
    kind = kind_of(module, node, ARGUMENT_CLASSES | TRAINER_CLASSES)
    return kind is not None and kind.is_neuron


def _call(call: ast.Call, *, is_sft: bool) -> Iterator[Change]:
    names = {given.arg for given in call.keywords}
    for given in call.keywords:
        if given.arg == _TRAINER and names & _BESIDE:
            message = f"{given.arg}: if this makes a trainer, the argument is called processing_class."
            yield Change(Outcome.MANUAL, given, message)
        elif is_sft and given.arg in TO_CONFIG:
            message = f"{given.arg}: if this reaches SFTTrainer, it belongs into SFTConfig, as {TO_CONFIG[given.arg]}."
            yield Change(Outcome.MANUAL, given, message)
        elif given.arg in _ONLY_NEURON:
            reason = keywords("training_arguments")[given.arg][0].reason
            message = f"{given.arg}: if this makes training arguments, they refuse it. {reason}"
            yield Change(Outcome.MANUAL, given, message)


_HEAD = "from optimum.neuron import NeuronTrainer, NeuronTrainingArguments\n\n\n"

CASES = (
    Case(
        "classes that a call gives together",
        f"""{_HEAD}trainer_cls, args_cls = choose(NeuronTrainer, NeuronTrainingArguments)
trainer = trainer_cls(model=model, tokenizer=tokenizer)
""",
        f"""{_HEAD}trainer_cls, args_cls = choose(NeuronTrainer, NeuronTrainingArguments)
# TODO(neuron-migrate NM126): tokenizer: if this makes a trainer, the argument is called processing_class: \
https://huggingface.co/docs/transformers/main_classes/trainer
trainer = trainer_cls(model=model, tokenizer=tokenizer)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "a class that is a parameter",
        f"""{_HEAD}def build(trainer_cls, model, tokenizer):
    return trainer_cls(model=model, tokenizer=tokenizer)
""",
        f"""{_HEAD}def build(trainer_cls, model, tokenizer):
    # TODO(neuron-migrate NM126): tokenizer: if this makes a trainer, the argument is called processing_class: \
https://huggingface.co/docs/transformers/main_classes/trainer
    return trainer_cls(model=model, tokenizer=tokenizer)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "a class that each call passes is known",
        f"""{_HEAD}def build(trainer_cls, model, tokenizer):
    return trainer_cls(model=model, processing_class=tokenizer)


build(NeuronTrainer, model, tokenizer)
""",
    ),
    Case(
        "a class that is passed on",
        f"{_HEAD}args = make(NeuronTrainingArguments, zero_1=True)\n",
        f"""{_HEAD}# TODO(neuron-migrate NM126): zero_1: if this makes training arguments, they refuse it. Shard with \
DistributedConfig(fsdp_size=...), which also shards gradients and weights with the same maths: ZeRO-1 has no native \
form, and since 0.4.0 it was on by default: https://huggingface.co/docs/transformers/main_classes/trainer
args = make(NeuronTrainingArguments, zero_1=True)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "a collator that is a parameter",
        f"{_HEAD}def build(collator_cls, tokenizer):\n    return collator_cls(tokenizer=tokenizer)\n",
    ),
    Case(
        "a function of the script",
        f"{_HEAD}def build(model, tokenizer):\n    return model\n\n\nbuild(model=model, tokenizer=tokenizer)\n",
    ),
    Case(
        "a file without Optimum Neuron",
        "def build(trainer_cls, model, tokenizer):\n    return trainer_cls(model=model, tokenizer=tokenizer)\n",
    ),
)
