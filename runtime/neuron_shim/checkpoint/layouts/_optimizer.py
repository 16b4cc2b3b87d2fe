"""shards/optim: the state of the optimizer, which is cut as the parameters are.

Parameters are numbered there, not named: first those with weight decay, then the others, each in the order of the
model. So the names come from the metadata, and the shapes have to agree. ZeRO-1 also cuts each tensor along dimension
0 over the data-parallel ranks, after rows were added for them to divide it (torch_xla,
``ZeroRedundancyOptimizer.state_dict``).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.layouts._assembly import with_vocabulary
from neuron_shim.checkpoint.layouts._consolidation import Whole, consolidated
from neuron_shim.checkpoint.layouts._rank_files import RankFile
from neuron_shim.checkpoint.optimizer import OptimizerState
from neuron_shim.checkpoint.replicas import Replicas
from neuron_shim.checkpoint.source import Checkpoint
from neuron_shim.checkpoint.stored import Stored, joined, stacked, whole
from neuron_shim.checkpoint.torch_file import read_torch_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from neuron_shim.checkpoint.layouts._consolidation import Stage
    from neuron_shim.checkpoint.layouts._target import Target

OPTIMIZER = "optim"
SCHEDULER = "scheduler.pt"
BESIDE = (SCHEDULER, "trainer_state.json")  # what Trainer also reads
_FILE = re.compile(r"dp_rank_(?P<dp>\d+)_tp_rank_(?P<tp>\d+)_pp_rank_(?P<pp>\d+)\.pt")


class _Saved(NamedTuple):
    """What the ranks with one part of the model saved."""

    path: Path
    groups: Sequence[Mapping[str, Any]]
    state: Mapping[int, Mapping[str, Any]]
    has_masters: bool


def optimizer_of(
    checkpoint: Checkpoint, root: Path, folder: Path, stages: Sequence[Stage], target: Target
) -> Checkpoint:
    """The checkpoint with what reads the state in ``folder``, if one was saved."""
    files = _files(folder / OPTIMIZER)
    if not files:
        return checkpoint
    return replace(checkpoint, optimizer=lambda settle: _converted(root, files, stages, target, settle))


def _files(folder: Path) -> dict[tuple[int, int], dict[int, Path]]:
    """By tensor-parallel rank and stage, the files of the data-parallel ranks."""
    found: dict[tuple[int, int], dict[int, Path]] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if match := _FILE.fullmatch(path.name):
            found.setdefault((int(match["tp"]), int(match["pp"])), {})[int(match["dp"])] = path
    return found


def _converted(
    root: Path,
    files: Mapping[tuple[int, int], Mapping[int, Path]],
    stages: Sequence[Stage],
    target: Target,
    settle: Callable[[Checkpoint], Checkpoint],
) -> OptimizerState:
    if target.model is None:
        raise ExportError("The optimizer's state is only converted for models that are transformers' own.")
    target = with_vocabulary(target, stages)
    wholes: dict[tuple[str, str], Whole] = {}
    plain: dict[tuple[str, str], Any] = {}
    decays: dict[str, bool] = {}
    saved: list[_Saved] = []
    for number, stage in enumerate(stages):
        saved = [_saved(files, rank, number) for rank in range(len(stage.ranks))]
        for name, index, decay in _named(stage, saved[0]):
            full_names = [some.name for some in _made(stage, name, target)]
            decays |= dict.fromkeys(full_names, decay)
            for key, value in saved[0].state[index].items():
                if not isinstance(value, Stored):
                    plain |= {(full, key): value for full in full_names}
                elif value.shape == ():
                    scalar = joined(key, 0, [whole(value)])
                    plain |= {(full, key): replace(scalar, name=f"{key} of {full}") for full in full_names}
                else:
                    for some in _made(_state_of(stage, saved, name, index, key), name, target):
                        wholes[some.name, key] = replace(some, name=f"{key} of {some.name}")
    notes: tuple[str, ...] = ()
    if saved[0].has_masters:
        notes = (f"{saved[0].path.name} and the others also hold the weights in fp32, which are not converted.",)
    settled = settle(_as_checkpoint(list(wholes.values())))
    tensors = dict(zip(wholes, settled.tensors, strict=True))
    return _numbered(root, target, {**plain, **tensors}, decays, saved[0], (*notes, *settled.notes))


def _made(stage: Stage, name: str, target: Target) -> Iterator[Whole]:
    return consolidated(replace(stage, names=[name]), target.shapes, target.kv_heads)


def _as_checkpoint(wholes: Sequence[Whole]) -> Checkpoint:
    """For copies to be compared as those of weights are."""
    replicas = tuple(
        Replicas(some.name, tuple(some.tensor(copy) for copy in range(len(some.copies))), some.kv)
        for some in wholes
        if len(some.copies) > 1
    )
    return Checkpoint("", tuple(some.tensor() for some in wholes), {}, {}, replicas=replicas)


# --- what a rank saved


def _saved(files: Mapping[tuple[int, int], Mapping[int, Path]], rank: int, stage: int) -> _Saved:
    """The state of one part of the model, put together from its data-parallel ranks."""
    paths = files.get((rank, stage))
    if paths is None or sorted(paths) != list(range(len(paths))):
        missing = next(number for number in range(len(paths or ()) + 1) if number not in (paths or ()))
        where = next(iter(next(iter(files.values())).values())).parent
        name = f"dp_rank_{missing:02d}_tp_rank_{rank:02d}_pp_rank_{stage:02d}.pt"
        raise ExportError(f"{where / name} is missing: without it the optimizer's state is not whole.")
    contents = [(paths[number], _content(paths[number])) for number in range(len(paths))]
    path, first = contents[0]
    groups = first["param_groups"]
    if "base_state" not in first:
        if len(contents) > 1:
            raise ExportError(f"{contents[1][0]} is of another run: {path} was not cut over data-parallel ranks.")
        return _Saved(path, groups, _flat(path, first["state"]), has_masters=False)
    parts = [_flat(other, content["base_state"]) for other, content in contents]
    shapes = {int(index): tuple(map(int, shape)) for index, shape in first["shape_info"].items()}
    state = {
        index: {key: _over_ranks(key, [part[index][key] for part in parts], shapes[index]) for key in fields}
        for index, fields in parts[0].items()
    }
    return _Saved(path, groups, state, has_masters="sharded_master_weights" in first)


def _content(path: Path) -> Any:
    content = read_torch_file(path)
    if not isinstance(content, dict) or "param_groups" not in content or not {"state", "base_state"} & content.keys():
        raise ExportError(f"{path} holds no state of an optimizer.")
    return content


def _flat(path: Path, state: Mapping[int, Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
    """The state with its tensors found, also where xser gave each a file of its own."""
    values = {f"{key} of parameter {index}": value for index, fields in state.items() for key, value in fields.items()}
    file = RankFile(path, values)
    return {
        int(index): {
            key: file.tensor(name) if (name := f"{key} of parameter {index}") in file else value
            for key, value in fields.items()
        }
        for index, fields in state.items()
    }


def _over_ranks(key: str, parts: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """What ZeRO-1 cut along dimension 0, without the rows that were added."""
    first = parts[0]
    if not isinstance(first, Stored) or first.shape == ():
        return first
    rows = sum(part.shape[0] for part in parts)
    if first.shape[1:] != shape[1:] or not shape[0] <= rows < shape[0] + len(parts):
        raise ExportError(
            f"{key} of a parameter of {list(shape)} is {list(first.shape)} in {first.path}, and has {rows} rows in "
            f"all {len(parts)} data-parallel ranks: a rank is missing, or the files are of two runs."
        )
    return stacked(parts, shape)


# --- which parameter it is of


def _named(stage: Stage, saved: _Saved) -> Iterator[tuple[str, int, bool]]:
    """Each parameter of a stage, its number, and whether it decays."""
    held = set(stage.names)
    names = [name for name in stage.cut if name in held]
    flat = {name for name in names if len(stage.ranks[0].tensor(name).shape) < 2 or "bias" in name}
    kinds = [name for name in names if name not in flat], [name for name in names if name in flat]
    numbers = [[int(index) for index in group["params"]] for group in saved.groups]
    if [len(some) for some in numbers] != [len(some) for some in kinds]:
        raise ExportError(
            f"{saved.path} has groups of {' and '.join(str(len(some)) for some in numbers)} parameters, but of those "
            f"in {stage.metadata.name} Trainer makes {len(kinds[0])} with weight decay and {len(kinds[1])} without: "
            f"some were frozen, or the optimizer was made by hand, and which is which cannot be told. Export without "
            f"--optimizer."
        )
    for decay, some, indices in zip((True, False), kinds, numbers, strict=True):
        for name, index in zip(some, indices, strict=True):
            if index not in saved.state:
                raise ExportError(f"{saved.path} has no state of parameter {index}, which is {name}.")
            yield name, index, decay


def _state_of(stage: Stage, saved: Sequence[_Saved], name: str, index: int, key: str) -> Stage:
    """The stage with one entry of the state in the place of a parameter."""
    ranks = []
    for rank, one in zip(stage.ranks, saved, strict=True):
        value = one.state.get(index, {}).get(key)
        shape = rank.tensor(name).shape
        if not isinstance(value, Stored) or value.shape != shape:
            found = list(value.shape) if isinstance(value, Stored) else value
            raise ExportError(
                f"{key} of parameter {index} is {found} in {one.path}, but {name}, whose place it has, is "
                f"{list(shape)}: the optimizer's state is of another run, or of a kind that is not cut as the weights "
                f"are. Export without --optimizer."
            )
        ranks.append(RankFile(one.path, {name: value}))
    return replace(stage, ranks=ranks)


def _numbered(
    root: Path,
    target: Target,
    entries: Mapping[tuple[str, str], Any],
    decays: Mapping[str, bool],
    saved: _Saved,
    notes: tuple[str, ...],
) -> OptimizerState:
    """With the numbers that Trainer gives the parameters of the whole model."""
    from transformers import Trainer

    decaying = set(Trainer.get_decay_parameter_names(None, target.model))
    names = [name for name, _ in target.model.named_parameters()]
    order = [name for name in names if name in decaying], [name for name in names if name not in decaying]
    if wrong := next((name for name in names if decays.get(name) != (name in decaying)), None):
        had = {None: "has no state", True: "had weight decay", False: "had no weight decay"}[decays.get(wrong)]
        raise ExportError(
            f"{wrong} {had} in {saved.path.parent}, which is not what Trainer of transformers does with it: the "
            f"optimizer's state is not converted. Export without --optimizer."
        )
    numbers = {name: number for number, name in enumerate([*order[0], *order[1]])}
    values: dict[int, dict[str, Any]] = {number: {} for number in range(len(names))}
    for (name, key), value in entries.items():
        values[numbers[name]][key] = value
    groups = [
        {**group, "params": [numbers[name] for name in some]} for group, some in zip(saved.groups, order, strict=True)
    ]
    files = {name: root / name for name in BESIDE if (root / name).is_file()}
    if SCHEDULER in files:
        read_torch_file(files[SCHEDULER])  # refuses what would run code
    if absent := [name for name in BESIDE if name not in files]:
        notes = (*notes, f"{' and '.join(absent)} are not in {root}: Trainer resumes only with them.")
    return OptimizerState(values, groups, files, notes)
