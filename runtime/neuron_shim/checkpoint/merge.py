"""Put an adapter into the weights of its model, a layer at a time.

The arithmetic is PEFT's own: the PEFT model is built without storage, and each of its layers is given its base weights
only while they are merged. So every kind of adapter whose layers can merge (LoRA, DoRA, rsLoRA, IA3, ...) comes out as
``PeftModel.from_pretrained(...).merge_and_unload()`` makes it, to the bit. In memory are the adapter and one layer:
its weight, and the two float32 copies of it that PEFT makes.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.architecture import known_model, tied_names
from neuron_shim.checkpoint.dtypes import code_of
from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.tensors import Tensor, buffers_of, whole
from neuron_shim.environment import is_main_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from neuron_shim.checkpoint.source import Checkpoint

# Their initialisation takes something out of the base weights (peft/tuners/lora/layer.py, reset_lora_parameters).
CHANGES_THE_BASE = ("pissa", "olora", "corda", "loftq")


def merged(adapter: Checkpoint, base: Checkpoint) -> Checkpoint:
    """The model with the adapter in it, as a checkpoint that can be exported.

    Collective if one of the two is: every rank has the adapter, and reads the same tensors in the same order.

    Raises:
        ExportError: this adapter cannot be merged, or does not belong to this model.
    """
    _refuse(adapter, base)
    values = {tensor.name: whole(tensor) for tensor in adapter.tensors}
    peft_model = _peft_model(adapter, base, values)
    plan = _Plan(peft_model, {tensor.name: tensor for tensor in base.tensors})
    config = _untied(base.config) if plan.unties else base.config
    notes = [f"The adapter changes {plan.changed} of {len(base.tensors)} tensors."]
    if plan.unties:
        notes.append("The adapter gives the tied embeddings different weights: tie_word_embeddings is now false.")
    return replace(
        base,
        layout=f"{adapter.layout}, merged into {base.layout}",
        tensors=plan.tensors,
        config=config,
        companions={**base.companions, **adapter.companions},
        left_behind=adapter.left_behind,
        notes=(*base.notes, *notes),
        independent=False,
    )


def _refuse(adapter: Checkpoint, base: Checkpoint) -> None:
    initial = adapter.config.get("init_lora_weights")
    if isinstance(initial, str) and initial.lower().startswith(CHANGES_THE_BASE):
        raise ExportError(
            f"The adapter was initialised with {initial}, which changes the base weights as well. Convert it to plain "
            f"LoRA first (PeftModel.save_pretrained, path_initial_model_for_weight_conversion)."
        )
    if adapter.config.get("trainable_token_indices"):
        raise ExportError("The adapter has trainable_token_indices, which are not merged here: merge it with PEFT.")
    if base.config.get("quantization_config"):
        raise ExportError("The base model is quantized: merge the adapter into the original weights.")
    if base.is_adapter:
        raise ExportError("The base of the merge is an adapter itself, not a model.")


def _peft_model(adapter: Checkpoint, base: Checkpoint, values: Mapping[str, Any]) -> Any:
    """The PEFT model on the meta device, its adapter filled in."""
    model = known_model(base.config)
    if model is None:
        raise ExportError(
            f"The architecture {base.config.get('architectures')} is not one of transformers' own: load the model, "
            f"then merge with PeftModel.merge_and_unload()."
        )
    from peft import PeftModel, get_peft_config, set_peft_model_state_dict
    from peft.tuners.tuners_utils import cast_adapter_dtype

    settings = {**adapter.config, "inference_mode": True}
    if "init_lora_weights" in settings:
        settings["init_lora_weights"] = True
    config = get_peft_config(settings)
    if config.is_prompt_learning:
        raise ExportError(f"A {adapter.config.get('peft_type')} adapter has no weights that could be merged.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are about training, and about tied embeddings, which are seen to here
        peft_model = PeftModel(model, config, low_cpu_mem_usage=True)
        peft_model.eval()
        for module in peft_model.modules():
            if hasattr(module, "_move_adapter_to_device_of_base_layer"):
                # It would follow the base, which has no storage, and lose the values.
                module._move_adapter_to_device_of_base_layer = _stay
        result: Any = set_peft_model_state_dict(peft_model, dict(values), low_cpu_mem_usage=True)
    if result.unexpected_keys:
        raise ExportError(
            f"{result.unexpected_keys[0]} and {len(result.unexpected_keys) - 1} more tensors of the adapter have no "
            f"place in {type(model).__name__}: it was trained on another model."
        )
    unset = [
        name
        for name, value in peft_model.named_parameters()
        if value.is_meta and (peft_model.base_model.prefix in name or ".modules_to_save." in name)
    ]
    if unset:
        raise ExportError(f"The adapter lacks {unset[0]} and {len(unset) - 1} more tensors that its config promises.")
    cast_adapter_dtype(peft_model, "default")  # as PeftModel.from_pretrained does
    return peft_model


def _stay(*_: Any, **__: Any) -> None:
    pass


class _Plan:
    """For each tensor of the model: as it is, merged, or replaced by one of the adapter."""

    def __init__(self, peft_model: Any, base: Mapping[str, Tensor]) -> None:
        self._base = base
        self._ties = tied_names(peft_model.get_base_model())
        merged_layers, replaced = self._changes(peft_model.get_base_model())
        self.changed = len(merged_layers) + len(replaced)
        result = dict(base)
        for name, layer in merged_layers.items():
            result[name] = replace(base[name], pieces=_merged_pieces(layer, name))
        for name, value in replaced.items():
            result[name] = _replacement(name, value, base.get(name))
        self.unties = False
        for name, kept in self._ties.items():
            if name not in base and kept in base and {name, kept} & replaced.keys():
                result.setdefault(name, base[kept].renamed(name))
                self.unties = True
        self.tensors = tuple(result.values())

    def _changes(self, model: Any) -> tuple[dict[str, _Layer], dict[str, Any]]:
        from peft.tuners.tuners_utils import BaseTunerLayer
        from peft.utils.other import ModulesToSaveWrapper

        merged_layers: dict[str, _Layer] = {}
        replaced: dict[str, Any] = {}
        for path, module in model.named_modules():
            if isinstance(module, ModulesToSaveWrapper):
                for name, value in module.modules_to_save["default"].named_parameters():
                    replaced[f"{path}.{name}"] = value
            elif isinstance(module, BaseTunerLayer):
                layer = _Layer(module, path, self._base)
                for name in layer.names:
                    self._check(name)
                    merged_layers[name] = layer
        for name, value in model.named_parameters():
            plain = name.replace(".base_layer.", ".").replace(".original_module.", ".")
            if not value.is_meta and plain in self._base and plain not in merged_layers:
                replaced.setdefault(plain, value)  # a bias that was trained along
        return merged_layers, replaced

    def _check(self, name: str) -> None:
        if name not in self._base:
            tie = f" (it is tied to {self._ties[name]})" if name in self._ties else ""
            raise ExportError(
                f"The adapter changes {name}, which the base does not hold{tie}: use PEFT's merge_and_unload."
            )


class _Layer:
    """A layer with an adapter. Reading one of its parameters merges them all; the others are held for their turn."""

    def __init__(self, module: Any, path: str, base: Mapping[str, Tensor]) -> None:
        self._module, self._path, self._base = module, path, base
        self._results: dict[str, Any] = {}
        self.names = [f"{path}.{name}" for name, _ in module.get_base_layer().named_parameters()]

    def value(self, name: str) -> Any:
        if name not in self._results:
            self._results = self._merge()
        return self._results.pop(name)

    def _merge(self) -> dict[str, Any]:
        import torch

        layer = self._module.get_base_layer()
        loaded = {name: whole(self._base[name]) for name in self.names}
        if any(value is None for value in loaded.values()):  # a rank that does not write
            return dict.fromkeys(loaded)
        before = dict(layer.named_parameters())
        for name, value in before.items():
            if value.is_meta:  # the others came with the adapter
                _set(layer, name, torch.nn.Parameter(loaded[f"{self._path}.{name}"], requires_grad=False))
        with torch.no_grad():
            self._module.merge()
        self._module.merged_adapters.clear()
        results = {f"{self._path}.{name}": layer.get_parameter(name).detach() for name in before}
        for name, value in before.items():
            _set(layer, name, value)
        return results


def _set(module: Any, name: str, value: Any) -> None:
    path, _, last = name.rpartition(".")
    setattr(module.get_submodule(path), last, value)


def _merged_pieces(layer: _Layer, name: str) -> Callable[[], Iterator[Any]]:
    def pieces() -> Iterator[Any]:
        value = layer.value(name)
        if value is not None:
            yield from buffers_of(value)

    return pieces


def _replacement(name: str, value: Any, base: Tensor | None) -> Tensor:
    """A tensor that the adapter holds whole. Every rank has it, and the one that writes takes it."""

    def pieces() -> Iterator[Any]:
        if is_main_process():
            yield from buffers_of(value)

    origin = base.origin if base else "the adapter"
    return Tensor(name, code_of(value.dtype), tuple(value.shape), origin, pieces)


def _untied(config: Mapping[str, Any]) -> dict[str, Any]:
    changed = {name: _untied(value) if isinstance(value, dict) else value for name, value in config.items()}
    if changed.get("tie_word_embeddings", False) or "vocab_size" in changed:
        changed["tie_word_embeddings"] = False
    return changed
