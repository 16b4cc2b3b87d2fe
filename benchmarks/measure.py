"""How CPU time is taken, and how rows are printed."""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
ROOTS = (REPOSITORY, REPOSITORY / "codemods", REPOSITORY / "runtime")


def environment() -> Mapping[str, str]:
    """For child processes: this checkout comes first, whatever is installed, and bytecode is kept as usual."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**own, "PYTHONPATH": os.pathsep.join(map(str, ROOTS))}


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


@dataclass(frozen=True)
class Cost:
    """What a process and all that it waited for took."""

    cpu: float
    """Seconds, of the user and of the system."""
    wall: float
    memory: float
    """The largest resident set of one of them, in MB."""


def cost(command: Sequence[str | Path], *, at: Path | None = None, accepted: Collection[int] = (0,)) -> Cost:
    """What a command takes; it ends the benchmark if the exit status is none of these."""
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=at, env=environment(), stdout=subprocess.DEVNULL, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)  # or else it would be waited for again
        if process.returncode not in accepted:
            errors.seek(0)
            said = errors.read().decode(errors="replace")[-2000:]
            raise SystemExit(f"{' '.join(map(str, command))[:200]}\nended with {process.returncode}\n{said}")
    # macOS counts bytes where Linux counts kilobytes.
    return Cost(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3))


def costs(commands: Sequence[Sequence[str | Path]], runs: int, *, accepted: Collection[int] = (0,)) -> list[Cost]:
    """What each command takes, the medians of ``runs``; they take turns. The first round is not counted."""
    taken: list[list[Cost]] = [[] for _ in commands]
    for run in range(runs + 1):
        for command, own in zip(commands, taken, strict=True):
            used = cost(command, accepted=accepted)
            if run:
                own.append(used)
    return [
        Cost(*(statistics.median(getattr(each, name) for each in own) for name in ("cpu", "wall", "memory")))
        for own in taken
    ]


def child(arguments: Sequence[str]) -> str:
    """What ``python ARGUMENTS`` prints."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)[:200]}\nended with {done.returncode}\n{done.stderr}")
    return done.stdout


def held(is_held: bool) -> str:
    """What is said of a limit."""
    return "held" if is_held else "not held"


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
