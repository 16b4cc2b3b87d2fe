"""One use of each name and keyword of the training side, as the smallest script that has it."""

from __future__ import annotations

from dataclasses import dataclass

from neuron_codemods.data import Keyword

OWNERS = (
    *("training_arguments", "sft_config", "orpo_config", "trainer", "sft_trainer", "orpo_trainer"),
    *("training_config", "training_model", "mixed_precision_config", "accelerator", "argument_parser"),
    *("lazy_load", "lazy_optimizer", "parallelizer", "consolidate", "lora_config", "peft_model"),
)
"""The owners in the table of keywords that are about training."""

_CLASSES = {
    "training_arguments": "NeuronTrainingArguments",
    "sft_config": "NeuronSFTConfig",
    "orpo_config": "NeuronORPOConfig",
    "trainer": "NeuronTrainer",
    "sft_trainer": "NeuronSFTTrainer",
    "orpo_trainer": "NeuronORPOTrainer",
}
_VALUES = {
    "evaluation_strategy": '"epoch"',
    "logging_dir": '"logs"',
    "mode": '"FULL_BF16"',
    "attn_implementation": '"flash_attention_2"',
    "formatting_func": "lambda rows: [row for row in rows]",
}
_MODELS = "from optimum.neuron.models.training import NeuronModelForCausalLM, TrainingNeuronConfig\n\n"
_CONSOLIDATE = "consolidate_model_parallel_checkpoints_to_unified_checkpoint"


@dataclass(frozen=True)
class Use:
    """A script with one use of a name, and how that use is written."""

    script: str
    written: str


def use(row: Keyword, name: str) -> Use:
    """The use of one spelling of a row of the table of keywords."""
    value = _VALUES.get(name, "7")
    given = f"{name}={value}" if row.keyword else ""
    member = row.members[0] if row.keyword else name
    return _BY_OWNER[row.owner](row, member, given)


def _arguments(row: Keyword, member: str, given: str) -> Use:
    cls = _CLASSES[row.owner]
    head = f'from optimum.neuron import {cls}\n\nargs = {cls}("out"{", " + given if given else ""})\n'
    if given:
        return Use(head, given)
    if member == "world_size_as_dp_size":
        return Use(f"{head}with args.{member}():\n    print(1)\n", f"args.{member}")
    return Use(f"{head}print(args.{member})\n", f"args.{member}")


def _trainer(row: Keyword, member: str, given: str) -> Use:
    cls = _CLASSES[row.owner]
    if given:
        return Use(f"from optimum.neuron import {cls}\n\ntrainer = {cls}(model=model, {given})\n", given)
    if member in ("compute_loss", "concatenated_forward", "_prepare_non_packed_dataloader"):
        body = f"class MyTrainer({cls}):\n    def {member}(self, model, inputs):\n        pass\n"
        return Use(f"from optimum.neuron import {cls}\n\n\n{body}", f"{member}(self, model, inputs)")
    return Use(
        f"from optimum.neuron import {cls}\n\ntrainer = {cls}(model=model)\ntrainer.{member}()\n", f"trainer.{member}"
    )


def _config(row: Keyword, member: str, given: str) -> Use:
    sizes = given if "tensor_parallel_size" in given else f"tensor_parallel_size=8{', ' + given if given else ''}"
    script = (
        f'{_MODELS}config = TrainingNeuronConfig({sizes})\nm = NeuronModelForCausalLM.from_pretrained("m", config)\n'
    )
    return Use(script, given) if given else Use(f"{script}print(config.{member})\n", f"config.{member}")


def _model(row: Keyword, member: str, given: str) -> Use:
    if member in ("from_pretrained", "from_config"):
        return Use(f'{_MODELS}model = NeuronModelForCausalLM.{member}("m", {given})\n', given)
    head = f'{_MODELS}model = NeuronModelForCausalLM.from_pretrained("m", config)\n'
    return Use(f'{head}model.{member}("out"{", " + given if given else ""})\n', given or f"model.{member}")


def _accelerator(row: Keyword, member: str, given: str) -> Use:
    head = "from optimum.neuron import NeuronAccelerator\n\n"
    if member == "__init__":
        return Use(f"{head}accelerator = NeuronAccelerator({given})\n", given)
    call = f"accelerator.{member}(x{', ' + given if given else ''})"
    return Use(f"{head}accelerator = NeuronAccelerator()\n{call}\n", given or f"accelerator.{member}")


def _parser(row: Keyword, member: str, given: str) -> Use:
    names = "NeuronHfArgumentParser, NeuronTrainingArguments"
    head = f"from optimum.neuron import {names}\n\nparser = NeuronHfArgumentParser(NeuronTrainingArguments)\n"
    return Use(f"{head}args = parser.{member}()\n", f"parser.{member}")


def _lazy_load(row: Keyword, member: str, given: str) -> Use:
    head = "from optimum.neuron.distributed import lazy_load_for_parallelism\n\n"
    return Use(f"{head}with lazy_load_for_parallelism({given}):\n    load()\n", given)


def _lazy_optimizer(row: Keyword, member: str, given: str) -> Use:
    head = "from optimum.neuron.distributed import make_optimizer_constructor_lazy\n\n"
    return Use(f"{head}AdamW = make_optimizer_constructor_lazy({given})\n", given)


def _precision(row: Keyword, member: str, given: str) -> Use:
    head = "from optimum.neuron.accelerate import NeuronAccelerator\n"
    head += "from optimum.neuron.accelerate.utils import MixedPrecisionConfig\n"
    mode = given if given.startswith("mode") else f'mode="FULL_BF16", {given}'
    return Use(f"{head}\nNeuronAccelerator(mixed_precision_config=MixedPrecisionConfig({mode}))\n", given)


def _consolidate(row: Keyword, member: str, given: str) -> Use:
    return Use(f"from optimum.neuron.distributed import {_CONSOLIDATE}\n\n{_CONSOLIDATE}({given})\n", given)


def _lora(row: Keyword, member: str, given: str) -> Use:
    script = (
        "from optimum.neuron import NeuronTrainer\nfrom optimum.neuron.models.training import NeuronModelForCausalLM\n"
        f'from peft import LoraConfig\n\nmodel = NeuronModelForCausalLM.from_pretrained("m", config)\n'
        f"lora = LoraConfig({given})\nNeuronTrainer(model=model)\n"
    )
    return Use(script, given)


def _adapters(row: Keyword, member: str, given: str) -> Use:
    head = "from optimum.neuron.peft import get_peft_model\n\nmodel = get_peft_model(base, config)\n"
    return Use(f'{head}model.{member}("out"{", " + given if given else ""})\n', given or f"model.{member}")


def _parallelizer(row: Keyword, member: str, given: str) -> Use:
    head = "from optimum.neuron.distributed import ParallelizersManager\n\n"
    make = "parallelizer = ParallelizersManager.parallelizer_for_model(model)\n"
    call = f"parallelizer.{member}(model{', ' + given if given else ''})"
    return Use(f"{head}{make}{call}\n", given or f"parallelizer.{member}")


_BY_OWNER = {
    **dict.fromkeys(("training_arguments", "sft_config", "orpo_config"), _arguments),
    **dict.fromkeys(("trainer", "sft_trainer", "orpo_trainer"), _trainer),
    "training_config": _config,
    "training_model": _model,
    "mixed_precision_config": _precision,
    "accelerator": _accelerator,
    "argument_parser": _parser,
    "lazy_load": _lazy_load,
    "lazy_optimizer": _lazy_optimizer,
    "parallelizer": _parallelizer,
    "consolidate": _consolidate,
    "lora_config": _lora,
    "peft_model": _adapters,
}
