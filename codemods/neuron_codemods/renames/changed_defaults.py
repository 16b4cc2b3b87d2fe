"""Reports defaults that transformers 5 and TRL 1 changed, where a script relied on the old ones.

Only a script that still spells something the old way is known to have relied on them: of one written for the libraries
of today nothing is said. Each finding has both values; pass the old one to train as before.

https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.data.renames import Rename, renames
from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renames.age import is_older
from neuron_codemods.renames.libraries import BASE, made_configs
from neuron_codemods.renames.loading_keywords import dtype_is_given, is_load
from neuron_codemods.training.configuring import is_configured
from neuron_codemods.training.parallel import is_model_class, loads
from neuron_codemods.values import Arguments, has_splat, is_copied, literal

RULE = Rule(
    code="NM711",
    name="changed-default",
    summary="Defaults of the arguments classes and of from_pretrained that changed.",
    url="https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md",
    outcomes=(Outcome.REVIEW,),
)

_OLD_NAMES = {"gradient_checkpointing": "activation_checkpointing", "optim": "adafactor"}
_PACKING = Rename(
    "default", "trl.SFTConfig", "packing_strategy", "default", '"bfd"', '"wrapped"', "TRL 0.18", "libraries"
)


def check(module: Module) -> Iterator[Change]:
    if not module.renames or not (module.uses_neuron or is_older(module)):
        return
    for made in made_configs(module):
        if not any(is_copied(module, item.value) for item in made.unread):
            yield from _defaults(made)
    if is_configured(module):
        return  # an earlier run has told
    trained = {load.call for load in loads(module)}
    for call in module.calls:
        if call not in trained and is_load(module, call):
            yield from _precision(module, call)


def _defaults(made: Arguments) -> Iterator[Change]:
    table = renames("default")
    rows = {**(table.get(BASE, {})), **table.get(made.native, {})}
    changed = [row for row in rows.values() if row.action == "default" and not _is_given(made, row)]
    if made.native == "trl.SFTConfig" and literal(made.value("packing")) is True and not made.has("packing_strategy"):
        changed.append(_PACKING)
    if not changed:
        return
    told = ", ".join(f"{row.old} was {row.inert} (before {row.message}) and is {row.new}" for row in changed)
    unread = ", unless the mapping says otherwise" if made.unread else ""
    where = " on the command line" if made.is_parsed else ""
    message = f"Defaults that changed{unread}: {told}. Pass the old ones{where} to train as before."
    yield Change(Outcome.REVIEW, made.call, message)


def _is_given(made: Arguments, row: Rename) -> bool:
    return row.old in made.own or made.has(row.old, _OLD_NAMES.get(row.old, row.old))


def _precision(module: Module, call: ast.Call) -> Iterator[Change]:
    function = call.func
    assert isinstance(function, ast.Attribute)  # it is a load
    is_model = function.attr == "from_pretrained" and is_model_class(module.native(function.value) or "")
    if not is_model or dtype_is_given(call) or has_splat(call):
        return
    message = (
        'Weights were loaded in float32 and are loaded as the checkpoint holds them now: pass dtype="float32" to keep '
        "that."
    )
    yield Change(Outcome.REVIEW, call, message)


CASES = (
    Case(
        "a script from before",
        """from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments

args = TrainingArguments("out", evaluation_strategy="epoch", optim="adamw_torch")
model = AutoModelForSequenceClassification.from_pretrained("my/model")
trainer = Trainer(model, args)
""",
        outcomes=(Outcome.REVIEW, Outcome.REVIEW),
    ),
    Case(
        "supervised fine-tuning from before",
        """from trl import SFTConfig, SFTTrainer

config = SFTConfig("out", max_seq_length=512, packing=True, bf16=True, learning_rate=1e-4)
trainer = SFTTrainer("my/model", config)
""",
        outcomes=(Outcome.REVIEW,),
    ),
    Case(
        "a script that says what it wants",
        """from transformers import AutoModel, Trainer, TrainingArguments

args = TrainingArguments("out", evaluation_strategy="epoch", optim="adamw_torch", report_to="none")
model = AutoModel.from_pretrained("my/model", torch_dtype="float32")
""",
    ),
    Case(
        "a script of today",
        """from transformers import AutoModel, TrainingArguments
from trl import SFTConfig

args = TrainingArguments("out", eval_strategy="epoch")
config = SFTConfig("out", max_length=512, packing=True)
model = AutoModel.from_pretrained("my/model")
""",
    ),
)
