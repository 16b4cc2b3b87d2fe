"""What transformers knows about a model before any weight is loaded: names, shapes, which tensors are tied."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.errors import ExportError

if TYPE_CHECKING:
    from collections.abc import Mapping


def architectures(config: Mapping[str, Any]) -> list[str]:
    names = config.get("architectures")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def empty_model(config: Mapping[str, Any]) -> Any | None:
    """The model of a config, without storage; None if it is not one of transformers' own (custom code).

    Raises:
        ExportError: it is one of transformers' own, which can make nothing of this config.
    """
    names = architectures(config)
    if len(names) != 1 or config.get("auto_map"):
        return None
    try:
        import torch
        import transformers
    except ImportError:
        return None
    model_class = getattr(transformers, names[0], None)
    if model_class is None or not issubclass(model_class, transformers.PreTrainedModel):
        return None
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(dict(config)), encoding="utf-8")
        verbosity = transformers.logging.get_verbosity()
        transformers.logging.set_verbosity_error()  # nobody asked what it thinks of the config
        try:
            loaded = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False)
            with torch.device("meta"):
                return model_class(loaded)
        except Exception as error:  # whatever its code for this model raises
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ExportError(
                f"config.json is damaged or of another release: transformers {transformers.__version__} makes no "
                f"{names[0]} of it ({reason})."
            ) from error
        finally:
            transformers.logging.set_verbosity(verbosity)


def known_model(config: Mapping[str, Any]) -> Any | None:
    """The model without storage, or None if there is none to compare with."""
    try:
        return empty_model(config)
    except ExportError:
        return None


def tied_names(model: Any) -> dict[str, str]:
    """Name of each tensor that is only another name, and the one that is kept."""
    return dict(getattr(model, "all_tied_weights_keys", None) or {})
