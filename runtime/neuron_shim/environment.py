"""What the launcher (torchrun) said about this process: rank, number of processes, sizes asked for."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def is_main_process() -> bool:
    """Whether this is the process that writes files and prints: rank 0 of all machines together.

    Asks the process group once there is one; before that, and without torch, the variable ``RANK`` of torchrun
    (https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables). A process started without a
    launcher is the main process.

    Raises:
        ValueError: ``RANK`` is set and is not a whole number.
    """
    group = _process_group()
    return (group.get_rank() if group else read_number("RANK", at_least=0) or 0) == 0


def world_size() -> int:
    """Number of processes of this run, on all machines together; 1 without a launcher."""
    group = _process_group()
    size: int = group.get_world_size() if group else read_number("WORLD_SIZE", at_least=1) or 1
    return size


def local_rank() -> int | None:
    """Number of this process among those of its machine, or None without a launcher."""
    return read_number("LOCAL_RANK", at_least=0)


def read_number(name: str, *, at_least: int) -> int | None:
    """The whole number in the environment variable ``name``; None if it is unset or, as after ``NAME= cmd``, empty.

    Raises:
        ValueError: the variable holds something else, or a number below ``at_least``.
    """
    text = os.environ.get(name, "").strip()
    if not text:
        return None
    # int() alone would let "1_0" and "+4" pass, which no launcher writes on purpose.
    if text.isascii() and text.isdecimal() and int(text) >= at_least:
        return int(text)
    raise ValueError(
        f"The environment variable {name} is {text!r}, but must be a whole number of at least {at_least}. "
        f"Correct it or unset it."
    )


def _process_group() -> ModuleType | None:
    """torch.distributed if a process group exists. None can exist before somebody has imported torch."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed
