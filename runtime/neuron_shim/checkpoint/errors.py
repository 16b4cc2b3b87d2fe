"""Why a checkpoint cannot be exported."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class ExportError(Exception):
    """One sentence that names the file and the numbers. The destination is as it was before."""


def check_is_file(path: Path) -> None:
    """Before it is opened: a pipe would be waited for without end. What does not exist is for whoever opens it.

    Raises:
        ExportError: it is a folder, a pipe or a device.
    """
    if path.exists() and not path.is_file():
        raise ExportError(f"{path} is not a file.")
