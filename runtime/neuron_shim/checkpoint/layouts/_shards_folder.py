"""shards/ and adapter_shards/: the folders that neuronx_distributed wrote for Optimum Neuron from 0.0.22 on."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.layouts._rank_files import RankFile, listed, ranks_of, stale, stale_note
from neuron_shim.checkpoint.torch_file import read_torch_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SHARDS = "shards"
ADAPTER_SHARDS = "adapter_shards"
MODEL = "model"
DONE = "done"
_FILE = re.compile(r"dp_rank_0+(?:_ep_rank_(?P<ep>\d+))?_tp_rank_(?P<tp>\d+)_pp_rank_(?P<pp>\d+)\.pt")
_METADATA = re.compile(r"mp_metadata_pp_rank_\d+\.pt")


def root_of(source: Path, folder: str) -> Path:
    """The folder that has ``folder`` in it: the source, or the one above if the source is that folder itself."""
    return source.parent if source.name == folder and not (source / folder).is_dir() else source


@dataclass
class RanksFolder:
    """The files of a run, which are read when they are asked for."""

    folder: Path
    files: Mapping[tuple[int, int], Path]
    _used: set[Path] = field(default_factory=set)

    def __post_init__(self) -> None:
        if not self.files:
            raise ExportError(f"{self.folder / MODEL} holds no file of a rank (dp_rank_00_tp_rank_00_pp_rank_00.pt).")

    @property
    def size(self) -> int:
        """Tensor-parallel ranks of which there are files."""
        return max(rank for rank, _ in self.files) + 1

    def of_stage(self, number: int, size: int, *, why: str) -> list[RankFile]:
        """What the ranks of a pipeline stage saved.

        Raises:
            ExportError: a rank is missing, or a file is damaged.
        """
        paths = ranks_of(self.files, number, size, why=why)
        self._used.update(paths)
        return [rank_file(path) for path in paths]

    def notes(self) -> tuple[str, ...]:
        return stale_note(stale(self.files, self._used))


def opened(folder: Path) -> RanksFolder:
    """The files of a folder that was saved to its end.

    Raises:
        ExportError: it was not, or there are none.
    """
    if not (folder / DONE).is_file():
        raise ExportError(
            f"{folder / DONE} is missing: saving was interrupted, or is still going on. Take an earlier checkpoint; "
            f"if you know that this one is whole, create the file."
        )
    return RanksFolder(folder, listed(folder / MODEL, _FILE))


def rank_file(path: Path) -> RankFile:
    """A file that holds nothing but tensors by name.

    Raises:
        ExportError: it is damaged or holds something else.
    """
    values = read_torch_file(path)
    if not isinstance(values, dict) or not all(isinstance(name, str) for name in values):
        raise ExportError(f"{path} holds no tensors by name.")
    return RankFile(path, values)


def pickled_metadata_in(folder: Path) -> tuple[str, ...]:
    """The names of the metadata files up to 0.1.0 in a folder."""
    if not folder.is_dir():
        return ()
    return tuple(path.name for path in sorted(folder.iterdir()) if _METADATA.fullmatch(path.name))


def pickled_metadata(folder: Path) -> Callable[[int, RankFile], tuple[Path, Any]]:
    """Where the metadata of a stage up to 0.1.0 are, and what they are."""

    def read(stage: int, _: RankFile) -> tuple[Path, Any]:
        path = folder / f"mp_metadata_pp_rank_{stage}.pt"
        return path, read_torch_file(path)

    return read
