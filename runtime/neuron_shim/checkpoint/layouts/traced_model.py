"""A model that was traced for inference: model.neuron, a TorchScript file.

The weights are in it, under names with ``->`` for the dots, if they were not put into the compiled program
(``--disable-weights-neff-inline``, the default of the command from 0.0.21 on). Inside the program they are constants
in the compiler's own arrangement, which nobody can take out again.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.layouts import Request, config_of
from neuron_shim.checkpoint.layouts._assembly import model_of
from neuron_shim.checkpoint.layouts._consolidation import Whole
from neuron_shim.checkpoint.layouts._target import target_of
from neuron_shim.checkpoint.source import CONFIG, read_json
from neuron_shim.checkpoint.stored import Stored, whole
from neuron_shim.checkpoint.torch_file import read_script_tensors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from neuron_shim.checkpoint.source import Checkpoint

NAME = "a model traced by Optimum Neuron for inference"
TRACED = "model.neuron"


def evidence(source: Any) -> tuple[str, ...]:
    if not isinstance(source, Path):
        return ()
    if (source / TRACED).is_file():
        return (TRACED,)
    return tuple(f"{path.parent.name}/{TRACED}" for path in sorted(source.glob(f"*/{TRACED}")))


def open_checkpoint(source: Path, request: Request) -> Checkpoint:
    path = source / TRACED
    if not path.is_file():
        parts = ", ".join(Path(name).parent.name for name in evidence(source))
        raise ExportError(
            f"{source} was compiled in parts ({parts}), which are not put together again: load "
            f"{_original(source) or 'the model that it was exported from'}."
        )
    tensors = {name: value for name, value in read_script_tensors(path).items() if "->" in name}
    if not tensors:
        raise ExportError(
            f"The weights of {path} are constants inside the compiled program, and cannot be taken out: load "
            f"{_original(source) or 'the model that it was exported from'}."
        )
    target = target_of(config_of(source, request))
    if target.model is None:
        raise ExportError(f"{source} was exported from a model that is not one of transformers' own, which is needed.")
    found = _named(tensors, target.shapes)
    wholes = [Whole(name, 0, ((whole(value),),), "as it is") for name, value in found.items()]
    note = (
        "The weights are as the export kept them, which may have cast them. No file of a real compiler was at hand "
        "when this was written: compare the outputs."
    )
    return model_of(NAME, source, wholes, target, request, [note])


def _named(tensors: dict[str, Stored], names: Iterable[str]) -> dict[str, Stored]:
    """Under the names of the model: the wrappers that were traced stand before them."""
    known = set(names)
    found: dict[str, Stored] = {}
    for full, value in tensors.items():
        words = full.replace("->", ".").split(".")
        candidates = (".".join(words[start:]) for start in range(len(words)))
        name = next((name for name in candidates if name in known), None)
        if name is not None:
            found[name] = value
    return found


def _original(source: Path) -> str | None:
    for name in (CONFIG, "model_index.json"):
        if (source / name).is_file():
            config = read_json(source / name)
            neuron = config.get("neuron")
            told = (neuron.get("model_id") if isinstance(neuron, dict) else None) or config.get("_name_or_path")
            if told:
                return str(told)
    return None
