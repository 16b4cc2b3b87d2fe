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


def in_process(work: Callable[[], object], runs: int) -> float:
    """CPU seconds of a function, the median of ``runs``; one more run goes before, to warm caches."""
    work()
    times = []
    for _ in range(runs):
        gc.collect()
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


def in_child(arguments: Sequence[str], runs: int, statuses: Sequence[int] = (0,)) -> tuple[float, str]:
    """CPU seconds of ``python ARGUMENTS`` with all it waits for, the median of ``runs``, and what it printed."""
    times = []
    printed = ""
    for run in range(runs + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([sys.executable, *arguments], env=environment(), capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in statuses:
            raise SystemExit(f"{' '.join(arguments)[:200]}\nended with {done.returncode}\n{done.stderr}")
        printed = done.stdout
        if run:  # the first one reads the disk and writes bytecode
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(times), printed


def table(title: str, rows: Sequence[Sequence[str]]) -> str:
    """Rows under a title, the first of them the heading; numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [title, ""]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append(("  " + "  ".join(cells)).rstrip())
    return "\n".join(lines) + "\n"
