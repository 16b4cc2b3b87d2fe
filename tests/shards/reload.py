"""Load a converted folder where there is only torch, transformers and safetensors:

python -I reload.py FOLDER REFERENCE [FOLDER REFERENCE ...]    models, and the original folder of each
python -I reload.py FOLDER REFERENCE ADAPTER                   an adapter on the original model, and the original one
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

folders = sys.argv[1:]
adapter = len(folders) == 3
HIDDEN = ["neuron_shim", "neuron_codemods", "neuron_migrate", "trl", "datasets", "diffusers"]
if not adapter:
    HIDDEN += ["peft", "accelerate"]
for name in HIDDEN:
    sys.modules[name] = None  # type: ignore[assignment]  # as if it were not installed

import torch  # noqa: E402
import transformers  # noqa: E402


def loaded(path: str) -> torch.nn.Module:
    config = json.loads(Path(path, "config.json").read_text(encoding="utf-8"))
    architecture = config["architectures"][0]
    model, info = getattr(transformers, architecture).from_pretrained(path, output_loading_info=True)
    assert not any(info[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys")), info
    return model.eval()


def logits(model: torch.nn.Module) -> torch.Tensor:
    words = torch.arange(2, 14).reshape(1, -1)
    also = {"decoder_input_ids": words} if getattr(model.config, "is_encoder_decoder", False) else {}
    with torch.no_grad():
        return model(words, **also).logits


def equal(found: torch.Tensor, wanted: torch.Tensor) -> bool:
    assert found.isfinite().all()
    return torch.equal(found, wanted)


if adapter:
    from peft import PeftModel

    folder, reference, original = folders
    found = logits(PeftModel.from_pretrained(loaded(reference), folder).eval())
    wanted = logits(PeftModel.from_pretrained(loaded(reference), original).eval())
    plain = logits(loaded(reference))
    assert not torch.equal(found, plain), "the adapter does nothing"
    told = {folder: equal(found, wanted)}
else:
    pairs = zip(folders[::2], folders[1::2], strict=True)
    told = {folder: equal(logits(loaded(folder)), logits(loaded(reference))) for folder, reference in pairs}
print(json.dumps(told))
