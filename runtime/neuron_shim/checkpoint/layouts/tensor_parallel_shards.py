"""What training with Optimum Neuron 0.0.8 to 0.0.21 writes: tensor_parallel_shards/, in five forms.

========================================  =============================  ====================================
file of a rank                            releases                       its tensors are
========================================  =============================  ====================================
tp_rank_XX                                0.0.8 to 0.0.11                in it
tp_rank_XX_pp_rankYY.pt                   0.0.12                         in it
tp_rank_XX_pp_rank_YY/checkpoint.pt       0.0.13 to 0.0.17               in it
tp_rank_XX_pp_rank_YY                     0.0.18 to 0.0.21               in tp_rank_XX_pp_rank_YY.tensors/
========================================  =============================  ====================================

0.0.21 adds how key/value heads were multiplied. Each file also has the metadata, and maybe the optimizer's state.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.layouts import Request, config_of
from neuron_shim.checkpoint.layouts._assembly import whole_model
from neuron_shim.checkpoint.layouts._metadata_pt import stages_of
from neuron_shim.checkpoint.layouts._optimizer import optimizer_of
from neuron_shim.checkpoint.layouts._rank_files import RankFile, listed
from neuron_shim.checkpoint.layouts._shards_folder import root_of
from neuron_shim.checkpoint.layouts._target import target_of
from neuron_shim.checkpoint.torch_file import read_torch_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_shim.checkpoint.layouts._consolidation import Stage
    from neuron_shim.checkpoint.layouts._optimizer import Contents
    from neuron_shim.checkpoint.source import Checkpoint

NAME = "tensor-parallel shards of Optimum Neuron 0.0.8 to 0.0.21"
FOLDER = "tensor_parallel_shards"
FORMS = (
    (re.compile(r"tp_rank_(?P<tp>\d+)"), ""),
    (re.compile(r"tp_rank_(?P<tp>\d+)_pp_rank(?P<pp>\d+)\.pt"), ""),
    (re.compile(r"tp_rank_(?P<tp>\d+)_pp_rank_(?P<pp>\d+)"), "checkpoint.pt"),
    (re.compile(r"tp_rank_(?P<tp>\d+)_pp_rank_(?P<pp>\d+)"), ""),
)


def evidence(source: Any) -> tuple[str, ...]:
    if not isinstance(source, Path):
        return ()
    return (f"{FOLDER}/",) if (root_of(source, FOLDER) / FOLDER).is_dir() else ()


def open_checkpoint(source: Path, request: Request) -> Checkpoint:
    root = root_of(source, FOLDER)
    files = _files(root / FOLDER)
    target = target_of(config_of(root, request))
    stages, notes = stages_of(files, _rank_file, _metadata, target.shapes)
    checkpoint = whole_model(NAME, root, stages, target, request, notes)
    return optimizer_of(checkpoint, root, stages, target, _optimizer_in(stages))


def _optimizer_in(stages: Sequence[Stage]) -> Contents | None:
    """What reads the state of the optimizer in the files of the ranks; only the first data-parallel ones saved it."""
    if not stages[0].ranks[0].values.get(_OPTIMIZER):
        return None

    def contents(rank: int, stage: int) -> list[tuple[Path, Any]]:
        file = stages[stage].ranks[rank]
        return [(file.path, file.values.get(_OPTIMIZER))]

    return contents


def _files(folder: Path) -> dict[tuple[int, int], Path]:
    forms = [found for pattern, inside in FORMS if (found := listed(folder, pattern, inside=inside))]
    if not forms:
        raise ExportError(f"{folder} holds no file of a rank (tp_rank_00...).")
    if len(forms) > 1:
        one, other = (next(iter(found.values())) for found in forms[:2])
        raise ExportError(f"{one} and {other} are of releases that saved differently: two runs are mixed.")
    return forms[0]


_OPTIMIZER = "optimizer_state_dict"
_ABOUT = "about the rank"


def _rank_file(path: Path) -> RankFile:
    content = read_torch_file(path)
    if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
        raise ExportError(f"{path} holds no model.")
    about = {name: value for name, value in content.items() if name not in ("model", _OPTIMIZER)}
    rank = about.get("tp_rank")
    number = re.search(r"tp_rank_(\d+)", str(path.parent.name if path.name == "checkpoint.pt" else path.name))
    if isinstance(rank, int) and number is not None and rank != int(number[1]):
        raise ExportError(f"{path} says that it is of tensor-parallel rank {rank}: files were renamed or mixed.")
    return RankFile(path, {**content["model"], _ABOUT: about, _OPTIMIZER: content.get(_OPTIMIZER)})


def _metadata(_: int, first: RankFile) -> tuple[Path, Any]:
    return first.path, first.values[_ABOUT]
