"""Load a saved folder with the plain libraries, and compare it with the weights that were trained.

    python -I reload.py CLASS FOLDER TRAINED.safetensors

CLASS is a name in transformers, or in peft if transformers has none such. The result is one line of JSON.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any


class NoShim:
    """Makes ``import neuron_shim`` fail, wherever it may be installed."""

    def find_spec(self, name: str, *_: Any) -> None:
        if name.partition(".")[0] in {"neuron_shim", "neuron_migrate", "neuron_codemods"}:
            raise ModuleNotFoundError(f"{name} must not be needed to load a checkpoint", name=name)


def main() -> None:
    sys.meta_path.insert(0, NoShim())
    loader, folder, trained_file = sys.argv[1:]
    from safetensors.torch import load_file

    module = importlib.import_module("transformers" if not loader.startswith("AutoPeft") else "peft")
    model = getattr(module, loader).from_pretrained(folder)
    loaded = {name: value.detach() for name, value in model.named_parameters()}
    trained = load_file(trained_file)
    both = sorted(loaded.keys() & trained.keys())
    result = {
        "loaded": len(loaded),
        "trained": len(trained),
        "only_in_one": sorted(loaded.keys() ^ trained.keys()),
        "other_shape_or_dtype": [
            name
            for name in both
            if (loaded[name].shape, loaded[name].dtype) != (trained[name].shape, trained[name].dtype)
        ],
        "unequal": [name for name in both if not loaded[name].equal(trained[name])],
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
