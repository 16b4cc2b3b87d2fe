"""What training with Optimum Neuron 0.2 to 0.4.5 writes: shards/ with mp_metadata_pp_rank_N.json.

Every stage has the names of all parameters in its files, those of other stages with what happened to be in memory:
only the names in its metadata count.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.layouts import Request, config_of
from neuron_shim.checkpoint.layouts._assembly import some_of, whole_model
from neuron_shim.checkpoint.layouts._metadata_json import metadata_in, stages_of, tensors_without_metadata
from neuron_shim.checkpoint.layouts._optimizer import OPTIMIZER, in_folder, optimizer_of
from neuron_shim.checkpoint.layouts._shards_folder import MODEL, SHARDS, opened, pickled_metadata_in, root_of
from neuron_shim.checkpoint.layouts._target import target_of

if TYPE_CHECKING:
    from neuron_shim.checkpoint.source import Checkpoint

NAME = "model-parallel shards of Optimum Neuron 0.2 to 0.4"


def evidence(source: Any) -> tuple[str, ...]:
    if not isinstance(source, Path):
        return ()
    folder = root_of(source, SHARDS) / SHARDS
    found = tuple(f"{SHARDS}/{name}" for name in metadata_in(folder))
    if not found and (folder / MODEL).is_dir() and not pickled_metadata_in(folder):
        return (f"{SHARDS}/{MODEL}/",)
    return found


def open_checkpoint(source: Path, request: Request) -> Checkpoint:
    root = root_of(source, SHARDS)
    ranks = opened(root / SHARDS)
    if not metadata_in(ranks.folder):
        raise ExportError(
            f"{ranks.folder} has no mp_metadata_pp_rank_0.json (or .pt, up to 0.1.0), which says how the weights were "
            f"cut. Copy it from where they were trained."
        )
    stages, notes = stages_of(ranks)
    target = target_of(config_of(root, request))
    if unnamed := tensors_without_metadata(stages, target.shapes):
        notes.append(
            f"Left out, because neither {stages[0].metadata.name} nor the model has them: {some_of(unnamed)}."
        )
    checkpoint = whole_model(NAME, root, stages, target, request, notes)
    return optimizer_of(checkpoint, root, stages, target, in_folder(ranks.folder / OPTIMIZER))
