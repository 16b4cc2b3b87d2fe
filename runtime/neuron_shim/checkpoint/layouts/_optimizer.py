"""The state of the optimizer, which is cut as the parameters are.

It lies in shards/optim from 0.0.22 on, and before in the files of the weights. Parameters are numbered there, not
named: first those with weight decay, then the others, each in the order of the model. So the names come from the
metadata, and the shapes have to agree. ZeRO-1 also cuts each tensor along dimension 0 over the data-parallel ranks,
after rows were added for them to divide it, and may keep the weights in fp32 as well (torch_xla,
``ZeroRedundancyOptimizer.state_dict``; neuronx_distributed, optimizer/convert_zero_checkpoints.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_shim.checkpoint.dtypes import torch_dtype
from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.layouts._assembly import Wholes, with_vocabulary
from neuron_shim.checkpoint.layouts._consolidation import Whole, consolidated
from neuron_shim.checkpoint.layouts._rank_files import RankFile
from neuron_shim.checkpoint.optimizer import OptimizerState
from neuron_shim.checkpoint.source import Checkpoint
from neuron_shim.checkpoint.stored import Stored, joined, stacked, whole
from neuron_shim.checkpoint.torch_file import read_torch_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from neuron_shim.checkpoint.layouts._consolidation import Stage
    from neuron_shim.checkpoint.layouts._target import Target
    from neuron_shim.checkpoint.tensors import Tensor

    Contents = Callable[[int, int], Sequence[tuple[Path, Any]]]
    """What the data-parallel ranks saved that had a part of the model, given its tensor-parallel rank and stage."""

OPTIMIZER = "optim"
SCHEDULER = "scheduler.pt"
BESIDE = (SCHEDULER, "trainer_state.json")  # what Trainer also reads
MASTER = "weight in fp32"
_MASTERS = "sharded_master_weights"
_FILE = re.compile(r"dp_rank_(?P<dp>\d+)_tp_rank_(?P<tp>\d+)_pp_rank_(?P<pp>\d+)\.pt")


def in_folder(folder: Path) -> Contents | None:
    """What reads a folder of such files; None if there are none."""
    files: dict[tuple[int, int], dict[int, Path]] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if match := _FILE.fullmatch(path.name):
            files.setdefault((int(match["tp"]), int(match["pp"])), {})[int(match["dp"])] = path

    def contents(rank: int, stage: int) -> list[tuple[Path, Any]]:
        paths = files.get((rank, stage), {})
        missing = next(number for number in range(len(paths) + 1) if number not in paths)
        if not paths or missing < len(paths):
            name = f"dp_rank_{missing:02d}_tp_rank_{rank:02d}_pp_rank_{stage:02d}.pt"
            raise ExportError(f"{folder / name} is missing: without it the optimizer's state is not whole.")
        return [(paths[number], read_torch_file(paths[number])) for number in range(len(paths))]

    return contents if files else None


def optimizer_of(
    checkpoint: Checkpoint, root: Path, stages: Sequence[Stage], target: Target, contents: Contents | None
) -> Checkpoint:
    """The checkpoint with the state of its optimizer, if one was saved."""
    return (
        checkpoint if contents is None else replace(checkpoint, optimizer=_Optimizer(root, stages, target, contents))
    )


@dataclass(frozen=True)
class _Optimizer:
    """What a run saved of its optimizer. It is read when somebody asks for it."""

    root: Path
    stages: Sequence[Stage]
    target: Target
    contents: Contents

    @property
    def has_masters(self) -> bool:
        """Whether the weights are there in fp32 too; not, if the first file cannot be read."""
        try:
            return _saved(self.contents(0, 0)).has_masters
        except ExportError:
            return False

    def state(self, settle: Callable[[Checkpoint], Checkpoint]) -> OptimizerState:
        """The state for Trainer.

        Args:
            settle: decides about copies that differ.

        Raises:
            ExportError: it is not whole, does not fit the weights, or is not what Trainer would make.
        """
        wholes: dict[tuple[str, str], Whole] = {}
        plain: dict[tuple[str, str], Any] = {}
        decays: dict[str, bool] = {}
        for some in self._parameters():
            names = [one.name for one in some.made()]
            decays |= dict.fromkeys(names, some.decays)
            for key, value in some.fields.items():
                if not isinstance(value, Stored):
                    plain |= {(name, key): value for name in names}
                elif value.shape == ():
                    scalar = joined(key, 0, [whole(value)])
                    plain |= {(name, key): replace(scalar, name=f"{key} of {name}") for name in names}
                elif key != MASTER:
                    wholes |= {(one.name, key): replace(one, name=f"{key} of {one.name}") for one in some.made(key)}
        made = Wholes(list(wholes.values()))
        settled = settle(Checkpoint("", tuple(one.tensor() for one in made.all), {}, {}, replicas=made.replicas()))
        tensors = dict(zip(wholes, settled.tensors, strict=True))
        return self._numbered({**plain, **tensors}, decays, settled.notes)

    def with_masters(self, checkpoint: Checkpoint) -> Checkpoint:
        """The checkpoint with the weights in fp32 that the optimizer kept, of which its own are rounded.

        Raises:
            ExportError: it kept none, or they are of other weights.
        """
        found = {one.name: one for some in self._parameters() if MASTER in some.fields for one in some.made(MASTER)}
        if not found:
            raise ExportError(
                f"{self.root} holds no weights in fp32: only ZeRO-1 in 0.4 saved them, if it was asked to "
                f"(optimizer_save_master_weights_in_ckpt=True). Export without --master-weights."
            )
        masters = Wholes([replace(one, how=f"{one.how}, as the optimizer has it") for one in found.values()])
        tensors = {tensor.name: tensor for tensor in checkpoint.tensors}
        for one in masters.all:
            if one.name in tensors and not _begins_as_rounded(one.tensor(), tensors[one.name]):
                raise ExportError(
                    f"{one.name} in fp32, in {one.copies[0][0].source.path}, is not what the weight in "
                    f"{tensors[one.name].origin} was rounded from: they are of two steps or runs. Export without "
                    f"--master-weights."
                )
        kept = tuple(some for some in checkpoint.replicas if some.name not in found)
        return replace(
            checkpoint,
            tensors=tuple(found[name].tensor() if name in found else tensor for name, tensor in tensors.items()),
            replicas=(*kept, *masters.replicas()),
            widened=None,
            plan=masters.plan(),
        )

    def _parameters(self) -> Iterator[_Parameter]:
        if self.target.model is None:
            raise ExportError("The optimizer's state is only converted for models that are transformers' own.")
        target = with_vocabulary(self.target, self.stages)
        for number, stage in enumerate(self.stages):
            saved = [_saved(self.contents(rank, number)) for rank in range(len(stage.ranks))]
            for name, index, decays in _named(stage, saved[0]):
                yield _Parameter(target, stage, saved, name, index, decays)

    def _numbered(
        self, entries: Mapping[tuple[str, str], Any], decays: Mapping[str, bool], notes: tuple[str, ...]
    ) -> OptimizerState:
        """With the numbers that Trainer gives the parameters of the whole model."""
        from transformers import Trainer

        saved = _saved(self.contents(0, 0))
        decaying = set(Trainer.get_decay_parameter_names(None, self.target.model))
        names = [name for name, _ in self.target.model.named_parameters()]
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
            {**group, "params": [numbers[name] for name in some]}
            for group, some in zip(saved.groups, order, strict=True)
        ]
        files = {name: self.root / name for name in BESIDE if (self.root / name).is_file()}
        if SCHEDULER in files:
            read_torch_file(files[SCHEDULER])  # refuses what would run code
        if absent := [name for name in BESIDE if name not in files]:
            notes = (*notes, f"{' and '.join(absent)} are not in {self.root}: Trainer resumes only with them.")
        return OptimizerState(values, groups, files, notes)


def _begins_as_rounded(master: Tensor, weight: Tensor) -> bool:
    """Whether the first values of a weight are those of the other one, rounded in whatever way."""
    import torch

    info = torch.finfo(torch_dtype(weight.dtype))
    pieces = zip((weight, master), (next(some.pieces()) for some in (weight, master)), strict=True)
    one, other = (torch.frombuffer(piece, dtype=torch_dtype(some.dtype)).float() for some, piece in pieces)
    count = min(len(one), len(other))
    alike: bool = torch.allclose(one[:count], other[:count], rtol=info.eps, atol=info.tiny, equal_nan=True)
    return alike


# --- what a rank saved


class _Saved(NamedTuple):
    """What the ranks with one part of the model saved; the state has the weights in fp32 as one more entry."""

    path: Path
    groups: Sequence[Mapping[str, Any]]
    state: Mapping[int, Mapping[str, Any]]
    has_masters: bool


def _saved(contents: Sequence[tuple[Path, Any]]) -> _Saved:
    """The state of one part of the model, put together from its data-parallel ranks."""
    for path, content in contents:
        if not isinstance(content, dict) or not {"state", "base_state"} & content.keys():
            raise ExportError(f"{path} holds no state of an optimizer.")
    path, first = contents[0]
    try:
        if "base_state" in first:
            return _over_data_ranks(contents)
        if len(contents) > 1:
            raise ExportError(f"{contents[1][0]} is of another run: {path} was not cut over data-parallel ranks.")
        return _Saved(path, _groups(first), _found(path, first["state"]), has_masters=False)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ExportError(f"{path} holds no state of an optimizer as torch writes it ({error!r}).") from error


def _groups(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{**group, "params": [int(index) for index in group["params"]]} for group in content["param_groups"]]


def _over_data_ranks(contents: Sequence[tuple[Path, Any]]) -> _Saved:
    """ZeRO-1."""
    path, first = contents[0]
    parts = []
    for other, content in contents:
        masters = content.get(_MASTERS) or {}
        state = {
            index: {**fields, MASTER: masters[index]} if index in masters else fields
            for index, fields in content["base_state"].items()
        }
        parts.append(_found(other, state))
    shapes = {int(index): tuple(map(int, shape)) for index, shape in first["shape_info"].items()}
    joined_state = {
        index: {key: _over_ranks(key, [part[index][key] for part in parts], shapes[index]) for key in fields}
        for index, fields in parts[0].items()
    }
    return _Saved(path, _groups(first), joined_state, has_masters=bool(first.get(_MASTERS)))


def _found(path: Path, state: Mapping[int, Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
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
            f"all {len(parts)} data-parallel ranks: a rank is missing (before 0.0.22 only the first one saved its "
            f"part), or the files are of two runs."
        )
    return stacked(parts, shape)


# --- which parameter it is of


@dataclass(frozen=True)
class _Parameter:
    target: Target
    stage: Stage
    saved: Sequence[_Saved]
    """Of each tensor-parallel rank."""

    name: str
    number: int
    decays: bool

    @property
    def fields(self) -> Mapping[str, Any]:
        return self.saved[0].state[self.number]

    def made(self, key: str | None = None) -> Iterator[Whole]:
        """The whole parameters that this one becomes, or an entry of their states."""
        ranks = self.stage.ranks if key is None else self._in_its_place(key)
        stage = replace(self.stage, names=[self.name], ranks=ranks)
        return consolidated(stage, self.target.shapes, self.target.kv_heads)

    def _in_its_place(self, key: str) -> list[RankFile]:
        """The ranks with one entry of the state in the place of the parameter."""
        ranks = []
        for rank, one in zip(self.stage.ranks, self.saved, strict=True):
            value = one.state.get(self.number, {}).get(key)
            shape = rank.tensor(self.name).shape
            if not isinstance(value, Stored) or value.shape != shape:
                found = list(value.shape) if isinstance(value, Stored) else value
                raise ExportError(
                    f"{key} of parameter {self.number} is {found} in {one.path}, but {self.name}, whose place it has, "
                    f"is {list(shape)}: the optimizer's state is of another run, or of a kind that is not cut as the "
                    f"weights are. Export without --optimizer."
                )
            ranks.append(RankFile(one.path, {self.name: value}))
        return ranks


def _named(stage: Stage, saved: _Saved) -> Iterator[tuple[str, int, bool]]:
    """Each parameter of a stage, its number, and whether it decays."""
    held = set(stage.names)
    names = [name for name in stage.cut if name in held]
    flat = {name for name in names if len(stage.ranks[0].tensor(name).shape) < 2 or "bias" in name}
    kinds = [name for name in names if name not in flat], [name for name in names if name in flat]
    numbers = [group["params"] for group in saved.groups]
    if [len(some) for some in numbers] != [len(some) for some in kinds]:
        raise ExportError(
            f"{saved.path} has groups of {' and '.join(str(len(some)) for some in numbers)} parameters, but of those "
            f"in {stage.metadata.name} Trainer makes {len(kinds[0])} with weight decay and {len(kinds[1])} without: "
            f"some were frozen, or the optimizer was made by hand, and which is which cannot be told. Export without "
            f"--optimizer."
        )
    for decays, some, indices in zip((True, False), kinds, numbers, strict=True):
        for name, index in zip(some, indices, strict=True):
            if index not in saved.state:
                raise ExportError(f"{saved.path} has no state of parameter {index}, which is {name}.")
            yield name, index, decays
