"""A tree in which there is nothing to migrate: the command against a plain read of the same files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from benchmarks.measure import child, children, table

_READ = """
import os, sys
total = 0
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read()
            total += {what}
print(total)
"""
_SEARCH = "b'euron' in data and any(needle in data for needle in (b'optimum', b'Neuron', b'neuron-migrate'))"

_LOADED = """
import sys
from neuron_migrate.cli import main
assert main(sys.argv[1:]) == 0
print(len(sys.modules), *(name for name in ("libcst", "ast", "neuron_codemods.registry") if name in sys.modules))
"""


def files_without_needle(tree: Path) -> list[str]:
    """The Python files of a tree that the command opens and puts aside."""
    from neuron_codemods.needles import concerns
    from neuron_migrate.discover import Found, discover

    found = [item.path for item in discover([str(tree)]) if isinstance(item, Found) and item.kind is not None]
    return [path for path in found if not concerns(Path(path).read_bytes())]


def mirrored(tree: Path, paths: list[str], target: Path) -> None:
    """The same files in the same folders, without the others: hard links where the file system has them."""
    for path in paths:
        link = target / Path(path).resolve().relative_to(tree)
        link.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, link)
        except OSError:
            shutil.copyfile(path, link)


def measured(tree: Path, name: str, runs: int) -> str:
    """The table for a tree in which no file holds a needle."""
    sizes = [path.stat().st_size for path in tree.rglob("*") if path.is_file()]
    command = (str(tree), "--check", "--quiet", "--jobs", "1")
    start, version, read, search, ours = children(
        [
            ("-c", ""),
            ("-m", "neuron_migrate", "--help"),
            ("-c", _READ.format(what="len(data)"), str(tree)),
            ("-c", _READ.format(what=_SEARCH), str(tree)),
            ("-m", "neuron_migrate", *command),
        ],
        runs,
    )
    modules, *loaded = child(("-c", _LOADED, *command)).split()
    rows = [
        ("", "CPU s", "against the read"),
        ("start Python", f"{start:.3f}", f"{start / read:.2f}"),
        ("neuron-migrate --help", f"{version:.3f}", f"{version / read:.2f}"),
        ("walk and read", f"{read:.3f}", "1.00"),
        ("walk, read and look for the words", f"{search:.3f}", f"{search / read:.2f}"),
        ("neuron-migrate --check", f"{ours:.3f}", f"{ours / read:.2f}"),
    ]
    title = f"Nothing to migrate: {len(sizes):,} files, {sum(sizes) / 1e6:.1f} MB, of {name}"
    among = f"among them {', '.join(loaded)}" if loaded else "none of libcst, ast and the rules among them"
    return table(title, rows) + f"\n  {modules} modules imported, {among}\n"
