"""Old defaults that the native libraries changed, and the text that brings each back."""

from __future__ import annotations

from neuron_codemods.module import Module
from neuron_codemods.releases import Era, era
from neuron_codemods.targets import spelled
from neuron_codemods.training.parallel import loads
from neuron_codemods.training.precision import must_say_bf16
from neuron_codemods.values import ORPO_CONFIG, SFT_CONFIG, Arguments, constant, is_copied, literal

COMMON = {
    "average_tokens_across_devices": "False",
    "optim": '"adamw_torch"',
    "report_to": '"all"',
}
"""What every release had, against adamw_torch_fused, "none" and True natively."""

SINCE_0_4 = {
    "log_level": '"info"',
    "log_level_replica": '"critical"',
    "per_device_eval_batch_size": "1",
    "per_device_train_batch_size": "1",
}
"""What 0.4.0 to 0.4.5 had, against passive, warning and 8 natively ("silent" is no level there)."""

SFT = {
    "activation_checkpointing": "False",
    "bf16": "False",
    "learning_rate": "5e-5",
    "logging_steps": "500",
}
"""What an SFTConfig that is built directly had, against True, True, 2e-5 and 10 natively."""

ORPO = {**SFT, "max_length": "512"}
"""What an ORPOConfig that is built directly had, against True, None, 1e-6, 10 and 1024 natively; the trainer took None
for 512."""

OLD_NAMES = {
    "activation_checkpointing": "gradient_checkpointing",
    "max_length": "max_seq_length",
    "per_device_train_batch_size": "per_gpu_train_batch_size",
    "per_device_eval_batch_size": "per_gpu_eval_batch_size",
}


def changed(module: Module, made: Arguments) -> dict[str, str]:
    """The defaults that training arguments relied on and that have to be spelled out, by keyword."""
    wanted = dict(COMMON)
    if era(module) is Era.NEW and made.is_neuron:
        wanted.update(SINCE_0_4)
    if made.native == SFT_CONFIG:
        wanted.update(SFT)
        if made.is_parsed:
            wanted["packing_strategy"] = '"wrapped"'
    if made.native == ORPO_CONFIG:
        wanted.update(ORPO)
    if may_be_tensor_parallel(module):
        wanted.pop("average_tokens_across_devices")
    wanted = {name: text for name, text in wanted.items() if name not in made.own}
    if not made.is_parsed:
        wanted = {name: text for name, text in wanted.items() if not _is_given(made, name)}
        if must_say_bf16(module, made):
            wanted["bf16"] = "True"
        if "True" in (wanted.get("bf16"), repr(constant(module, made.value("bf16")))) and not made.has("use_cpu"):
            wanted["use_cpu"] = ""
    return dict(sorted((spelled(module.project, name), text) for name, text in wanted.items()))


def may_be_tensor_parallel(module: Module) -> bool:
    """Whether a model of this module may be split by tensor parallelism.

    The old way of averaging the loss must then not be asked for: with average_tokens_across_devices=False transformers
    5.24 divides the number of tokens by the tensor parallel size without having summed it over the ranks
    (``Trainer._get_num_items_in_batch``), which multiplies losses and gradients.
    """
    return any(load.is_sharded and not load.is_lora and load.size.known != 1 for load in loads(module))


def _is_given(made: Arguments, name: str) -> bool:
    if name == "optim" and made.has("adafactor"):
        return True
    return made.has(name, OLD_NAMES.get(name, name))


def is_copy(module: Module, made: Arguments) -> bool:
    """Whether arguments are made from others: ``SFTConfig(**training_args.to_dict())``."""
    return any(is_copied(module, item.value) for item in made.unread)


def saves_only_model(module: Module, made: Arguments) -> bool:
    """Whether checkpoints must do without the optimizer: the model is sharded where it is loaded, and saved."""
    if not any(load.is_sharded for load in loads(module)):
        return False
    if made.is_parsed:
        return True
    strategy = made.value("save_strategy")
    return literal(strategy) != "no" and not made.has("save_only_model")
