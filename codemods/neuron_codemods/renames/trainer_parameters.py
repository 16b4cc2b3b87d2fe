"""Calls the trainers of transformers and TRL as they want to be called now.

`tokenizer=` is `processing_class=`, and what was told to a trainer of TRL about lengths, packing and losses is told to
its configuration. Where that was a `TrainingArguments`, it becomes the configuration, with its defaults spelled out.

https://github.com/huggingface/trl/blob/main/MIGRATION.md
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.data.renames import Rename, renames
from neuron_codemods.edits import AnyEdit, CallEdit, Change, Edit, EraseImport
from neuron_codemods.given import Given
from neuron_codemods.imports import local_name
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renames import by_row
from neuron_codemods.renames.libraries import (
    BASE,
    CONFIG_OF,
    args_of,
    config_held,
    is_served,
    is_super_init,
    local_class,
    made_configs,
    partial_of,
    trainer_class,
    trainer_held,
)
from neuron_codemods.targets import spelled
from neuron_codemods.training.trainer_calls import positions, same_place
from neuron_codemods.values import (
    Arguments,
    constant,
    has_splat,
    is_neuron,
    literal,
    mappings,
    named,
    remove_argument,
    rename_attribute,
)

RULE = Rule(
    code="NM720",
    name="renamed-trainer-parameter",
    summary="Trainer(tokenizer=...) is processing_class=...; options of TRL's trainers move.",
    url="https://github.com/huggingface/trl/blob/main/MIGRATION.md",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

_SPELLED = {
    "learning_rate": "5e-5",
    "logging_steps": "500",
    "bf16": "False",
    "activation_checkpointing": "False",
}
"""Defaults of TrainingArguments that the configurations of TRL do not share."""
_OLD_NAMES = {"activation_checkpointing": "gradient_checkpointing"}
_ANY_ARGUMENTS = frozenset({"trl.SFTTrainer"})
"""Trainers that still take a TrainingArguments."""
_ARGS_SECOND = frozenset({"trl.SFTTrainer", "trl.RewardTrainer"})


def check(module: Module) -> Iterator[Change]:
    if not module.renames:
        return
    for call in module.calls:
        function = partial_of(module, call) or call.func
        native = trainer_class(module, function) or is_super_init(module, call)
        if native is not None and not is_served(module, native):
            yield from _call(module, call, native, function)
    yield from _attributes(module)


def _call(module: Module, call: ast.Call, native: str, function: ast.expr) -> Iterator[Change]:
    rows = renames("parameter").get(native, {})
    own = _own_parameters(module, function)
    literals, _ = mappings(module, call)
    made = Arguments(call, native, False, is_neuron(module, function), literals)
    moved: list[tuple[ast.keyword, Rename]] = []
    old = False
    for holder in made.holders:
        for item in named(holder):
            row = rows.get(item.arg or "")
            if row is None or row.action == "keep" or (own is not None and item.arg in own):
                continue
            old = True
            if row.action == "move" and holder is call:
                moved.append((item, row))
            elif row.action == "move":
                config = CONFIG_OF[native].rpartition(".")[2]
                yield Change(Outcome.MANUAL, item, f"{item.arg} belongs into {config}, as {row.new}.")
            else:
                change = by_row.change(Given(module, made, holder, item), row)
                assert change is not None, row  # no other action is in the rows of parameters
                yield change
    if own is None and partial_of(module, call) is None:
        yield from _by_position(module, call, native, old)
    if own is None:
        yield from _configure(module, call, native, moved)


def _own_parameters(module: Module, function: ast.expr) -> frozenset[str] | None:
    """The parameters of a derived trainer's own ``__init__``, or None if it has none."""
    definition = local_class(module, function)
    for item in definition.body if definition is not None else ():
        if isinstance(item, ast.FunctionDef) and item.name == "__init__":
            names = {argument.arg for argument in (*item.args.posonlyargs, *item.args.args, *item.args.kwonlyargs)}
            # One that takes anything passes on what it does not name; one that does not takes nothing else.
            return frozenset(names) if item.args.kwarg is not None else frozenset(names | {*renames_of_all()})
    return None


def renames_of_all() -> Iterator[str]:
    """Every old parameter of every trainer."""
    for rows in renames("parameter").values():
        yield from rows


def _by_position(module: Module, call: ast.Call, native: str, old: bool) -> Iterator[Change]:
    if native in ("transformers.Trainer", "transformers.Seq2SeqTrainer", "trl.SFTTrainer"):
        if old or module.uses_neuron:
            yield from positions(call, native)
    elif native in CONFIG_OF and len(call.args) > 2:
        third = call.args[2]
        if native not in _ARGS_SECOND and config_held(module, third) is None and isinstance(literal(third), float):
            message = "Arguments by position beyond the second have moved: pass them by keyword."
            yield Change(Outcome.MANUAL, call, message)


# Into the configuration ---------------------------------------------------------------------------------------------


def _configure(
    module: Module, call: ast.Call, native: str, moved: list[tuple[ast.keyword, Rename]]
) -> Iterator[Change]:
    config = CONFIG_OF.get(native)
    if config is None:
        return
    name = config.rpartition(".")[2]
    given = args_of(call) if native in _ARGS_SECOND else args_of(call, position=1 << 16)
    made = _made(module, given)
    converts = made is not None and made.native == BASE and (bool(moved) or native not in _ANY_ARGUMENTS)
    added, edits, left, notes = [], [], [], []
    for item, row in moved:
        known = constant(module, item.value)
        there = made.value(row.new, row.old) if made is not None else None
        # What the trainer was given counted, but for what says nothing.
        differs = there is not None and known is not False and ast.dump(there) != ast.dump(item.value)
        if known is None:
            edits.append(remove_argument(call, item))
            notes.append(f"{item.arg}=None goes")
        elif differs or not _fits(module, made, given, call, item):
            left.append(item)
        else:
            edits.append(remove_argument(call, item))
            text = module.source.segment(item.value)
            if there is None:
                added.append((row.new, text))
                if row.new == "packing" and known is not False and not (made and made.has("packing_strategy")):
                    added.append(("packing_strategy", '"wrapped"'))
                    notes.append('packing_strategy="wrapped" packs as before')
    for item in left:
        message = f"{item.arg} belongs into {name}, as {renames('parameter')[native][item.arg or ''].new}."
        yield Change(Outcome.MANUAL, item, message)
    if converts and made is not None and not left:
        yield from _convert(module, call, made, config, added, edits)
    elif converts and made is not None:
        yield Change(Outcome.MANUAL, call, f"{native.rpartition('.')[2]} takes {name}, not TrainingArguments.")
    elif added and made is not None:
        text = f"{', '.join(key for key, _ in added)}: told to {name}, no longer to the trainer."
        outcome = Outcome.REVIEW if notes else Outcome.REWRITTEN
        yield Change(outcome, call, _noted(text, notes), (*edits, CallEdit(made.call, added=tuple(added))))
    elif added:
        text = ", ".join(f"{key}={value}" for key, value in (*added, *_spelled(module).items()))
        edits.append(CallEdit(call, added=(("args", f'{local_name(module, config)}("tmp_trainer", {text})'),)))
        message = f"What {native.rpartition('.')[2]} was told goes into {name}, with the defaults that held before."
        yield Change(Outcome.REVIEW, call, message, tuple(edits), (config,))
    elif edits:
        yield Change(Outcome.REWRITTEN, call, f"{'; '.join(notes)}: it stood for the default.", tuple(edits))


def _noted(text: str, notes: list[str]) -> str:
    return text if not notes else f"{text} {'; '.join(notes)}."


def _spelled(module: Module) -> dict[str, str]:
    return {spelled(module.project, key): text for key, text in _SPELLED.items()}


def _made(module: Module, given: ast.expr | None) -> Arguments | None:
    """Where the arguments that a trainer is given were made, if that is in this module and only one place."""
    node = given
    if isinstance(node, ast.Name):
        binding = module.binding(node)
        if binding is None or len(binding.scope.bindings[binding.name]) != 1:
            return None
        node = binding.value
    made = {item.call: item for item in made_configs(module) if not item.is_parsed}
    found = made.get(node) if isinstance(node, ast.Call) else None
    return found if found is not None and not found.own else None


def _fits(module: Module, made: Arguments | None, given: ast.expr | None, call: ast.Call, item: ast.keyword) -> bool:
    """Whether a value means the same where the configuration is made, or can be made in the call itself."""
    if made is None:
        return (
            given is None
            and not has_splat(call)
            and not any(isinstance(node, ast.NamedExpr) for node in ast.walk(item.value))
        )
    if any(node is made.call for node in ast.walk(call)):
        return True
    return "\n" not in module.source.segment(item.value) and same_place(module, made.call, call, item.value)


def _convert(
    module: Module, call: ast.Call, made: Arguments, config: str, added: list[tuple[str, str]], edits: list[CallEdit]
) -> Iterator[Change]:
    """``TrainingArguments(...)`` becomes the configuration of the trainer."""
    name = config.rpartition(".")[2]
    function = made.call.func
    others = [item for item in module.calls if _is_given(module, item, made) and item is not call]
    if others or made.mappings or made.unread or partial_of(module, made.call) or not module.is_placed(function):
        message = f"{name} is what this trainer takes: make one with what these arguments hold."
        yield Change(Outcome.MANUAL, call, message)
        return
    missing = [(key, text) for key, text in _spelled(module).items() if not made.has(key, _OLD_NAMES.get(key, key))]
    all_edits: list[AnyEdit] = [
        *edits,
        Edit.replace(module.source.span(function), local_name(module, config)),
        CallEdit(made.call, added=(*added, *missing)),
        *_without_import(module, function),
    ]
    told = f" Told to it now: {', '.join(key for key, _ in added)}." if added else ""
    held = f" Defaults that held before are spelled out: {', '.join(key for key, _ in missing)}." if missing else ""
    yield Change(
        Outcome.REVIEW, made.call, f"TrainingArguments becomes {name}.{told}{held}", tuple(all_edits), (config,)
    )


def _is_given(module: Module, call: ast.Call, made: Arguments) -> bool:
    """Whether a call is given the same arguments object."""
    return trainer_class(module, call.func) is not None and _made(module, args_of(call)) is made


def _without_import(module: Module, function: ast.expr) -> Iterator[AnyEdit]:
    binding = module.binding(function) if isinstance(function, ast.Name) else None
    if binding is not None and binding.is_import and len(binding.scope.bindings[binding.name]) == 1:
        if [reference.node for reference in module.references(binding)] == [function]:
            yield EraseImport(binding)


# Attributes ---------------------------------------------------------------------------------------------------------


def _attributes(module: Module) -> Iterator[Change]:
    """``trainer.tokenizer`` is ``trainer.processing_class``."""
    for attribute in module.names.attributes:
        if attribute.attr != "tokenizer":
            continue
        native = trainer_held(module, attribute.value)
        if native is not None and not is_served(module, native) and not _sets_own(module, attribute):
            edit = rename_attribute(module, attribute, "processing_class")
            yield Change(Outcome.REWRITTEN, attribute, "trainer.tokenizer is called processing_class.", (edit,))


def _sets_own(module: Module, attribute: ast.Attribute) -> bool:
    """Whether a derived trainer keeps a tokenizer of its own: ``self.tokenizer = tokenizer``."""
    if not isinstance(attribute.value, ast.Name) or attribute.value.id != "self":
        return False
    definition = next((above for above in module.ancestors(attribute) if isinstance(above, ast.ClassDef)), None)
    return definition is not None and any(
        isinstance(node, ast.Attribute)
        and node.attr == "tokenizer"
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
        for node in ast.walk(definition)
    )


CASES = (
    Case(
        "the tokenizer is the processing class",
        """from transformers import Trainer

trainer = Trainer(model=model, args=args, tokenizer=tokenizer)
print(trainer.tokenizer)
""",
        """from transformers import Trainer

trainer = Trainer(model=model, args=args, processing_class=tokenizer)
print(trainer.processing_class)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "training arguments become the configuration",
        """from transformers import TrainingArguments
from trl import SFTTrainer

args = TrainingArguments("out", learning_rate=2e-4, fp16=True)
trainer = SFTTrainer(
    model,
    args=args,
    train_dataset=dataset,
    dataset_text_field="text",
    max_seq_length=512,
    packing=True,
    tokenizer=tokenizer,
)
""",
        """from trl import SFTConfig, SFTTrainer

args = SFTConfig(
    "out",
    learning_rate=2e-4,
    fp16=True,
    dataset_text_field="text",
    max_length=512,
    packing=True,
    packing_strategy="wrapped",
    logging_steps=500,
    bf16=False,
    activation_checkpointing=False,
)
trainer = SFTTrainer(
    model,
    args=args,
    train_dataset=dataset,
    processing_class=tokenizer,
)
""",
        (Outcome.REVIEW, Outcome.REWRITTEN),
    ),
    Case(
        "preferences",
        """from transformers import TrainingArguments
from trl import DPOTrainer

trainer = DPOTrainer(
    model,
    None,
    args=TrainingArguments("out", learning_rate=5e-7, bf16=True, logging_steps=1, gradient_checkpointing=True),
    beta=0.1,
    max_prompt_length=512,
    train_dataset=dataset,
)
""",
        """from trl import DPOConfig, DPOTrainer

trainer = DPOTrainer(
    model,
    None,
    args=DPOConfig(
        "out",
        learning_rate=5e-7,
        bf16=True,
        logging_steps=1,
        gradient_checkpointing=True,
        beta=0.1,
    ),
    train_dataset=dataset,
)
""",
        (Outcome.REVIEW, Outcome.REVIEW),
    ),
    Case(
        "a configuration that is there takes it",
        """from trl import SFTConfig, SFTTrainer

config = SFTConfig(output_dir="out", packing=False)
trainer = SFTTrainer(model, config, train_dataset=dataset, max_seq_length=256, packing=None)
""",
        """from trl import SFTConfig, SFTTrainer

config = SFTConfig(output_dir="out", packing=False, max_length=256)
trainer = SFTTrainer(model, config, train_dataset=dataset)
""",
    ),
    Case(
        "arguments that are made elsewhere",
        """from trl import SFTTrainer


def train(model, args, dataset):
    return SFTTrainer(model, args=args, train_dataset=dataset, max_seq_length=256)
""",
        """from trl import SFTTrainer


def train(model, args, dataset):
    # TODO(neuron-migrate NM720): max_seq_length belongs into SFTConfig, as max_length: \
https://github.com/huggingface/trl/blob/main/MIGRATION.md
    return SFTTrainer(model, args=args, train_dataset=dataset, max_seq_length=256)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "a derived trainer with parameters of its own",
        """from transformers import Trainer


class MyTrainer(Trainer):
    def __init__(self, tokenizer, **kwargs):
        super().__init__(tokenizer=tokenizer, **kwargs)


MyTrainer(tokenizer=tokenizer)
""",
        """from transformers import Trainer


class MyTrainer(Trainer):
    def __init__(self, tokenizer, **kwargs):
        super().__init__(processing_class=tokenizer, **kwargs)


MyTrainer(tokenizer=tokenizer)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "trainers of today",
        """from transformers import Trainer, TrainingArguments
from trl import DPOConfig, DPOTrainer, SFTTrainer

Trainer(model, TrainingArguments("out"), processing_class=tokenizer)
SFTTrainer(model, args=TrainingArguments("out"), train_dataset=dataset)
DPOTrainer(model, None, DPOConfig("out"), processing_class=tokenizer)
""",
    ),
    Case(
        "the tokenizer of something else",
        """from transformers import DataCollatorWithPadding, Trainer
from mylib import SFTTrainer

trainer = Trainer(model=model)
DataCollatorWithPadding(tokenizer=tokenizer)
SFTTrainer(tokenizer=tokenizer, max_seq_length=3)
print(model.tokenizer)
""",
    ),
    Case(
        "a derived trainer that keeps its tokenizer",
        """from transformers import Trainer


class MyTrainer(Trainer):
    def keep(self, tokenizer):
        self.tokenizer = tokenizer
        return self.tokenizer
""",
    ),
)
