"""The model that the shards are of: its config, with what the old releases left wrong put right, and its shapes."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.architecture import architectures, empty_model, tied_names
from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.source import CONFIG

if TYPE_CHECKING:
    from collections.abc import Mapping

GENERATION = "generation_config.json"
OF_NEURON = ("neuron", "neuron_config", "_attn_implementation_autoset", "_attn_implementation_internal")


@dataclass(frozen=True)
class Target:
    """``model`` has no storage; it is None for custom code, whose shapes nobody knows."""

    config: Mapping[str, Any]
    notes: tuple[str, ...]
    model: Any = None

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        if self.model is None:
            return {}
        return {name: tuple(value.shape) for name, value in self.model.state_dict().items()}

    @property
    def required(self) -> set[str]:
        """Parameters, without those that are only another name of one."""
        if self.model is None:
            return set()
        return {name for name, _ in self.model.named_parameters()} - set(self.ties)

    @property
    def ties(self) -> dict[str, str]:
        return {} if self.model is None else tied_names(self.model)

    @property
    def kind(self) -> str:
        return "the model" if self.model is None else type(self.model).__name__

    @property
    def kv_heads(self) -> int | None:
        """Key/value heads, where there are fewer of them than query heads."""
        number = self.config.get("num_key_value_heads")
        return number if isinstance(number, int) else None

    @property
    def embedding(self) -> str | None:
        """The name of the tensor with a row for each word."""
        try:
            found = self.model.get_input_embeddings().weight
        except (AttributeError, NotImplementedError):
            return None
        return next((name for name, value in self.model.named_parameters() if value is found), None)

    def with_setting(self, name: str, value: Any, note: str) -> Target:
        config = {**self.config, name: value}
        return replace(self, config=config, notes=(*self.notes, note), model=empty_model(config))

    def files(self) -> tuple[Mapping[str, Any], dict[str, bytes]]:
        """The config, and the generation config if it can generate, as ``save_pretrained`` writes them."""
        if self.model is None:
            return self.config, {}
        files: dict[str, bytes] = {}
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.model.config.save_pretrained(folder)
            config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
            config["architectures"] = [self.kind]
            told = self.config.get("dtype") or self.config.get("torch_dtype")
            if told is not None:
                config["dtype"] = told
            if self.model.can_generate():
                try:
                    self.model.generation_config.save_pretrained(folder)
                except ValueError:  # settings that this release does not let pass
                    return config, {}
                files[GENERATION] = (folder / GENERATION).read_bytes()
        return config, files


def target_of(config: Mapping[str, Any]) -> Target:
    """The model that a config describes.

    Raises:
        ExportError: it describes none, or one that cannot be made.
    """
    repaired, notes = _repaired(config)
    named = ", ".join(architectures(repaired)) or "none"
    if named == "none" and not isinstance(repaired.get("model_type"), str):
        raise ExportError("config.json names neither an architecture nor a model_type, so it is of no model.")
    model = empty_model(repaired)
    if model is None:
        notes.append(
            f"The architecture ({named}) is not one of transformers' own: shapes and missing tensors were not checked."
        )
    return Target(repaired, tuple(notes), model)


def _repaired(config: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The config without what Optimum Neuron left in it."""
    repaired = {name: value for name, value in config.items() if name not in OF_NEURON}
    notes = []
    if repaired.get("use_cache") is False:
        repaired["use_cache"] = True
        notes.append("config.json says use_cache: true now; training had turned it off.")
    model_type = _model_type(repaired)
    if model_type is not None and model_type != repaired.get("model_type"):
        notes.append(
            f"config.json says model_type: {model_type} now, as its architecture has; it said "
            f"{repaired.get('model_type')}."
        )
        repaired["model_type"] = model_type
    return repaired, notes


def _model_type(config: Mapping[str, Any]) -> str | None:
    """Of the architecture: Optimum Neuron 0.4 wrote "llama" for Granite, whose multipliers are lost with that."""
    names = architectures(config)
    if len(names) != 1 or config.get("auto_map"):
        return None
    import transformers

    found = getattr(getattr(transformers, names[0], None), "config_class", None)
    return getattr(found, "model_type", None) or None
