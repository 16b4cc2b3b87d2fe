"""Takes the Neuron-only keywords out of the training arguments and renames what transformers 5 and TRL 1 renamed.

`TrainingArguments` refuses keywords it does not know. Parallel sizes move to where the model is loaded, ZeRO-1 becomes
FSDP, switches of the XLA compiler and of the shard format go; each by its row in the table of keywords.

https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.data import Keyword, keywords
from neuron_codemods.edits import Change
from neuron_codemods.given import (
    Given,
    Handler,
    dropped,
    flag_to_value,
    into_mapping,
    log_level_replica,
    logging_dir,
    renamed,
    report_to,
    warmup_ratio,
)
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.training.parallel import loads, may_be_sharded, trains
from neuron_codemods.values import ORPO_CONFIG, SFT_CONFIG, UNKNOWN, Arguments, all_arguments, is_copied, named

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
    if made.native == ORPO_CONFIG:
        rows.update(keywords("orpo_config"))
    return rows


def _by_table(given: Given) -> Change | None:
    rows = _rows(given.made).get(given.name)
    if not rows or rows[0].action == "keep":
        return None
    row = rows[0]
    if row.action == "rename" and row.native.isidentifier():
        return renamed(row.native)(given)
    if row.action == "drop" or (given.known is not UNKNOWN and repr(given.known) in _inert(row)):
        return given.change(Outcome.REWRITTEN, f"{given.name} goes. {row.reason}".strip(), given.remove())
    return given.change(Outcome.MANUAL, f"{given.name}: {row.reason}")


def _inert(row: Keyword) -> tuple[str, ...]:
    return ("None", "False", row.default)


# Handlers -----------------------------------------------------------------------------------------------------------


def _tensor_parallel(given: Given) -> Change:
    sharded = any(load.is_sharded for load in loads(given.module))
    if given.known == 1:
        return given.change(Outcome.REWRITTEN, "tensor_parallel_size=1 goes: it is the default.", given.remove())
    if sharded:
        message = "tensor_parallel_size moves to where the model is loaded."
        return given.change(Outcome.REWRITTEN, message, given.remove())
    where = "No decoder is loaded in this file; where one is, it gets"
    if any(may_be_sharded(load) for load in loads(given.module)):
        where = "If it may be more than 1, give the model that is loaded here"
    message = (
        f"tensor_parallel_size={given.text} goes: TP_SIZE before torchrun says it. {where} "
        "distributed_config=DistributedConfig(**parallel_sizes(...))."
    )
    return given.change(Outcome.REVIEW, message, given.remove())


def _pipeline_parallel(given: Given) -> Change:
    if given.known in (1, None):
        return given.change(Outcome.REWRITTEN, "pipeline_parallel_size=1 goes: it is the default.", given.remove())
    message = (
        "Pipeline parallel training has no native form in transformers (a pipelined model returns no loss): plan the "
        "same number of cores as tensor parallel times FSDP, then delete pipeline_parallel_size and pass "
        "dataloader_drop_last=True, which it implied"
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
        Outcome.MANUAL, "deepspeed is refused on Neuron by accelerate: use DistributedConfig(fsdp_size=...)."
    )


def _of_orpo(message: str, inert: object) -> Handler:
    """A keyword of ORPOConfig that TRL has dropped; with another value than the usual one it made a difference."""

    def handle(given: Given) -> Change | None:
        if given.made.native != ORPO_CONFIG:
            return _by_table(given)
        outcome = Outcome.REWRITTEN if given.known in (None, inert) else Outcome.REVIEW
        return given.change(outcome, f"{given.name} goes. {message}", given.remove())

    return handle


_METRICS = dropped(
    "It only chose what was logged.",
    review="These metrics are not logged natively; include_num_input_tokens_seen counts tokens.",
    inert=(False, None),
)
_BLOCKING = dropped("Saving always waits.", review="Saving waits until the files are written.")
_ACCELERATOR = into_mapping("accelerator_config", "dispatch_batches", "split_batches")
_CHECKPOINT = "Checkpoints are plain safetensors."

_HANDLERS: dict[str, Handler] = {
    "tensor_parallel_size": _tensor_parallel,
    "pipeline_parallel_size": _pipeline_parallel,
    "zero_1": _zero,
    "evaluation_strategy": renamed("eval_strategy"),
    "gradient_checkpointing": renamed("activation_checkpointing"),
    "gradient_checkpointing_kwargs": renamed("activation_checkpointing_kwargs"),
    "max_seq_length": renamed("max_length"),
    "warmup_ratio": warmup_ratio,
    "logging_dir": logging_dir,
    "overwrite_output_dir": dropped("The trainer never looked at it."),
    "save_safetensors": dropped(_CHECKPOINT, review="Checkpoints are always safetensors.", inert=(None, True)),
    "use_xser": dropped(_CHECKPOINT),
    "async_save": _BLOCKING,
    "group_by_length": flag_to_value("train_sampling_strategy", '"group_by_length"'),
    "adafactor": flag_to_value("optim", '"adafactor"'),
    "include_inputs_for_metrics": flag_to_value("include_for_metrics", '["inputs"]'),
    "dispatch_batches": _ACCELERATOR,
    "split_batches": _ACCELERATOR,
    "report_to": report_to,
    "log_level_replica": log_level_replica,
    "no_cuda": dropped("It was about CUDA; natively use_cpu would keep the job off the Neuron device."),
    "use_autocast": dropped("bf16=True always autocasts."),
    "half_precision_backend": _precision_switch,
    "optimizer_use_master_weights": _masters,
    "optimizer_use_fp32_grad_acc": _masters,
    "optimizer_save_master_weights_in_ckpt": dropped("The saved weights are the master weights."),
    "stochastic_rounding_enabled": dropped(
        "Weights in float32 are rounded to nearest.",
        review="Weights in float32 need no stochastic rounding; NEURON_RT_STOCHASTIC_ROUNDING_EN=1 switches it on.",
    ),
    "recompute_causal_mask": dropped(
        "Padding is masked.", review="Natively padding is really masked, where it used to be attended to."
    ),
    "disable_sequence_parallel": dropped("There is no sequence parallelism natively.", inert=(True,)),
    "sequence_parallel_enabled": dropped(
        "It was off.", review="There is no sequence parallelism natively: activations need more memory."
    ),
    "neuron_cc_optlevel": dropped(
        "The compiler chooses.", review="Set NEURON_COMPILER_OPT_LEVEL in the launch script instead."
    ),
    "enable_throughput_metrics": _METRICS,
    "enable_mfu_metrics": _METRICS,
    "enable_efficiency_metrics": _METRICS,
    "include_tokens_per_second": _METRICS,
    "deepspeed": _deepspeed,
    "dataloader_prefetch_size": dropped(
        "Batches are loaded when they are asked for.",
        review="dataloader_num_workers and dataloader_prefetch_factor load batches ahead natively.",
    ),
    "max_prompt_length": _of_orpo(
        "Prompts are no longer cut on their own (they were, at 128 tokens unless it was given): cut them in the data "
        "set.",
        UNKNOWN,
    ),
    "label_pad_token_id": _of_orpo("Labels are padded with -100.", -100),
    "truncation_mode": _of_orpo("Only the answer is cut, at its end.", UNKNOWN),
    "use_liger": dropped("Liger kernels are for GPUs.", review="Liger kernels are for GPUs: use_liger_kernel there."),
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
then delete pipeline_parallel_size and pass dataloader_drop_last=True, which it implied: \
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
