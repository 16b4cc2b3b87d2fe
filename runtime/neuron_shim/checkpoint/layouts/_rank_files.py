"""The files of the ranks: one for each tensor-parallel rank of each pipeline stage."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.stored import Stored
from neuron_shim.checkpoint.torch_file import Reference, read_torch_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

_COPY = "Copy it from where it was written, or take another checkpoint."


@dataclass(frozen=True)
class RankFile:
    """What one rank saved, with its tensors still in their files."""

    path: Path
    values: Mapping[str, Any]
    _found: dict[str, Stored] = field(default_factory=dict, repr=False)

    def __contains__(self, name: str) -> bool:
        return isinstance(self.values.get(name), (Stored, Reference))

    @property
    def names(self) -> list[str]:
        return [name for name in self.values if name in self]

    def tensor(self, name: str) -> Stored:
        """The tensor, which xser keeps in a file of its own (``FILE.tensors/tensor_N.pt``)."""
        if name not in self._found:
            value = self.values.get(name)
            if isinstance(value, Reference):
                value = self._referenced(name, value.tid)
            if not isinstance(value, Stored):
                raise ExportError(f"{self.path} holds no tensor {name}: the files of two runs are mixed.")
            self._found[name] = value
        return self._found[name]

    def _referenced(self, name: str, tid: int) -> Any:
        path = self.path.with_name(f"{self.path.name}.tensors") / f"tensor_{tid}.pt"
        if not path.is_file():
            raise ExportError(
                f"{path} is missing, which holds {name}. Each data-parallel rank wrote a part of these files: copy "
                f"them from all nodes."
            )
        return read_torch_file(path)


def listed(folder: Path, pattern: re.Pattern[str], *, inside: str = "") -> dict[tuple[int, int], Path]:
    """Files by tensor-parallel rank and pipeline stage.

    Args:
        pattern: of the names; its groups are called tp, pp and, if there is one, ep.
        inside: the file in the folder that has such a name.

    Raises:
        ExportError: experts were spread over the ranks, or a rank has two files.
    """
    found: dict[tuple[int, int], Path] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        match = pattern.fullmatch(path.name)
        if match is None or (path.is_dir() if not inside else not path.is_dir()):
            continue
        numbers = match.groupdict(default="0")
        if int(numbers.get("ep", "0")):
            raise ExportError(f"{path} is of a mixture whose experts were spread over ranks, which is not known here.")
        rank = int(numbers["tp"]), int(numbers.get("pp", "0"))
        if rank in found:
            raise ExportError(f"{found[rank]} and {path} are both of one rank: the files of two runs are mixed.")
        found[rank] = path / inside if inside else path
    return found


def ranks_of(files: Mapping[tuple[int, int], Path], stage: int, size: int, *, why: str) -> list[Path]:
    """The files of ranks 0 to ``size - 1`` of a stage; those of higher ranks are of an earlier run.

    Raises:
        ExportError: one is missing.
    """
    for rank in range(size):
        if (rank, stage) not in files or not files[rank, stage].is_file():
            missing = (
                f"The file of tensor-parallel rank {rank}, stage {stage}, is missing beside {min(files.values())}"
            )
            if (rank, stage) in files:
                missing = f"{files[rank, stage]} is missing"
            raise ExportError(f"{missing}: there were {size} ranks ({why}). {_COPY}")
    return [files[rank, stage] for rank in range(size)]


def stale(files: Mapping[tuple[int, int], Path], used: Iterable[Path]) -> list[Path]:
    taken = set(used)
    return [path for path in files.values() if path not in taken]


def stale_note(paths: Sequence[Path]) -> tuple[str, ...]:
    if not paths:
        return ()
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    was = "were" if len(paths) > 1 else "was"
    return (f"{paths[0]}{more} {was} left over from an earlier run with more ranks, and not used.",)
