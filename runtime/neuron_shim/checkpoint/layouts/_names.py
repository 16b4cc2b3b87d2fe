"""Names of parameters, as metadata and files have them."""

from __future__ import annotations

import re

# PEFT keeps adapters in dictionaries by name; its files do not have that name
# (peft/utils/save_and_load.py, get_peft_model_state_dict).
_ADAPTER = re.compile(r"\.(lora_[A-Za-z_]+)\.(?!weight|bias|default$)[^.]+(?=\.(?:weight|bias))")
_PARAMETER = re.compile(r"\.(lora_embedding_[AB]|lora_magnitude_vector)\.(?!weight$)[^.]+$")
_KEPT = re.compile(r"\.modules_to_save\.[^.]+(?=\.)")
_WRAPPED = re.compile(r"\.(base_layer|original_module)(?=\.)")


def in_files(name: str) -> str:
    """The name of a parameter of a PEFT model as a file has it; any other name as it is."""
    name = _ADAPTER.sub(r".\1", name)
    name = _PARAMETER.sub(r".\1", name)
    return _WRAPPED.sub("", _KEPT.sub("", name))
