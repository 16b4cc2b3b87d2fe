"""How to launch what was migrated: one command for each script that trains."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from neuron_codemods.kinds import PYTHON

FLAGS = "Launch lines that were not among these files lose their Neuron flags (--tensor_parallel_size, --zero_1, ...)."
SIZES = "TP_SIZE x FSDP_SIZE must be the number of processes; FSDP_SIZE, if not set, is what is missing."


LENGTH = 110
"""Of a longer command the end is not told: those are the arguments of the script."""


def commands(launches: Sequence[tuple[str, str]]) -> list[str]:
    """The commands, in the order of the files.

    ``launches`` has what stands before the launcher, and the script; or a whole command, and the launcher it stands
    in. A script is told by its launchers where there are some.
    """
    if not launches:
        return []
    from shlex import quote

    told: list[str] = []
    whole = [(command, path) for command, path in launches if not _is_script(path)]
    for before, path in launches:
        if not _is_script(path):
            command = before if len(before) <= LENGTH else f"{before[: LENGTH - 4].rstrip()} ..."
            told.append(f"{command}  # {path}")
        elif not any(_is_beside(path, other) and posixpath.basename(path) in command for command, other in whole):
            script = "script.py" if path.startswith("<") else quote(path)
            told.append(f"{before} torchrun --nproc_per_node=<cores> {script}".lstrip())
    return list(dict.fromkeys(told))


def _is_script(path: str) -> bool:
    return path.startswith("<") or path.endswith(PYTHON.suffixes)


def _is_beside(script: str, launcher: str) -> bool:
    """Whether two files lie in one folder, or one of them in a folder above the other."""
    above, below = sorted((posixpath.dirname(script), posixpath.dirname(launcher)), key=len)
    return above in ("", below) or below.startswith(f"{above}/")


def advice(launches: Sequence[tuple[str, str]]) -> str:
    """What to know of them; nothing if there are none."""
    if not launches:
        return ""
    sizes = any("TP_SIZE" in before for before, _ in launches)
    return f"{SIZES} {FLAGS}" if sizes else FLAGS
