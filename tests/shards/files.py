"""Damage to the files of a checkpoint, and what tells that a folder is as it was."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    """Sizes and times of all that is in a folder."""
    return {
        str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")
    }


def cut(path: Path, size: int) -> None:
    with open(path, "rb+") as file:
        file.truncate(size)


def change_json(path: Path, change: Callable[[Any], None]) -> None:
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    path.write_text(json.dumps(value), encoding="utf-8")


class Attack:
    """Calls a function when it is unpickled."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


def hostile(path: Path, payload: bytes) -> None:
    """Replace the description of the tensors in a file of torch.save."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, payload if name.endswith("/data.pkl") else data)
