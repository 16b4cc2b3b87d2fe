"""Where an export goes: a folder that appears at once and whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.source import ADAPTER_CONFIG, CONFIG

if TYPE_CHECKING:
    from collections.abc import Iterator

MARGIN = 16 << 20  # for headers, indexes and what the file system needs for itself


@dataclass(frozen=True)
class Destination:
    path: Path
    overwrite: bool

    def check(self, source: Path | None, needed: int) -> tuple[str, ...]:
        """Whether it can be written, before anything is. Returns remarks.

        Raises:
            ExportError: something else lies there, or the disk is too small.
        """
        path = self.path
        if path.exists() and not path.is_dir():
            raise ExportError(f"{path} is a file, but the destination must be a folder.")
        if source is not None and (source == path or path in source.parents):
            raise ExportError(f"The destination {path} holds the source {source}; choose another folder.")
        if source is not None and source in path.parents:
            raise ExportError(
                f"The destination {path} is inside the source {source}, which is never changed; choose another folder."
            )
        if path.is_dir() and (inside := sorted(entry.name for entry in path.iterdir())):
            self._check_replaceable(inside)
        self._check_space(needed)
        return tuple(
            f"{leftover} was left by an export that was killed; it can be deleted."
            for leftover in sorted(path.parent.glob(f"{self._prefix}*"))
        )

    def _check_replaceable(self, inside: list[str]) -> None:
        if not self.overwrite:
            raise ExportError(
                f"{self.path} exists and is not empty ({inside[0]} is in it); choose another folder, or ask for "
                f"overwriting (--overwrite)."
            )
        folders = [name for name in inside if (self.path / name).is_dir() and name != "additional_chat_templates"]
        if folders or not {CONFIG, ADAPTER_CONFIG}.intersection(inside):
            what = f"the folder {folders[0]}" if folders else f"no {CONFIG}"
            raise ExportError(
                f"{self.path} is not overwritten: it holds {what}, so it is more than an exported checkpoint. "
                f"Move it away first."
            )

    def _check_space(self, needed: int) -> None:
        parent = next(folder for folder in self.path.parents if folder.exists())
        if not parent.is_dir():
            raise ExportError(f"{parent} is a file, so the destination {self.path} cannot be inside it.")
        free = shutil.disk_usage(parent).free
        if free < needed + MARGIN:
            raise ExportError(
                f"The export needs {(needed + MARGIN) / 1e9:.3g} GB at {self.path}, but only {free / 1e9:.3g} GB are "
                f"free there."
            )

    @property
    def _prefix(self) -> str:
        return f".{self.path.name}.neuron-shim-"

    @contextlib.contextmanager
    def filled(self) -> Iterator[Path]:
        """A folder beside the destination to write into: renamed to it at the end, removed when anything fails."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=self._prefix, dir=self.path.parent))
        try:
            yield folder
            mask = os.umask(0)
            os.umask(mask)
            folder.chmod(0o777 & ~mask)  # mkdtemp makes it private
            _sync(folder)
            self._put_in_place(folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def _put_in_place(self, folder: Path) -> None:
        if not self.path.exists():
            folder.rename(self.path)
        elif not any(self.path.iterdir()):
            self.path.rmdir()
            folder.rename(self.path)
        else:
            old = Path(tempfile.mkdtemp(prefix=f"{self._prefix}old-", dir=self.path.parent))
            self.path.rename(old / "old")
            try:
                folder.rename(self.path)
            except BaseException:
                (old / "old").rename(self.path)
                old.rmdir()
                raise
            shutil.rmtree(old)
        _sync(self.path.parent)


def _sync(folder: Path) -> None:
    """Make the names in a folder last; only POSIX can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
