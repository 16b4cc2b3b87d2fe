"""Takes the Neuron-only keywords out of the training arguments and renames what transformers 5 and TRL 1 renamed.

`TrainingArguments` refuses keywords it does not know. Parallel sizes move to where the model is loaded, ZeRO-1 becomes
FSDP, switches of the XLA compiler and of the shard format go; each by its row in the table of keywords.

https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from neuron_codemods.data import Keyword, keywords
from neuron_codemods.edits import AnyEdit, CallEdit, Change, Holder, InsertLines
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.training.parallel import loads, trains
from neuron_codemods.values import (
    SFT_CONFIG,
    UNKNOWN,
    Arguments,
    all_arguments,
    constant,
    is_copied,
    literal,
    named,
    remove_argument,
    rename_argument,
    replace_value,
)

RULE = Rule(
    code="NM110",
    name="argument-keyword",
    summary="Keywords of the training arguments that are gone, moved or renamed.",
    url="https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)


_UNREAD = (
    "This mapping cannot be read here: take out of it what native arguments refuse (tensor_parallel_size, zero_1, "
    "overwrite_output_dir, evaluation_strategy, warmup_ratio ...)."
)


@dataclass(frozen=True)
class Given:
    """A keyword in a call that makes training arguments."""

    module: Module
    made: Arguments
    holder: Holder
    item: ast.keyword

    @property
    def name(self) -> str:
        return self.item.arg or ""

    @property
    def known(self) -> object:
        return constant(self.module, self.item.value)

    @property
    def text(self) -> str:
        return self.module.source.segment(self.item.value)

    def change(self, outcome: Outcome, message: str, *edits: AnyEdit, requires: tuple[str, ...] = ()) -> Change:
        return Change(outcome, self.item, message, edits, requires)

    def remove(self) -> CallEdit:
        return remove_argument(self.holder, self.item)

    def rename(self, name: str) -> CallEdit:
        return rename_argument(self.holder, self.item, name)

    def replace(self, text: str) -> CallEdit:
        return replace_value(self.holder, self.item, text)

    def has(self, name: str) -> bool:
        return self.made.has(name)


def check(module: Module) -> Iterator[Change]:
    if not trains(module):
        return
    for made in all_arguments(module):
        if made.is_parsed:
            continue
        for holder in made.holders:
            for item in named(holder):
                if item.arg is not None and item.arg not in made.own:
                    given = Given(module, made, holder, item)
                    change = _HANDLERS.get(item.arg, _by_table)(given)
                    if change is not None:
                        yield change
        for item in made.unread:
            if made.is_neuron and not is_copied(module, item.value):
                yield Change(Outcome.MANUAL, item.value, _UNREAD)


def _rows(made: Arguments) -> dict[str, tuple[Keyword, ...]]:
    rows = dict(keywords("training_arguments"))
    if made.native == SFT_CONFIG:
        rows.update(keywords("sft_config"))
    return rows


def _by_table(given: Given) -> Change | None:
    rows = _rows(given.made).get(given.name)
    if not rows or rows[0].action == "keep":
        return None
    row = rows[0]
    if row.action == "rename" and row.native.isidentifier():
        return _renamed(row.native)(given)
    if row.action == "drop" or (given.known is not UNKNOWN and repr(given.known) in _inert(row)):
        return given.change(Outcome.REWRITTEN, f"{given.name} goes. {row.reason}".strip(), given.remove())
    return given.change(Outcome.MANUAL, f"{given.name}: {row.reason}")


def _inert(row: Keyword) -> tuple[str, ...]:
    return ("None", "False", row.default)


# Handlers -----------------------------------------------------------------------------------------------------------

Handler = Callable[[Given], "Change | None"]


def _renamed(name: str, outcome: Outcome = Outcome.REWRITTEN) -> Handler:
    def handle(given: Given) -> Change:
        if given.has(name):
            return given.change(outcome, f"{given.name} goes: {name} is given as well.", given.remove())
        return given.change(outcome, f"{given.name} is called {name}.", given.rename(name))

    return handle


def _dropped(message: str, *, review: str = "", inert: tuple[object, ...] = (None, False)) -> Handler:
    """A keyword that goes; ``review`` is what to say instead when its value made a difference."""

    def handle(given: Given) -> Change:
        if review and given.known not in inert:
            return given.change(Outcome.REVIEW, f"{given.name} goes. {review}", given.remove())
        return given.change(Outcome.REWRITTEN, f"{given.name} goes. {message}", given.remove())

    return handle


def _tensor_parallel(given: Given) -> Change:
    sharded = any(load.is_sharded for load in loads(given.module))
    if given.known == 1:
        return given.change(Outcome.REWRITTEN, "tensor_parallel_size=1 goes: it is the default.", given.remove())
    if sharded:
        message = "tensor_parallel_size moves to where the model is loaded."
        return given.change(Outcome.REWRITTEN, message, given.remove())
    message = (
        f"tensor_parallel_size={given.text} goes, and no decoder is loaded in this file that could be sharded: pass "
        "distributed_config=DistributedConfig(**parallel_sizes(...)) where the model is loaded."
    )
    return given.change(Outcome.REVIEW, message, given.remove())


def _pipeline_parallel(given: Given) -> Change:
    if given.known in (1, None):
        return given.change(Outcome.REWRITTEN, "pipeline_parallel_size=1 goes: it is the default.", given.remove())
    message = (
        "Pipeline parallel training has no native form in transformers (a pipelined model returns no loss): plan the "
        "same number of cores as tensor parallel times FSDP, then delete pipeline_parallel_size"
    )
    return given.change(Outcome.MANUAL, message + ".")


def _zero(given: Given) -> Change:
    if given.known is False:
        return given.change(Outcome.REWRITTEN, "zero_1=False goes: there is no such switch.", given.remove())
    if any(load.is_sharded for load in loads(given.module)):
        message = (
            "zero_1 goes: FSDP shards the optimizer state, and parameters and gradients too, with the same result."
        )
    else:
        message = "zero_1 goes: the optimizer state is replicated on every rank (same result, more memory)."
    return given.change(Outcome.REVIEW, message, given.remove())


def _warmup_ratio(given: Given) -> Change:
    steps = given.made.find("warmup_steps")
    if steps is not None:
        if literal(steps[1].value) == 0:
            zero = remove_argument(*steps)
            message = "warmup_ratio is called warmup_steps: a float below 1 is a ratio."
            return given.change(Outcome.REWRITTEN, message, zero, given.rename("warmup_steps"))
        message = "warmup_ratio goes: warmup_steps, which is given as well, has always won."
        return given.change(Outcome.REWRITTEN, message, given.remove())
    known = given.known
    message = "warmup_ratio is called warmup_steps: a float below 1 is a ratio."
    if isinstance(known, (int, float)) and known < 1:
        edits: list[AnyEdit] = [given.rename("warmup_steps")]
        if isinstance(known, int):
            edits.append(given.replace("0.0"))
        return given.change(Outcome.REWRITTEN, message, *edits)
    if known is None:
        return given.change(Outcome.REWRITTEN, "warmup_ratio=None goes.", given.remove())
    return given.change(Outcome.REVIEW, f"{message} A value of 1 or more counts steps.", given.rename("warmup_steps"))


def _logging_dir(given: Given) -> Change:
    if given.known is None:
        return given.change(Outcome.REWRITTEN, "logging_dir=None goes.", given.remove())
    statement = given.module.statement(given.holder)
    line = f'os.environ.setdefault("TENSORBOARD_LOGGING_DIR", {given.text})'
    message = "logging_dir is the environment variable TENSORBOARD_LOGGING_DIR."
    if "\n" in given.text or "\r" in given.text or isinstance(statement, (ast.Return, ast.ClassDef)):
        text = f"{message} Set it before the trainer is made; it was {' '.join(given.text.split())}."
        return given.change(Outcome.REVIEW, text, given.remove())
    edits = (given.remove(), InsertLines(statement, (line,)))
    return given.change(Outcome.REWRITTEN, message, *edits, requires=("os",))


def _flag_to_value(keyword_name: str, text: str) -> Handler:
    """A switch that became a value of another keyword."""

    def handle(given: Given) -> Change:
        if given.known in (False, None):
            return given.change(Outcome.REWRITTEN, f"{given.name} goes: it was off.", given.remove())
        if given.known is True and not given.has(keyword_name):
            message = f"{given.name}=True is {keyword_name}={text}."
            return given.change(Outcome.REWRITTEN, message, given.rename(keyword_name), given.replace(text))
        return given.change(Outcome.MANUAL, f"Write {keyword_name}={text} where {given.name} is true, and delete it.")

    return handle


def _to_accelerator_config(given: Given) -> Change:
    if given.known is None:
        return given.change(Outcome.REWRITTEN, f"{given.name}=None goes.", given.remove())
    if given.has("accelerator_config") or (given.has("dispatch_batches") and given.has("split_batches")):
        return given.change(Outcome.MANUAL, f"Put {given.name} into accelerator_config.")
    edits = (given.rename("accelerator_config"), given.replace(f'{{"{given.name}": {given.text}}}'))
    return given.change(Outcome.REWRITTEN, f"{given.name} is a key of accelerator_config.", *edits)


def _report_to(given: Given) -> Change | None:
    if given.known is None:
        message = 'report_to=None meant every installed integration, which is "all" now.'
        return given.change(Outcome.REWRITTEN, message, given.replace('"all"'))
    return None


def _log_level_replica(given: Given) -> Change | None:
    if given.known == "silent":
        message = 'log_level_replica="silent" is not a level natively; "critical" says as little.'
        return given.change(Outcome.REWRITTEN, message, given.replace('"critical"'))
    return None


def _precision_switch(given: Given) -> Change:
    message = "The weights stay in the precision in which they are loaded, and bf16=True autocasts."
    return given.change(Outcome.REVIEW, f"{given.name} goes. {message}", given.remove())


def _masters(given: Given) -> Change:
    if given.known is True:
        message = "Weights loaded in float32 are their own master weights."
        return given.change(Outcome.REWRITTEN, f"{given.name} goes. {message}", given.remove())
    message = "Natively weights loaded in float32 are always updated in float32; load in bf16 to save the memory."
    return given.change(Outcome.REVIEW, f"{given.name} goes. {message}", given.remove())


def _deepspeed(given: Given) -> Change:
    if given.known is None:
        return given.change(Outcome.REWRITTEN, "deepspeed=None goes.", given.remove())
    return given.change(
        Outcome.MANUAL, "DeepSpeed is refused on Neuron by accelerate: use DistributedConfig(fsdp_size=...)."
    )


_METRICS = _dropped(
    "It only chose what was logged.",
    review="These metrics are not logged natively; include_num_input_tokens_seen counts tokens.",
    inert=(False, None),
)
_BLOCKING = _dropped("Saving always waits.", review="Saving waits until the files are written.")
_CHECKPOINT = "Checkpoints are plain safetensors."

_HANDLERS: dict[str, Handler] = {
    "tensor_parallel_size": _tensor_parallel,
    "pipeline_parallel_size": _pipeline_parallel,
    "zero_1": _zero,
    "evaluation_strategy": _renamed("eval_strategy"),
    "gradient_checkpointing": _renamed("activation_checkpointing"),
    "gradient_checkpointing_kwargs": _renamed("activation_checkpointing_kwargs"),
    "max_seq_length": _renamed("max_length"),
    "warmup_ratio": _warmup_ratio,
    "logging_dir": _logging_dir,
    "overwrite_output_dir": _dropped("The trainer never looked at it."),
    "save_safetensors": _dropped(_CHECKPOINT, review="Checkpoints are always safetensors.", inert=(None, True)),
    "use_xser": _dropped(_CHECKPOINT),
    "async_save": _BLOCKING,
    "group_by_length": _flag_to_value("train_sampling_strategy", '"group_by_length"'),
    "adafactor": _flag_to_value("optim", '"adafactor"'),
    "include_inputs_for_metrics": _flag_to_value("include_for_metrics", '["inputs"]'),
    "dispatch_batches": _to_accelerator_config,
    "split_batches": _to_accelerator_config,
    "report_to": _report_to,
    "log_level_replica": _log_level_replica,
    "no_cuda": _dropped("It was about CUDA; natively use_cpu would keep the job off the Neuron device."),
    "use_autocast": _dropped("bf16=True always autocasts."),
    "half_precision_backend": _precision_switch,
    "optimizer_use_master_weights": _masters,
    "optimizer_use_fp32_grad_acc": _masters,
    "optimizer_save_master_weights_in_ckpt": _dropped("The saved weights are the master weights."),
    "stochastic_rounding_enabled": _dropped(
        "Weights in float32 are rounded to nearest.",
        review="Weights in float32 need no stochastic rounding; NEURON_RT_STOCHASTIC_ROUNDING_EN=1 switches it on.",
    ),
    "recompute_causal_mask": _dropped(
        "Padding is masked.", review="Natively padding is really masked, where it used to be attended to."
    ),
    "disable_sequence_parallel": _dropped("There is no sequence parallelism natively.", inert=(True,)),
    "sequence_parallel_enabled": _dropped(
        "It was off.", review="There is no sequence parallelism natively: activations need more memory."
    ),
    "neuron_cc_optlevel": _dropped(
        "The compiler chooses.", review="Set NEURON_COMPILER_OPT_LEVEL in the launch script instead."
    ),
    "enable_throughput_metrics": _METRICS,
    "enable_mfu_metrics": _METRICS,
    "enable_efficiency_metrics": _METRICS,
    "include_tokens_per_second": _METRICS,
    "deepspeed": _deepspeed,
    "use_liger": _dropped("Liger kernels are for GPUs.", review="Liger kernels are for GPUs: use_liger_kernel there."),
}

CASES = (
    Case(
        "parallel sizes and ZeRO-1 go, old spellings are renamed",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments

args = NeuronTrainingArguments(
    output_dir="out",
    overwrite_output_dir=True,  # start afresh
    evaluation_strategy="epoch",
    tensor_parallel_size=1,
    zero_1=True,
    warmup_ratio=0.03,
    gradient_checkpointing=True,
)
""",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments

args = NeuronTrainingArguments(
    output_dir="out",
    eval_strategy="epoch",
    warmup_steps=0.03,
    activation_checkpointing=True,
)
""",
        (
            Outcome.REWRITTEN,
            Outcome.REWRITTEN,
            Outcome.REWRITTEN,
            Outcome.REVIEW,
            Outcome.REWRITTEN,
            Outcome.REWRITTEN,
        ),
    ),
    Case(
        "the last argument of one line",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments

args = NeuronTrainingArguments("out", bf16=True, use_xser=False)
""",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments

args = NeuronTrainingArguments("out", bf16=True)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "the logging folder is an environment variable",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments

args = NeuronTrainingArguments("out", logging_dir="out/logs")
""",
        """import os
from optimum.neuron import NeuronTrainer, NeuronTrainingArguments

os.environ.setdefault("TENSORBOARD_LOGGING_DIR", "out/logs")
args = NeuronTrainingArguments("out")
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "switches that became values",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments

args = NeuronTrainingArguments("out", group_by_length=True, adafactor=False, \
include_inputs_for_metrics=True)
""",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments

args = NeuronTrainingArguments(
    "out",
    train_sampling_strategy="group_by_length",
    include_for_metrics=["inputs"],
)
""",
        (
            Outcome.REWRITTEN,
            Outcome.REWRITTEN,
            Outcome.REWRITTEN,
        ),
    ),
    Case(
        "pipeline parallelism is for a person",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments

args = NeuronTrainingArguments("out", pipeline_parallel_size=4)
""",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments

# TODO(neuron-migrate NM110): Pipeline parallel training has no native form in transformers (a \
pipelined model returns no loss): plan the same number of cores as tensor parallel times FSDP, \
then delete pipeline_parallel_size: \
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
args = NeuronTrainingArguments("out", pipeline_parallel_size=4)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "a mapping that cannot be read",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments


def build(options):
    return NeuronTrainingArguments("out", **options)
""",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments


def build(options):
    # TODO(neuron-migrate NM110): This mapping cannot be read here: take out of it what native \
arguments refuse (tensor_parallel_size, zero_1, overwrite_output_dir, evaluation_strategy, \
warmup_ratio ...): \
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
    return NeuronTrainingArguments("out", **options)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "nothing that changed",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments

args = NeuronTrainingArguments("out", learning_rate=1e-4, per_device_train_batch_size=2, bf16=True)
""",
    ),
    Case(
        "the same keywords of another class",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments


class Options:
    def __init__(self, zero_1, evaluation_strategy):
        pass


Options(zero_1=True, evaluation_strategy="epoch")
NeuronTrainer()
""",
    ),
    Case(
        "a script that does not train with Optimum Neuron",
        """from transformers import TrainingArguments

args = TrainingArguments("out", evaluation_strategy="epoch")
""",
    ),
)
