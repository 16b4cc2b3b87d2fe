"""Reports what a trainer does otherwise natively and no keyword can bring back.

Loss averaging, data order, seeds, weight decay and the handling of texts differ between releases and the native
trainers. The script runs as it is; the finding gives both sides, so that a change in the curves has a name.

https://huggingface.co/docs/transformers/main_classes/trainer
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.releases import Era, bounds, era
from neuron_codemods.targets import PADS_BY_ITSELF, precedes
from neuron_codemods.training.defaults import may_be_tensor_parallel
from neuron_codemods.training.parallel import trains, uses_lora
from neuron_codemods.training.precision import may_use_bf16
from neuron_codemods.values import (
    SFT_CONFIG,
    SFT_TRAINER,
    UNKNOWN,
    Arguments,
    all_arguments,
    constant,
    keyword,
    trainers,
)

RULE = Rule(
    code="NM122",
    name="trainer-difference",
    summary="What the native trainer does otherwise and no keyword brings back.",
    url="https://huggingface.co/docs/transformers/main_classes/trainer",
    outcomes=(Outcome.REVIEW,),
)

_TRL_0_24 = (0, 4, 2)
"""The first release on TRL 0.24; those before it were on 0.11."""

_AVERAGING = (
    "The loss is the mean over all tokens of the global batch, where it was the mean over ranks of each rank's mean: "
    "it "
    "differs when ranks hold different numbers of tokens. (average_tokens_across_devices=False would bring that back, "
    "but transformers 5.24 then multiplies the loss of a tensor parallel model.)"
)
_ORDER = (
    "The data order differs: it was shuffled with seed 0 over several processes, whatever args.seed said; natively "
    "it is "
    "shuffled with args.seed or data_seed."
)
_SEED = "Releases 0.4.0 to 0.4.5 seeded nothing; natively the trainer calls set_seed(args.seed)."
_BF16 = (
    "bf16=True autocasts over weights that keep the precision they were loaded in, where it used to cast the whole "
    "model "
    "to bf16: more exact, and more memory."
)
_LENGTH = (
    "Samples are cut at 1024 tokens unless max_length is given; up to 0.4.1 the limit was the smaller of 1024 and "
    "tokenizer.model_max_length. (max_seq_length is called max_length.)"
)
_SPECIAL = (
    "Special tokens are added as the tokenizer does by default; up to 0.4.1 a chat data set was tokenised without "
    "them."
)
_DECAY = (
    "weight_decay may leave out other parameters: natively also those whose names hold .norm or _norm. Override "
    "Trainer.get_decay_parameter_names to choose."
)
_PADDING = (
    "Samples are padded to the longest of their batch (to a multiple of 128 on a Neuron device), where they were "
    "padded to "
    "the full length; pass pad_to_multiple_of=<max_length> for one shape only."
)
_NO_PADDING = (
    "Samples are padded to the longest of their batch, where they were padded to the full length, and each new length "
    "compiles anew: pass pad_to_multiple_of=128, or <max_length> for one shape only. (TRL 1.16 pads to 128 by itself.)"
)
_OLD_TEXTS = (
    "Texts end with the EOS token natively, also in the loss; up to 0.4.1 none was added to an unpacked text, and "
    "EOS was "
    "masked where it was the padding token. Tokenise beforehand (an input_ids and a labels column) to keep that."
)
_NEW_TEXTS = (
    "Padding is masked in the loss natively; from 0.4.2 pad tokens were trained, so loss values are not comparable."
)
_MASKED = "A sample of which nothing but masked tokens is left after cutting is dropped natively, where it was kept."
_SIDE = "Training pads on the right natively, whatever tokenizer.padding_side says; up to 0.4.1 that decided."
_PROMPTS = (
    "Data sets of prompt and completion train on the completion only; up to 0.4.1 they trained on both. Pass "
    "completion_only_loss=False for that."
)


def check(module: Module) -> Iterator[Change]:
    if not trains(module):
        return
    general = list(_general(module))
    texts = list(_texts(module))
    for call, kind in trainers(module).items():
        if not kind.is_neuron:
            continue
        is_sft = kind.native == SFT_TRAINER
        messages = [*general, *texts] if is_sft else general
        if is_sft and keyword(call, "formatting_func") is None and bounds(module)[0] < _TRL_0_24:
            messages = [*messages, _PROMPTS, _SPECIAL]
        for message in messages:
            yield Change(Outcome.REVIEW, call, message)
    for made in all_arguments(module):
        if not made.is_parsed:
            yield from _arguments(module, made)


def _general(module: Module) -> Iterator[str]:
    """What is to be said of every trainer."""
    if may_be_tensor_parallel(module):
        yield _AVERAGING
    if may_use_bf16(module) and not uses_lora(module):
        yield _BF16
    yield _ORDER
    if era(module) is not Era.OLD:
        yield _SEED


def _texts(module: Module) -> Iterator[str]:
    """What is to be said of every SFT trainer."""
    configs = [made for made in all_arguments(module) if made.native == SFT_CONFIG and not made.is_parsed]
    packed = any(constant(module, made.value("packing")) is True for made in configs)
    padded = any(made.has("pad_to_multiple_of") for made in configs)
    first, last = bounds(module)
    if not packed and not padded:
        yield _NO_PADDING if precedes(module.project, *PADS_BY_ITSELF) else _PADDING
    if not packed:
        yield _MASKED
    if first < _TRL_0_24 and any(node.attr == "padding_side" for node in module.names.attributes):
        yield _SIDE
    if first < _TRL_0_24 and not packed:
        yield _OLD_TEXTS
    if first < _TRL_0_24 and configs and not any(made.has("max_seq_length", "max_length") for made in configs):
        yield _LENGTH
    if last >= _TRL_0_24 and not packed:
        yield _NEW_TEXTS


def _arguments(module: Module, made: Arguments) -> Iterator[Change]:
    decay = made.value("weight_decay")
    if decay is not None and constant(module, decay) not in (0, 0.0, None):
        yield Change(Outcome.REVIEW, decay, _DECAY)
    if era(module) is Era.OLD:
        return
    for name, inert in (("label_smoothing_factor", 0), ("neftune_noise_alpha", None)):
        value = made.value(name)
        if value is not None and constant(module, value) in (UNKNOWN, inert):
            continue
        if value is not None:
            message = f"{name} was accepted and ignored by releases 0.4.0 to 0.4.5; natively it takes effect."
            yield Change(Outcome.REVIEW, value, message)


_HEAD = "from optimum.neuron import NeuronTrainer, NeuronTrainingArguments\n\n"

CASES = (
    Case(
        "weight decay, order and seed",
        f'{_HEAD}args = NeuronTrainingArguments("out", weight_decay=0.1)\nNeuronTrainer(args=args)\n',
        outcomes=(Outcome.REVIEW, Outcome.REVIEW, Outcome.REVIEW),
    ),
    Case("no weight decay", f'{_HEAD}NeuronTrainingArguments("out", weight_decay=0.0)\n', outcomes=()),
    Case(
        "the native trainer",
        "from transformers import Trainer, TrainingArguments\n\n"
        'Trainer(args=TrainingArguments("out", weight_decay=0.1))\n',
    ),
)
