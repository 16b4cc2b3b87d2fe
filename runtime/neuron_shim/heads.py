"""Whether a tensor parallel size divides the attention heads of a model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedConfig


def check_heads(model: str | os.PathLike[str] | PreTrainedConfig, *, tp_size: int, world: int) -> None:
    """Refuse a ``tp_size`` that leaves a process with a part of a head.

    For ``tp_size`` 1 nothing is read. A model that names no heads, or whose attention transformers does not shard,
    takes any size.

    Raises:
        ValueError: ``tp_size`` does not divide a number of heads; the message has the numbers and the sizes that work.
    """
    if tp_size == 1:
        return
    config = _text_config(_config(model))
    if not _attention_is_sharded(config):
        return
    heads = {name: _heads(config, name) for name in ("num_attention_heads", "num_key_value_heads")}
    known = {name: number for name, number in heads.items() if number is not None}
    if all(number % tp_size == 0 for number in known.values()):
        return
    works = [n for n in range(1, world + 1) if world % n == 0 and all(number % n == 0 for number in known.values())]
    raise ValueError(
        f"tp_size {tp_size} does not divide the heads of {_name(model)}: "
        f"{', '.join(f'{name} is {number}' for name, number in known.items())}. "
        f"With the {world} processes of this run these sizes work: {', '.join(map(str, works))} "
        f"(set TP_SIZE={works[-1]} to use the largest)."
    )


def _config(model: str | os.PathLike[str] | PreTrainedConfig) -> Any:
    """The config of ``model``, or None if it can only be read with arguments that the shim does not have."""
    if not isinstance(model, (str, os.PathLike)):
        return model
    from transformers import AutoConfig

    try:
        # False and not the default: that would ask on the terminal, in every process, whether to run custom code.
        return AutoConfig.from_pretrained(model, trust_remote_code=False)
    except (OSError, ValueError):
        # Left to from_pretrained, which says what is wrong and knows the token, the revision and the like.
        return None


def _text_config(config: Any) -> Any:
    """The part of a multimodal config that describes the language model (transformers/configuration_utils.py)."""
    get_text_config = getattr(config, "get_text_config", None)
    if get_text_config is None:
        return getattr(config, "text_config", None) or config
    try:
        return get_text_config()
    except ValueError:  # several text models, such as musicgen's encoder and decoder
        return None


def _attention_is_sharded(config: Any) -> bool:
    """Whether the plan of the model gives each process its own heads.

    Some plans leave attention alone (gpt_oss) or gather the projections before the heads are formed (olmo2, phi3:
    "colwise_gather_output"); there any size works. A config without a plan is taken to shard them: the plan can also
    be given by hand.
    """
    plan = getattr(config, "base_model_tp_plan", None)
    if plan is None:
        return True
    return any(style == "colwise" and ("attn" in name or "attention" in name) for name, style in plan.items())


def _heads(config: Any, name: str) -> int | None:
    try:
        number = getattr(config, name, None)
    except RuntimeError:  # differs from layer to layer (transformers' AmbiguousGlobalPerLayerAttributeError)
        return None
    return number if isinstance(number, int) else None


def _name(model: str | os.PathLike[str] | PreTrainedConfig) -> str:
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    return getattr(model, "_name_or_path", None) or type(model).__name__
