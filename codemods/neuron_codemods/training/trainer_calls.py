"""Calls the trainers as transformers 5 and TRL 1 want to be called.

`tokenizer=` is `processing_class=` (also where a release misspelt it), options of the data set belong into
`SFTConfig`, and arguments given by position beyond the sixth have moved.

https://huggingface.co/docs/transformers/main_classes/trainer#transformers.Trainer
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.derivation import enclosing_kind, is_partial
from neuron_codemods.edits import AnyEdit, CallEdit, Change, Edit
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.training.parallel import trains
from neuron_codemods.values import (
    ORPO_TRAINER,
    SFT_CONFIG,
    SFT_TRAINER,
    TRAINER_CLASSES,
    Arguments,
    all_arguments,
    keyword,
    literal,
    mappings,
    named,
    remove_argument,
    rename_argument,
    rename_attribute,
    trainers,
)

RULE = Rule(
    code="NM120",
    name="trainer-call",
    summary="Trainer(tokenizer=...) is processing_class=...; data set options move into SFTConfig.",
    url="https://huggingface.co/docs/transformers/main_classes/trainer#transformers.Trainer",
    outcomes=(Outcome.REWRITTEN, Outcome.MANUAL),
)

_OLD_ORDER = (
    "model",
    "args",
    "data_collator",
    "train_dataset",
    "eval_dataset",
    "processing_class",
    "model_init",
    "compute_metrics",
    "callbacks",
    "optimizers",
    "preprocess_logits_for_metrics",
)
_OLD_SFT_ORDER = (
    *_OLD_ORDER,
    "peft_config",
    "dataset_text_field",
    "packing",
    "formatting_func",
    "max_seq_length",
)
_SAFE_POSITIONS = 6
_OLD_NAMES = ("tokenizer", "processsing_class")
_UNREAD = "This mapping cannot be read here: if it holds a tokenizer, call that processing_class."
TO_CONFIG = {
    "packing": "packing",
    "max_seq_length": "max_length",
    "dataset_text_field": "dataset_text_field",
    "dataset_num_proc": "dataset_num_proc",
    "neftune_noise_alpha": "neftune_noise_alpha",
    "model_init_kwargs": "model_init_kwargs",
    "dataset_kwargs": "dataset_kwargs",
    "eval_packing": "eval_packing",
}
_GONE = {
    "infinite": "max_steps says when to stop",
    "num_of_sequences": "",
    "chars_per_token": "",
    "dataset_batch_size": "",
}


def check(module: Module) -> Iterator[Change]:
    if not trains(module):
        return
    for call in module.calls:
        kind = trainers(module).get(call)
        if (kind is not None and kind.passes("tokenizer")) or _is_super_call(module, call):
            yield from _tokenizer(call)
            if kind is not None and kind.is_neuron:
                yield from _mappings(module, call)
        if kind is not None and all(derived.parameters is None for derived in kind.way):
            if kind.native != ORPO_TRAINER and not is_partial(module, call):
                yield from positions(call, kind.native)
            if kind.native == SFT_TRAINER:
                yield from _sft_options(module, call)
    yield from _tokenizer_attribute(module)
    yield from _keyword_names(module)


def _keyword_names(module: Module) -> Iterator[Change]:
    """``kwargs["tokenizer"]`` in the ``__init__`` of a derived trainer, which is given a processing_class now."""
    for constant in module.names.strings:
        name = str(constant.value)
        function = module.function(constant) if name in _OLD_NAMES else None
        if function is None or function.name != "__init__" or function.args.kwarg is None:
            continue
        kind = enclosing_kind(module, function, TRAINER_CLASSES)
        above = module.parent(constant)
        mapping: ast.AST | None = None
        if isinstance(above, ast.Subscript) and above.slice is constant:
            mapping = above.value
        elif isinstance(above, ast.Call) and isinstance(above.func, ast.Attribute) and above.args[:1] == [constant]:
            mapping = above.func.value if above.func.attr in ("get", "pop", "setdefault") else None
        if kind is not None and isinstance(mapping, ast.Name) and mapping.id == function.args.kwarg.arg:
            written = module.source.string_like(constant, "processing_class")
            edit = Edit.replace(module.source.span(constant), written)
            yield Change(Outcome.REWRITTEN, constant, f"{name} is called processing_class.", (edit,))


def _is_super_call(module: Module, call: ast.Call) -> bool:
    """``super().__init__(tokenizer=...)`` in a class derived from a trainer."""
    function = call.func
    if not (isinstance(function, ast.Attribute) and function.attr == "__init__"):
        return False
    if not (isinstance(function.value, ast.Call) and isinstance(function.value.func, ast.Name)):
        return False
    if function.value.func.id != "super":
        return False
    return enclosing_kind(module, call, TRAINER_CLASSES) is not None


def _mappings(module: Module, call: ast.Call) -> Iterator[Change]:
    """The old spelling in a mapping that a trainer takes its arguments from."""
    literals, unread = mappings(module, call)
    for holder in literals:
        for item in named(holder):
            if item.arg in _OLD_NAMES:
                edit = rename_argument(holder, item, "processing_class")
                yield Change(Outcome.REWRITTEN, item, f"{item.arg} is called processing_class.", (edit,))
    if keyword(call, "processing_class", *_OLD_NAMES) is None:
        for item in unread:
            yield Change(Outcome.MANUAL, item.value, _UNREAD)


def _tokenizer(call: ast.Call) -> Iterator[Change]:
    known = keyword(call, "processing_class")
    for old in _OLD_NAMES:
        given = keyword(call, old)
        if given is None:
            continue
        if known is not None:
            message = f"{old} goes: processing_class is given as well."
            yield Change(Outcome.REWRITTEN, given, message, (remove_argument(call, given),))
        else:
            edit = rename_argument(call, given, "processing_class")
            yield Change(Outcome.REWRITTEN, given, f"{old} is called processing_class.", (edit,))
            known = given


def positions(call: ast.Call, native: str) -> Iterator[Change]:
    """Arguments by position whose places have changed are passed by keyword."""
    order = _OLD_SFT_ORDER if native == SFT_TRAINER else _OLD_ORDER
    if len(call.args) <= _SAFE_POSITIONS:
        return
    extra = call.args[_SAFE_POSITIONS:]
    names = order[_SAFE_POSITIONS : len(call.args)]
    is_read = len(extra) <= len(names) and not any(isinstance(argument, ast.Starred) for argument in call.args)
    if not is_read or (native == SFT_TRAINER and set(names) & {"model_init", *TO_CONFIG}):
        message = "Arguments by position beyond the sixth have moved: pass them by keyword."
        yield Change(Outcome.MANUAL, call, message)
        return
    edits = tuple(rename_argument(call, argument, name) for argument, name in zip(extra, names, strict=True))
    message = "Arguments by position beyond the sixth have moved; they are passed by keyword."
    yield Change(Outcome.REWRITTEN, call, message, edits)


def _sft_options(module: Module, call: ast.Call) -> Iterator[Change]:
    config = _config_of(module, call)
    for given in call.keywords:
        name = given.arg or ""
        if name in _GONE:
            reason = f": {_GONE[name]}" if _GONE[name] else ""
            yield Change(Outcome.REWRITTEN, given, f"{name} goes{reason}.", (remove_argument(call, given),))
        elif name == "model_init":
            yield Change(
                Outcome.MANUAL, given, "SFTTrainer takes no model_init: build the model and pass it as model."
            )
        elif name in TO_CONFIG:
            yield _move(module, call, given, config)


def _move(module: Module, call: ast.Call, given: ast.keyword, config: Arguments | None) -> Change:
    old = given.arg or ""
    name = TO_CONFIG[old]
    text = module.source.segment(given.value)
    simple = isinstance(given.value, ast.Constant) or "\n" not in text
    if config is None or not simple or not same_place(module, config.call, call, given.value):
        return Change(Outcome.MANUAL, given, f"{old} belongs into SFTConfig, as {name}.")
    edits: list[AnyEdit] = [remove_argument(call, given)]
    there = config.value(name, old)
    if there is not None:
        # What the trainer was given counted, but for what says nothing.
        if literal(given.value) not in (False, None) and ast.dump(there) != ast.dump(given.value):
            message = (
                f"{old} is given to SFTConfig as well, as {name}: write the value there that the trainer is given."
            )
            return Change(Outcome.MANUAL, given, message)
    else:
        added = [(name, text)]
        if name == "packing" and literal(given.value) not in (False, None):
            if not config.has("packing_strategy"):
                added.append(("packing_strategy", '"wrapped"'))
        edits.append(CallEdit(config.call, added=tuple(added)))
    return Change(Outcome.REWRITTEN, given, f"{old} moves into SFTConfig, as {name}.", tuple(edits))


def same_place(module: Module, target: ast.Call, call: ast.Call, value: ast.expr) -> bool:
    """Whether an expression of one call means the same in another."""
    names = [node for node in ast.walk(value) if isinstance(node, ast.Name)]
    if names and module.scope(target) is not module.scope(call):
        return False
    bindings = [module.binding(name) for name in names]
    return all(binding is not None and binding.statement.lineno < target.lineno for binding in bindings)


def _config_of(module: Module, call: ast.Call) -> Arguments | None:
    configs = [made for made in all_arguments(module) if made.native == SFT_CONFIG and not made.is_parsed]
    return configs[0] if len(configs) == 1 else None


def _tokenizer_attribute(module: Module) -> Iterator[Change]:
    """``trainer.tokenizer`` is ``trainer.processing_class``."""
    for attribute in module.names.attributes:
        if attribute.attr != "tokenizer" or not _is_trainer(module, attribute.value):
            continue
        edit = rename_attribute(module, attribute, "processing_class")
        yield Change(Outcome.REWRITTEN, attribute, "trainer.tokenizer is called processing_class.", (edit,))


def _is_trainer(module: Module, node: ast.expr) -> bool:
    if not isinstance(node, ast.Name):
        return False
    binding = module.binding(node)
    if binding is not None and isinstance(binding.value, ast.Call):
        return binding.value in trainers(module)
    return node.id == "self" and enclosing_kind(module, node, TRAINER_CLASSES) is not None


CASES = (
    Case(
        "the tokenizer is the processing class",
        """from optimum.neuron import NeuronTrainer

trainer = NeuronTrainer(model=model, args=args, tokenizer=tokenizer)
print(trainer.tokenizer)
""",
        """from optimum.neuron import NeuronTrainer

trainer = NeuronTrainer(model=model, args=args, processing_class=tokenizer)
print(trainer.processing_class)
""",
        (
            Outcome.REWRITTEN,
            Outcome.REWRITTEN,
        ),
    ),
    Case(
        "as one release misspelt it",
        """from optimum.neuron import NeuronSFTTrainer

NeuronSFTTrainer(
    model=model,
    processsing_class=tokenizer,
)
""",
        """from optimum.neuron import NeuronSFTTrainer

NeuronSFTTrainer(
    model=model,
    processing_class=tokenizer,
)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "in a subclass",
        """from optimum.neuron import NeuronTrainer


class MyTrainer(NeuronTrainer):
    def __init__(self, model, tokenizer):
        super().__init__(model=model, tokenizer=tokenizer)
""",
        """from optimum.neuron import NeuronTrainer


class MyTrainer(NeuronTrainer):
    def __init__(self, model, tokenizer):
        super().__init__(model=model, processing_class=tokenizer)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "options of the data set move into the config",
        """from optimum.neuron import NeuronSFTConfig, NeuronSFTTrainer

config = NeuronSFTConfig(output_dir="out")
NeuronSFTTrainer(model=model, args=config, packing=False, max_seq_length=512, dataset_batch_size=10)
""",
        """from optimum.neuron import NeuronSFTConfig, NeuronSFTTrainer

config = NeuronSFTConfig(output_dir="out", packing=False, max_length=512)
NeuronSFTTrainer(model=model, args=config)
""",
        (
            Outcome.REWRITTEN,
            Outcome.REWRITTEN,
            Outcome.REWRITTEN,
        ),
    ),
    Case(
        "arguments by position beyond the sixth",
        """from optimum.neuron import NeuronTrainer

NeuronTrainer(model, args, collator, train, evaluation, tokenizer, None, metrics)
""",
        """from optimum.neuron import NeuronTrainer

NeuronTrainer(
    model,
    args,
    collator,
    train,
    evaluation,
    tokenizer,
    model_init=None,
    compute_metrics=metrics,
)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "the tokenizer of something else",
        """from optimum.neuron import NeuronTrainer

trainer = NeuronTrainer(model=model)
Collator(tokenizer=tokenizer)
print(model.tokenizer)
""",
    ),
    Case(
        "a trainer in a file without Optimum Neuron",
        """from transformers import Trainer

trainer = Trainer(tokenizer=tokenizer)
""",
    ),
)
