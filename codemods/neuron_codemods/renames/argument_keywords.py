"""Renames, moves or deletes keywords of the arguments classes that transformers 5 and TRL 1 refuse.

`TrainingArguments` and the configurations of TRL refuse keywords they do not know. What each becomes is in the table
of renames; training with Optimum Neuron has a rule of its own, which knows more.

https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import Change
from neuron_codemods.given import Given, logging_dir, report_to, warmup_ratio
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module, once
from neuron_codemods.renames import by_row
from neuron_codemods.renames.age import STILL_TAKEN
from neuron_codemods.renames.libraries import (
    config_class,
    is_of_libraries,
    made_configs,
    old_keywords,
    own_fields,
    partial_of,
    row,
)
from neuron_codemods.values import Arguments, is_copied, named

RULE = Rule(
    code="NM710",
    name="renamed-argument",
    summary="Keywords of TrainingArguments, SFTConfig, DPOConfig and their kin that are gone, moved or renamed.",
    url="https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

_OWN = {"warmup_ratio": warmup_ratio, "logging_dir": logging_dir, "report_to": report_to}


def check(module: Module) -> Iterator[Change]:
    if not module.renames:
        return
    for made in made_configs(module):
        if not made.is_parsed:
            yield from _keywords(module, made)
            yield from _positions(module, made)
            yield from _unread(module, made)
    yield from _fields(module)


def _keywords(module: Module, made: Arguments) -> Iterator[Change]:
    left: dict[str, list[Change]] = {}
    for holder in made.holders:
        for item in named(holder):
            if item.arg is None or item.arg in made.own:
                continue
            given = Given(module, made, holder, item)
            found = _change(given)
            if found is not None and found.outcome is Outcome.MANUAL:
                left.setdefault(found.message.partition(": ")[2] or found.message, []).append(found)
            elif found is not None:
                yield found
    for reason, changes in left.items():
        names = [change.node.arg or "" for change in changes if isinstance(change.node, ast.keyword)]
        message = f"{', '.join(names)}: {reason}" if len(names) > 1 else changes[0].message
        yield Change(Outcome.MANUAL, changes[0].node, message)


def _change(given: Given) -> Change | None:
    if given.name in _OWN:
        return _OWN[given.name](given)
    found = row(given.module, given.made.native, given.name)
    return by_row.change(given, found) if found is not None else None


def _unread(module: Module, made: Arguments) -> Iterator[Change]:
    """A mapping that cannot be read, in a file that spells something else in a way that is refused now."""
    unread = [item for item in made.unread if not is_copied(module, item.value)]
    for item in unread:
        names = [
            name for name in _mentioned(module) if name not in made.own and _is_refused(module, made.native, name)
        ]
        if names:
            message = f"This mapping may hold {', '.join(names)}: rename or take out there what is refused now."
            yield Change(Outcome.MANUAL, item.value, message)


@once
def _mentioned(module: Module) -> tuple[str, ...]:
    """The old names that a file mentions as a text, or as a keyword of something that is no class of arguments."""
    known = {holder for made in made_configs(module) for holder in made.holders}
    values = {item.value for holder in known for item in named(holder)}
    strings = [node for node in module.names.strings if node not in values]
    names = {node.value.lstrip("-") for node in strings if isinstance(node.value, str)}
    for call in module.calls:
        if call not in known and not is_of_libraries(module, call.func):
            names |= {item.arg for item in call.keywords if item.arg}
    read = {item.arg for holder in known if isinstance(holder, ast.Dict) for item in named(holder)}
    return tuple(sorted(old_keywords() & names - read))


def _is_refused(module: Module, config: str, name: str) -> bool:
    found = row(module, config, name)
    # A key of another mapping is spelled as the keyword was.
    return found is not None and found.action not in ("keep", "key") and name not in STILL_TAKEN


def _positions(module: Module, made: Arguments) -> Iterator[Change]:
    given = made.call.args[1:] if partial_of(module, made.call) is not None else made.call.args
    if len(given) > 1 and not made.own:
        message = "Arguments by position beyond the first have moved: pass them by keyword."
        yield Change(Outcome.MANUAL, made.call, message)


def _fields(module: Module) -> Iterator[Change]:
    """A derived class that defines a renamed field anew: the trainer reads the new one."""
    for definition in module.names.statements:
        if not isinstance(definition, ast.ClassDef):
            continue
        base = next((found for base in definition.bases if (found := config_class(module, base))), None)
        if base is None:
            continue
        for item in own_fields(definition):
            assert isinstance(item.target, ast.Name)
            renamed = row(module, base[0], item.target.id)
            if renamed is not None and renamed.action == "rename":
                message = (
                    f"The trainer reads {renamed.new}: this field would change nothing. Rename it, and what reads it."
                )
                yield Change(Outcome.MANUAL, item, message)


CASES = (
    Case(
        "keywords of a script from 2023",
        """from transformers import TrainingArguments

args = TrainingArguments(
    output_dir="out",
    overwrite_output_dir=True,
    evaluation_strategy="epoch",
    per_gpu_train_batch_size=4,
    warmup_ratio=0.1,
    no_cuda=True,  # on a laptop
    group_by_length=True,
    fp16_opt_level="O1",
)
""",
        """from transformers import TrainingArguments

args = TrainingArguments(
    output_dir="out",
    eval_strategy="epoch",
    per_device_train_batch_size=4,
    warmup_steps=0.1,
    use_cpu=True,  # on a laptop
    train_sampling_strategy="group_by_length",
)
""",
        (Outcome.REWRITTEN,) * 7,
    ),
    Case(
        "keywords of TRL",
        """from trl import DPOConfig, SFTConfig

sft = SFTConfig(output_dir="out", max_seq_length=512, use_liger=True)
dpo = DPOConfig(output_dir="out", max_prompt_length=256, generate_during_eval=False, rpo_alpha=1.0)
""",
        """from trl import DPOConfig, SFTConfig

sft = SFTConfig(output_dir="out", max_length=512, use_liger_kernel=True)
# TODO(neuron-migrate NM710): rpo_alpha: Pass loss_type=["sigmoid", "sft"] and loss_weights=[1.0, rpo_alpha]: \
https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md
dpo = DPOConfig(output_dir="out", rpo_alpha=1.0)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.REVIEW, Outcome.REWRITTEN, Outcome.MANUAL),
    ),
    Case(
        "a mapping, a partial call and keys of another keyword",
        """from functools import partial

from transformers import TrainingArguments

options = {"evaluation_strategy": "steps", "save_safetensors": False}
make = partial(TrainingArguments, report_to=None)
args = TrainingArguments("out", **options)
other = TrainingArguments("out", split_batches=True, fsdp_min_num_params=10_000, logging_dir="logs")
""",
        """import os
from functools import partial

from transformers import TrainingArguments

options = {"eval_strategy": "steps"}
make = partial(TrainingArguments, report_to="all")
args = TrainingArguments("out", **options)
os.environ.setdefault("TENSORBOARD_LOGGING_DIR", "logs")
other = TrainingArguments(
    "out",
    accelerator_config={"split_batches": True},
    fsdp_config={"min_num_params": 10_000},
)
""",
    ),
    Case(
        "a mapping that cannot be read and may hold an old name",
        """from transformers import TrainingArguments

options = {}
options["evaluation_strategy"] = "epoch"
args = TrainingArguments("out", **options)
""",
        """from transformers import TrainingArguments

options = {}
options["evaluation_strategy"] = "epoch"
# TODO(neuron-migrate NM710): This mapping may hold evaluation_strategy: rename or take out there what is refused \
now: https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md
args = TrainingArguments("out", **options)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "a derived class that defines a renamed field",
        """from dataclasses import dataclass, field

from transformers import TrainingArguments


@dataclass
class MyArguments(TrainingArguments):
    evaluation_strategy: str = field(default="epoch")
    cache: str = "here"
""",
        """from dataclasses import dataclass, field

from transformers import TrainingArguments


@dataclass
class MyArguments(TrainingArguments):
    # TODO(neuron-migrate NM710): The trainer reads eval_strategy: this field would change nothing. Rename it, and \
what reads it: https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md
    evaluation_strategy: str = field(default="epoch")
    cache: str = "here"
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "arguments of today",
        """from transformers import TrainingArguments

args = TrainingArguments("out", eval_strategy="epoch", warmup_steps=0.1, **options)
""",
    ),
    Case(
        "the same keywords of something else",
        """from transformers import TrainingArguments
from mylib import Plan

plan = Plan(evaluation_strategy="epoch", warmup_ratio=0.1, no_cuda=True)
other = plan.train(overwrite_output_dir=True)
""",
    ),
    Case(
        "a class of the same name from elsewhere",
        """from mylib import TrainingArguments
from .configs import SFTConfig

args = TrainingArguments(evaluation_strategy="epoch")
config = SFTConfig(max_seq_length=512)
""",
    ),
    Case(
        "fields that a derived class defines itself",
        """from dataclasses import dataclass

from transformers import TrainingArguments


@dataclass
class MyArguments(TrainingArguments):
    use_ipex: bool = False


args = MyArguments("out", use_ipex=True)
""",
    ),
)
