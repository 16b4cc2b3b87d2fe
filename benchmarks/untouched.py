"""A tree in which there is nothing to migrate: the command against a search with grep, and a plain read."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from benchmarks.measure import child, costs, held, table

BOUND = 3
"""What the command may cost, in searches with grep."""

_READ = """
import os, sys
total = 0
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            total += len(file.read())
"""

_LOADED = """
import sys
from neuron_migrate.cli import main
assert main(sys.argv[1:]) == 0
heavy = ("rich", "libcst", "tomllib", "neuron_codemods.registry")
print(len(sys.modules), *(name for name in heavy if name in sys.modules))
"""


def measured(tree: Path, name: str, runs: int) -> str:
    """The table for a tree in which no file holds a needle."""
    from neuron_codemods.needles import NEEDLES

    sizes = [path.stat().st_size for path in tree.rglob("*") if path.is_file()]
    pattern = "|".join(needle.decode() for needle in NEEDLES)
    options = (str(tree), "--check", "--quiet", "--jobs", "1")
    ours = "neuron-migrate --check"
    commands: dict[str, tuple[str, ...]] = {
        "grep -rlE": ("grep", "-rlE", pattern, str(tree)),
        "ripgrep, one thread": ("rg", "-j1", "-l", pattern, str(tree)),
        "start Python": (sys.executable, "-c", ""),
        "walk and read in Python": (sys.executable, "-c", _READ, str(tree)),
        "neuron-migrate --help": (sys.executable, "-m", "neuron_migrate", "--help"),
        ours: (sys.executable, "-m", "neuron_migrate", *options),
    }
    present = {what: command for what, command in commands.items() if shutil.which(command[0])}
    taken = dict(zip(present, costs(list(present.values()), runs, accepted=(0, 1)), strict=True))
    modules, *loaded = child(("-c", _LOADED, *options)).split()
    rows = [("", "CPU s", "against grep", "limit", "")]
    base = taken["grep -rlE"].cpu if "grep -rlE" in taken else None
    for what in commands:
        if what in taken:
            cpu = taken[what].cpu
            limit = (str(BOUND), held(cpu <= BOUND * base)) if base and what == ours else ("", "")
            rows.append((what, f"{cpu:.3f}", f"{cpu / base:.2f}" if base else "-", *limit))
        else:
            rows.append((f"{what} (not installed)", "-", "-", "", ""))
    title = f"Nothing to migrate: {len(sizes):,} files, {sum(sizes) / 1e6:.1f} MB, of {name}"
    among = f"among them {', '.join(loaded)}" if loaded else "none of rich, libcst and the rules among them"
    return table(title, rows) + f"\n  {modules} modules imported, {among}\n"
