"""What training with Optimum Neuron 0.0.22 to 0.1.0 writes: shards/ with mp_metadata_pp_rank_N.pt.

A stage has only its own parameters, buffers, and second names of tied tensors. 0.1.0 fuses the projections of grouped
queries, the releases before it keep them apart; the names tell.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.layouts import Request, config_of
from neuron_shim.checkpoint.layouts._assembly import whole_model
from neuron_shim.checkpoint.layouts._metadata_pt import stages_of
from neuron_shim.checkpoint.layouts._optimizer import OPTIMIZER, in_folder, optimizer_of
from neuron_shim.checkpoint.layouts._shards_folder import (
    SHARDS,
    opened,
    pickled_metadata,
    pickled_metadata_in,
    rank_file,
    root_of,
)
from neuron_shim.checkpoint.layouts._target import target_of

if TYPE_CHECKING:
    from neuron_shim.checkpoint.source import Checkpoint

NAME = "model-parallel shards of Optimum Neuron 0.0.22 to 0.1"


def evidence(source: Any) -> tuple[str, ...]:
    if not isinstance(source, Path):
        return ()
    return tuple(f"{SHARDS}/{name}" for name in pickled_metadata_in(root_of(source, SHARDS) / SHARDS))


def open_checkpoint(source: Path, request: Request) -> Checkpoint:
    root = root_of(source, SHARDS)
    ranks = opened(root / SHARDS)
    target = target_of(config_of(root, request))
    stages, notes = stages_of(ranks.files, rank_file, pickled_metadata(ranks.folder), target.shapes)
    checkpoint = whole_model(NAME, root, stages, target, request, notes)
    return optimizer_of(checkpoint, root, stages, target, in_folder(ranks.folder / OPTIMIZER))
