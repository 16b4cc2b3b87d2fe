"""Why a checkpoint cannot be exported."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

ANEW = "Copy it again, or take another checkpoint."
LARGEST_POINTER = 1024  # bytes (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md)


class ExportError(Exception):
    """One sentence that names the file and the numbers. The destination is as it was before."""


def check_is_file(path: Path) -> None:
    """Before it is opened: a pipe would be waited for without end.

    Raises:
        ExportError: it is a folder, a pipe or a device, or what Git LFS puts in the place of a large file.
        OSError: it does not exist, or cannot be read.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ExportError(f"{path} is not a file.")
    if status.st_size < LARGEST_POINTER and path.read_bytes().startswith(b"version https://git-lfs"):
        raise ExportError(f"{path} is a pointer of Git LFS: run git lfs pull where it was cloned, to have the file.")
