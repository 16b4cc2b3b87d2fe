"""Spells out the defaults that changed, so that a run keeps its hyper-parameters.

Optimum Neuron and transformers 5 / TRL 1 disagree on the optimizer, logging, loss averaging and, for `SFTConfig`, on
the learning rate, precision and checkpointing. A keyword that was left out is written with its old value.

https://huggingface.co/docs/trl/sft_trainer
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.edits import CallEdit, Change
from neuron_codemods.imports import local_name
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.releases import Era, era
from neuron_codemods.training.configuring import is_configured
from neuron_codemods.training.defaults import changed, is_copy
from neuron_codemods.training.parallel import trains
from neuron_codemods.training.precision import must_say_bf16
from neuron_codemods.values import Arguments, all_arguments

RULE = Rule(
    code="NM111",
    name="spelled-default",
    summary="Old defaults that changed natively are written into the arguments.",
    url="https://huggingface.co/docs/trl/sft_trainer",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW),
)

DEVICE = "neuron_shim.neuron_device"


def check(module: Module) -> Iterator[Change]:
    if not trains(module):
        return
    for made in all_arguments(module):
        if made.is_parsed or is_copy(module, made):
            continue
        if not made.is_neuron and is_configured(module):
            continue  # an earlier run has spelled them out
        wanted = changed(module, made)
        if made.unread:
            names = ", ".join(f"{name}={text}" for name, text in wanted.items() if text)
            message = f"Unless the ** mapping holds them, these defaults have changed; the old ones were {names}."
            yield Change(Outcome.REVIEW, made.call, message)
            continue
        yield from _spell_out(module, made, wanted)
        if era(module) is Era.EITHER and made.is_neuron:
            yield from _ambiguous(made)


def _spell_out(module: Module, made: Arguments, wanted: dict[str, str]) -> Iterator[Change]:
    requires: tuple[str, ...] = ()
    if "use_cpu" in wanted:
        wanted = {**wanted, "use_cpu": f'{local_name(module, DEVICE)}().type == "cpu"'}
        requires = (DEVICE,)
    if wanted:
        said = must_say_bf16(module, made)
        names = [name for name in wanted if name != "use_cpu" and not (said and name == "bf16")]
        told = [f"Old defaults are spelled out: {', '.join(names)}."] if names else []
        if said:
            told.append("bf16=True computes in bf16, as the weights did, which are float32 now.")
        if requires:
            told.append("use_cpu lets bf16=True start on a machine without an accelerator.")
        yield Change(
            Outcome.REWRITTEN, made.call, " ".join(told), (CallEdit(made.call, added=tuple(wanted.items())),), requires
        )


def _ambiguous(made: Arguments) -> Iterator[Change]:
    """Two defaults that Optimum Neuron itself changed in 0.4.0; nothing here tells which release it was."""
    sizes = [
        name
        for name in ("per_device_train_batch_size", "per_device_eval_batch_size")
        if not made.has(name, name.replace("device", "gpu"))
    ]
    if sizes:
        message = (
            f"The default of {' and '.join(sizes)} was 1 in releases 0.4.0 to 0.4.5 and 8 before; it is 8 now. Pass "
            "what "
            "you trained with."
        )
        yield Change(Outcome.REVIEW, made.call, message)
    if not made.has("log_level"):
        message = 'The default of log_level was "info" in releases 0.4.0 to 0.4.5; it is "passive" now, as before 0.4.'
        yield Change(Outcome.REVIEW, made.call, message)


CASES = (
    Case(
        "weights that were bf16 by themselves",
        """import torch
from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
from optimum.neuron.models.training import NeuronModelForCausalLM

args = NeuronTrainingArguments(output_dir="out", optim="sgd", report_to="none", evaluation_strategy="no")
model = NeuronModelForCausalLM.from_pretrained("my/model", args.trn_config, dtype=torch.bfloat16)
""",
        """import torch
from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
from optimum.neuron.models.training import NeuronModelForCausalLM
from neuron_shim import neuron_device

args = NeuronTrainingArguments(
    output_dir="out",
    optim="sgd",
    report_to="none",
    evaluation_strategy="no",
    average_tokens_across_devices=False,
    bf16=True,
    use_cpu=neuron_device().type == "cpu",
)
model = NeuronModelForCausalLM.from_pretrained("my/model", args.trn_config, dtype=torch.bfloat16)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "what was left out",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments

args = NeuronTrainingArguments("out", per_device_train_batch_size=1, evaluation_strategy="no")
""",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments

args = NeuronTrainingArguments(
    "out",
    per_device_train_batch_size=1,
    evaluation_strategy="no",
    average_tokens_across_devices=False,
    optim="adamw_torch",
    report_to="all",
)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "bf16 also starts on a laptop",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments

args = NeuronTrainingArguments(
    output_dir="out",
    bf16=True,
    optim="sgd",
    report_to="none",
    evaluation_strategy="no",
)
""",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
from neuron_shim import neuron_device

args = NeuronTrainingArguments(
    output_dir="out",
    bf16=True,
    optim="sgd",
    report_to="none",
    evaluation_strategy="no",
    average_tokens_across_devices=False,
    use_cpu=neuron_device().type == "cpu",
)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "an SFTConfig that is built directly",
        """from optimum.neuron import NeuronSFTConfig

config = NeuronSFTConfig(output_dir="out", max_seq_length=512, learning_rate=1e-4, \
gradient_checkpointing=True)
""",
        """from optimum.neuron import NeuronSFTConfig

config = NeuronSFTConfig(
    output_dir="out",
    max_seq_length=512,
    learning_rate=1e-4,
    gradient_checkpointing=True,
    average_tokens_across_devices=False,
    bf16=False,
    logging_steps=500,
    optim="adamw_torch",
    report_to="all",
)
""",
        (
            Outcome.REWRITTEN,
            Outcome.REVIEW,
            Outcome.REVIEW,
        ),
    ),
    Case(
        "an SFTConfig made from other arguments",
        """from optimum.neuron import NeuronSFTConfig


def build(training_args):
    return NeuronSFTConfig(max_seq_length=512, **training_args.to_dict())
""",
    ),
    Case(
        "everything is given",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments

args = NeuronTrainingArguments(
    "out",
    average_tokens_across_devices=False,
    optim="sgd",
    per_device_train_batch_size=1,
    report_to="none",
)
""",
        outcomes=(
            Outcome.REVIEW,
            Outcome.REVIEW,
        ),
    ),
    Case(
        "arguments in a file that trains without Optimum Neuron",
        """from transformers import TrainingArguments

args = TrainingArguments("out")
""",
    ),
)
