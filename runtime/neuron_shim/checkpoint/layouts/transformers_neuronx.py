"""A decoder that was exported with Optimum Neuron 0.0.10 to 0.2.0 for inference: the original model is in checkpoint/.

Up to 0.0.21 each tensor is a file of torch.save, named in pytorch_model.bin/key_to_filename.json; later releases wrote
what ``save_pretrained`` writes. Where the model came from the hub, newer ones only noted its name.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.companions import has_tokenizer, tokenizer_in
from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.layouts import Request, config_of, trainer_folder
from neuron_shim.checkpoint.layouts._assembly import model_of
from neuron_shim.checkpoint.layouts._consolidation import Whole
from neuron_shim.checkpoint.layouts._target import target_of
from neuron_shim.checkpoint.source import CONFIG, read_json
from neuron_shim.checkpoint.stored import Stored, whole
from neuron_shim.checkpoint.torch_file import read_torch_file

if TYPE_CHECKING:
    from neuron_shim.checkpoint.source import Checkpoint

NAME = "a decoder exported by Optimum Neuron 0.0.10 to 0.2 for inference"
FOLDER = "checkpoint"
COMPILED = "compiled"
BIN = "pytorch_model.bin"
BIN_INDEX = "pytorch_model.bin.index.json"
SPLIT = "key_to_filename.json"


def evidence(source: Any) -> tuple[str, ...]:
    if not isinstance(source, Path):
        return ()
    folder = source / FOLDER
    names = (BIN, BIN_INDEX, trainer_folder.SINGLE, trainer_folder.INDEX, CONFIG)
    found = tuple(f"{FOLDER}/{name}" for name in names if (folder / name).exists())
    if found or not (source / COMPILED).is_dir() or trainer_folder.evidence(source):
        return found
    return (f"{COMPILED}/",)


def open_checkpoint(source: Path, request: Request) -> Checkpoint:
    folder = source / FOLDER
    if not folder.is_dir():
        raise ExportError(_without_weights(source))
    lent = request if (folder / CONFIG).is_file() else replace(request, config_from=request.config_from or source)
    if trainer_folder.evidence(folder):
        checkpoint = trainer_folder.open_checkpoint(folder, lent)
        companions = dict(checkpoint.companions)
        if not has_tokenizer(companions):
            companions |= tokenizer_in(source)
        return replace(checkpoint, layout=NAME, companions=companions)
    target = target_of(config_of(folder, lent))
    tensors = _tensors(folder)
    if target.model is not None:
        tensors = {name: some for name, some in tensors.items() if name in target.shapes}
    wholes = [Whole(name, 0, ((whole(some),),), "as it is") for name, some in tensors.items()]
    return model_of(NAME, source, wholes, target, request, [])


def _tensors(folder: Path) -> dict[str, Stored]:
    """Of pickled checkpoints, which are read without running them."""
    if (folder / BIN / SPLIT).is_file():
        files = read_json(folder / BIN / SPLIT)
        return {name: _tensor(folder / BIN, file) for name, file in files.items()}
    if (folder / BIN_INDEX).is_file():
        names = sorted(set(read_json(folder / BIN_INDEX).get("weight_map", {}).values()))
    else:
        names = [BIN]
    found: dict[str, Stored] = {}
    for name in names:
        content = read_torch_file(folder / Path(str(name)).name)
        if not isinstance(content, dict):
            raise ExportError(f"{folder / str(name)} holds no tensors by name.")
        found |= {key: value for key, value in content.items() if isinstance(value, Stored)}
    return found


def _tensor(folder: Path, file: Any) -> Stored:
    path = folder / Path(str(file)).name
    value = read_torch_file(path)
    if not isinstance(value, Stored):
        raise ExportError(f"{path} holds no tensor.")
    return value


def _without_weights(source: Path) -> str:
    neuron = read_json(source / CONFIG).get("neuron") if (source / CONFIG).is_file() else None
    named = neuron.get("checkpoint_id") if isinstance(neuron, dict) else None
    if not named or not isinstance(neuron, dict):
        return f"{source} holds compiled graphs and no weights: load the model that it was exported from."
    revision = neuron.get("checkpoint_revision")
    at = f" at revision {revision}" if revision else ""
    return f"{source} holds compiled graphs and no weights; they are those of {named}{at}: load that."
