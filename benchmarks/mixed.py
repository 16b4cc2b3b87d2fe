"""A tree in which one file of a hundred is to be migrated: growth with its files and with processes, and memory."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks import trees
from benchmarks.measure import Cost, cost, table

FACTOR = 10
"""How many times as many files the larger tree has."""


def measured(tree: Path, paths: list[str], folder: Path, files: int) -> str:
    """The table for a tree of so many files, and for one with a tenth of them."""
    rows = [("", "to migrate", "CPU s", "wall s", "files per CPU s", "MB")]
    taken: dict[tuple[int, int], Cost] = {}
    for count in (max(files // FACTOR, 1), files):
        target = trees.filled(tree, paths, folder / f"mixed{count}", count)
        hits = trees.sprinkled(target, count)
        for jobs in (1, 2):
            used = taken[count, jobs] = _check(target, jobs)
            rows.append(_row(f"{count + hits:,} files, {_processes(jobs)}", hits, count + hits, used))
        if count == files:
            for jobs in (1, 2):
                used = taken[0, jobs] = _check(target / "scripts", jobs)
                rows.append(_row(f"only those to migrate, {_processes(jobs)}", hits, hits, used))
    small, large = taken[max(files // FACTOR, 1), 1], taken[files, 1]
    notes = [
        f"{FACTOR} times the files take {large.cpu / small.cpu:.1f} times the CPU, and"
        f" {large.memory / small.memory:.1f} times the memory",
        f"two processes take {taken[0, 2].wall / taken[0, 1].wall:.2f} of the time of one where all is to be migrated",
    ]
    title = f"One file in {trees.ONE_IN} to migrate: neuron-migrate --check"
    return table(title, rows) + "".join(f"\n  {note}" for note in notes) + "\n"


def _check(target: Path, jobs: int) -> Cost:
    command = (sys.executable, "-m", "neuron_migrate", target, "--check", "--quiet", "--jobs", str(jobs))
    return cost(command, accepted=(1, 5))


def _processes(jobs: int) -> str:
    return "1 process" if jobs == 1 else f"{jobs} processes"


def _row(name: str, hits: int, files: int, used: Cost) -> tuple[str, ...]:
    # The processes of a pool are nobody's children that is waited for: what they take, this one cannot tell.
    alone = "1 process" in name
    seconds, speed = (f"{used.cpu:.2f}", f"{files / used.cpu:,.0f}") if alone else ("-", "-")
    return (name, f"{hits:,}", seconds, f"{used.wall:.2f}", speed, f"{used.memory:.0f}" if alone else "-")
