"""Reads from arguments and their trainers under the names that they have now.

`training_args.evaluation_strategy` is `eval_strategy`; an attribute that is gone gets a marker. The guard of the
example scripts around `overwrite_output_dir` keeps its flag, as a field of the script's own arguments.

https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renames.libraries import config_held, is_served, old_keywords, row
from neuron_codemods.training.argument_attributes import handles, overwrite
from neuron_codemods.values import arguments_of, rename_attribute

RULE = Rule(
    code="NM712",
    name="renamed-argument-attribute",
    summary="training_args.evaluation_strategy, .overwrite_output_dir, .logging_dir and others.",
    url="https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments",
    outcomes=(Outcome.REWRITTEN, Outcome.MANUAL),
)

_WARMUP = "warmup_steps"
_LOGS = "There is no logging_dir: read the environment variable TENSORBOARD_LOGGING_DIR."


def check(module: Module) -> Iterator[Change]:
    if not module.renames:
        return
    for attribute in module.names.attributes:
        if attribute.attr not in old_keywords():
            continue
        held = config_held(module, attribute.value)
        if held is None or attribute.attr in held[1]:
            continue
        if handles(attribute.attr) and is_served(module, held[0]):
            continue
        change = _change(module, attribute, held[0])
        if change is not None:
            yield change


def _change(module: Module, attribute: ast.Attribute, config: str) -> Change | None:
    name = attribute.attr
    found = row(module, config, name)
    if found is None or found.action == "keep":
        return None
    if name == "overwrite_output_dir" and isinstance(attribute.ctx, ast.Load):
        return overwrite(module, attribute, arguments_of(module, attribute.value))
    if name == "logging_dir":
        return Change(Outcome.MANUAL, attribute, _LOGS)
    new = _WARMUP if name == "warmup_ratio" else found.new if found.action == "rename" else ""
    if new and module.is_placed(attribute):
        edit = rename_attribute(module, attribute, new)
        return Change(Outcome.REWRITTEN, attribute, f"{name} is called {new}.", (edit,))
    if found.action == "value":
        return Change(Outcome.MANUAL, attribute, f"There is no {name}: it is {found.new} now.")
    if found.action == "key":
        return Change(Outcome.MANUAL, attribute, f"There is no {name}: it is a key of {found.new.partition(':')[0]}.")
    return Change(Outcome.MANUAL, attribute, f"There is no {name}. {found.message}")


CASES = (
    Case(
        "the guard of the example scripts",
        """import os
from dataclasses import dataclass, field

from transformers import HfArgumentParser, TrainingArguments


@dataclass
class ModelArguments:
    model: str = field(default="my/model")


parser = HfArgumentParser((ModelArguments, TrainingArguments))
model_args, training_args = parser.parse_args_into_dataclasses()
if os.path.isdir(training_args.output_dir) and not training_args.overwrite_output_dir:
    raise ValueError(training_args.evaluation_strategy)
""",
        """import os
from dataclasses import dataclass, field

from transformers import HfArgumentParser, TrainingArguments


@dataclass
class ModelArguments:
    model: str = field(default="my/model")
    overwrite_output_dir: bool = field(default=False, metadata={"help": "Overwrite the output directory."})


parser = HfArgumentParser((ModelArguments, TrainingArguments))
model_args, training_args = parser.parse_args_into_dataclasses()
if os.path.isdir(training_args.output_dir) and not model_args.overwrite_output_dir:
    raise ValueError(training_args.eval_strategy)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "in a function and in a derived trainer",
        """from transformers import Trainer, TrainingArguments


class MyTrainer(Trainer):
    def steps(self):
        return self.args.warmup_ratio, self.args.no_cuda


def build(args: TrainingArguments):
    args.per_gpu_train_batch_size = 8
    return MyTrainer(args=args)
""",
        """from transformers import Trainer, TrainingArguments


class MyTrainer(Trainer):
    def steps(self):
        return self.args.warmup_steps, self.args.use_cpu


def build(args: TrainingArguments):
    args.per_device_train_batch_size = 8
    return MyTrainer(args=args)
""",
        (Outcome.REWRITTEN,) * 3,
    ),
    Case(
        "what is gone",
        """from transformers import TrainingArguments

args = TrainingArguments("out")
print(args.group_by_length)
""",
        """from transformers import TrainingArguments

args = TrainingArguments("out")
# TODO(neuron-migrate NM712): There is no group_by_length: it is \
train_sampling_strategy="group_by_length" now: \
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
print(args.group_by_length)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "attributes of today",
        """from transformers import TrainingArguments

args = TrainingArguments("out")
print(args.eval_strategy, args.learning_rate)
""",
    ),
    Case(
        "the arguments of argparse",
        """import argparse

from transformers import AutoModel

args = argparse.ArgumentParser().parse_args()
print(args.warmup_ratio, args.overwrite_output_dir, args.no_cuda)
""",
    ),
    Case(
        "a field of a derived class",
        """from dataclasses import dataclass

from transformers import TrainingArguments


@dataclass
class MyArguments(TrainingArguments):
    use_ipex: bool = False


args = MyArguments("out")
print(args.use_ipex)
""",
    ),
)
