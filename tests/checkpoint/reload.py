"""Load an exported model where there is only torch and transformers:  python -I reload.py FOLDER STATE

Prints the names of tensors that differ from those in the file STATE.
"""

from __future__ import annotations

import importlib.util
import json
import sys

import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

folder, state = sys.argv[1:]
assert importlib.util.find_spec("neuron_shim") is None
model, info = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
AutoTokenizer.from_pretrained(folder)
expected, found = load_file(state), dict(model.state_dict())
assert not any(info[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys")), info
different = [name for name, value in expected.items() if not torch.equal(found[name], value)]
tied = model.lm_head.weight is model.model.embed_tokens.weight
print(json.dumps({"different": different, "compared": len(expected), "tied": tied}))
