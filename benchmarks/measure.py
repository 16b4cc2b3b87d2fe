"""How CPU time is taken, and how rows are printed."""

from __future__ import annotations

import gc
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
ROOTS = (REPOSITORY, REPOSITORY / "codemods", REPOSITORY / "runtime")


def environment() -> Mapping[str, str]:
    """For child processes: this checkout comes first, whatever is installed."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, ROOTS))}


def side_by_side(works: Sequence[Callable[[], object]], runs: int, *, warm: bool = True) -> list[float]:
    """CPU seconds of each function, the medians of ``runs``; they take turns, so that a busy moment meets all."""
    if warm:
        for work in works:
            work()
    times: list[list[float]] = [[] for _ in works]
    for _ in range(runs):
        for work, taken in zip(works, times, strict=True):
            gc.collect()
            start = time.process_time()
            work()
            taken.append(time.process_time() - start)
    return [statistics.median(taken) for taken in times]


def children(commands: Sequence[Sequence[str]], runs: int) -> list[float]:
    """CPU seconds of each ``python ARGUMENTS`` with all it waits for, the medians of ``runs``; they take turns."""
    times: list[list[float]] = [[] for _ in commands]
    for run in range(runs + 1):
        for arguments, taken in zip(commands, times, strict=True):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            child(arguments)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if run:  # the first round reads the disk and writes bytecode
                taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return [statistics.median(taken) for taken in times]


def child(arguments: Sequence[str]) -> str:
    """What ``python ARGUMENTS`` prints."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)[:200]}\nended with {done.returncode}\n{done.stderr}")
    return done.stdout


def table(title: str, rows: Sequence[Sequence[str]]) -> str:
    """Rows under a title, the first of them the heading; numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [title, ""]
    for row in rows:
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
        ]
        lines.append(("  " + "  ".join(cells)).rstrip())
    return "\n".join(lines) + "\n"
