"""The config that is written beside the weights."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.dtypes import WEIGHT_DTYPES, torch_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from neuron_shim.checkpoint.source import Checkpoint
    from neuron_shim.checkpoint.tensors import Tensor

# How the run was spread says nothing about the weights any more.
OF_THE_RUN = ("distributed_config", "device_map", "neuron")


def finished_config(checkpoint: Checkpoint, tensors: Sequence[Tensor], *, asked: bool) -> Checkpoint:
    """With the dtype that the weights have: transformers 5 loads a model in the dtype that its config names."""
    if checkpoint.is_adapter:
        return checkpoint
    config = {name: value for name, value in checkpoint.config.items() if name not in OF_THE_RUN}
    notes = []
    stored = _most_common(tensors)
    if stored is not None and not config.get("quantization_config"):
        told = config.get("dtype") or config.get("torch_dtype")
        if asked:
            config = _with_dtype(config, stored, instead_of=None)
        elif told is not None and told != stored:
            notes.append(f"config.json says {stored} now, as the weights are; it said {told}.")
            config = _with_dtype(config, stored, instead_of=told)
        if told is None:
            config["dtype"] = stored
    return replace(checkpoint, config=config, notes=(*checkpoint.notes, *notes))


def _most_common(tensors: Sequence[Tensor]) -> str | None:
    sizes: Counter[str] = Counter()
    for tensor in tensors:
        if tensor.dtype in WEIGHT_DTYPES:
            sizes[tensor.dtype] += tensor.nbytes
    return torch_name(sizes.most_common(1)[0][0]) if sizes else None


def _with_dtype(config: Mapping[str, Any], dtype: str, *, instead_of: str | None) -> dict[str, Any]:
    """The config, and those of its parts (text_config, vision_config), with another dtype where they name one."""

    def changed(name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return _with_dtype(value, dtype, instead_of=instead_of)
        names_one = name in ("dtype", "torch_dtype") and value is not None and instead_of in (None, value)
        return dtype if names_one else value

    return {name: changed(name, value) for name, value in config.items()}
