"""Load an exported model where there is only torch and transformers:  python -I reload.py FOLDER STATE

Prints the names of tensors that differ from those in the file STATE.
"""

from __future__ import annotations

import json
import sys

import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer


class NoShim:
    """Makes ``import neuron_shim`` fail, wherever it may be installed."""

    def find_spec(self, name: str, *_: object) -> None:
        if name.partition(".")[0] == "neuron_shim":
            raise ModuleNotFoundError(f"{name} must not be needed to load a checkpoint", name=name)


sys.meta_path.insert(0, NoShim())  # type: ignore[arg-type]
folder, state = sys.argv[1:]
model, info = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
AutoTokenizer.from_pretrained(folder)
expected, found = load_file(state), dict(model.state_dict())
assert not any(info[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys")), info
different = [name for name, value in expected.items() if not torch.equal(found[name], value)]
tied = model.lm_head.weight is model.model.embed_tokens.weight
print(json.dumps({"different": different, "compared": len(expected), "tied": tied}))
