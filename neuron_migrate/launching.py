"""How to launch what was migrated: one command for each script that trains."""

from __future__ import annotations

from collections.abc import Sequence

FLAGS = "Launch lines that were not among these files lose their Neuron flags (--tensor_parallel_size, --zero_1, ...)."
SIZES = "TP_SIZE x FSDP_SIZE must be the number of processes; FSDP_SIZE, if not set, is what is missing."


def commands(launches: Sequence[tuple[str, str]]) -> list[str]:
    """The commands, in the order of the files. ``launches`` has what stands before the launcher, and the script."""
    if not launches:
        return []
    from shlex import quote

    return [
        f"{before} torchrun --nproc_per_node=<cores> {'script.py' if path.startswith('<') else quote(path)}".lstrip()
        for before, path in launches
    ]


def advice(launches: Sequence[tuple[str, str]]) -> str:
    """What to know of them; nothing if there are none."""
    if not launches:
        return ""
    return f"{SIZES} {FLAGS}" if any(before for before, _ in launches) else FLAGS
