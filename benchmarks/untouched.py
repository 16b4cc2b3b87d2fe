"""A tree in which there is nothing to migrate: the command against a plain read of the same files."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import ROOTS, in_child, table

_READ = """
import sys
total = 0
for path in open(sys.argv[1], encoding="utf-8", errors="surrogateescape").read().splitlines():
    with open(path, "rb") as file:
        total += len(file.read())
print(total)
"""

_COMMAND = """
import json, sys
from neuron_migrate.cli import main
status = main(sys.argv[1:])
names = ("libcst", "ast", "neuron_codemods.registry")
sys.stderr.write(json.dumps({"modules": len(sys.modules), "loaded": [n for n in names if n in sys.modules]}))
sys.exit(status)
"""

_MODULES = """
import subprocess, sys
done = subprocess.run([sys.executable, "-c", *sys.argv[1:]], capture_output=True, text=True)
sys.stdout.write(done.stderr.splitlines()[-1])
"""


def files_without_needle(tree: Path) -> list[str]:
    """The Python files of a tree that the command opens and puts aside."""
    sys.path[:0] = map(str, ROOTS)
    from neuron_codemods.needles import concerns
    from neuron_migrate.discover import Found, discover

    found = [item.path for item in discover([str(tree)]) if isinstance(item, Found) and item.kind is not None]
    return [path for path in found if not concerns(Path(path).read_bytes())]


def measured(tree: Path, paths: Sequence[str], scratch: Path, runs: int) -> str:
    """The table for the files of a tree that hold no needle."""
    listing = scratch / "files.txt"
    listing.write_text("\n".join(paths), encoding="utf-8", errors="surrogateescape")
    size = sum(Path(path).stat().st_size for path in paths)
    # The command gets a directory to walk, as it does from a user: links to the files, in folders of a thousand.
    links = scratch / "tree"
    for number, path in enumerate(paths):
        link = links / str(number // 1000) / f"{number}.py"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(Path(path).resolve())

    start, _ = in_child(["-c", ""], runs)
    read, _ = in_child(["-c", _READ, str(listing)], runs)
    arguments = ["-c", _COMMAND, str(links), "--check", "--quiet", "--jobs", "1"]
    command, _ = in_child(arguments, runs)
    _, said = in_child(["-c", _MODULES, *arguments[1:]], 1)
    seen = json.loads(said)
    rows = [
        ("", "CPU s", "against read"),
        ("python -c ''", f"{start:.3f}", f"{start / read:.2f}"),
        ("read the bytes", f"{read:.3f}", "1.00"),
        ("neuron-migrate --check", f"{command:.3f}", f"{command / read:.2f}"),
        ("the same, without starting Python", f"{command - start:.3f}", f"{(command - start) / (read - start):.2f}"),
    ]
    title = f"Nothing to migrate: {len(paths):,} files, {size / 1e6:.1f} MB, of {tree.name}"
    loaded = ", ".join(seen["loaded"]) or "none of libcst, ast and the rules"
    return table(title, rows) + f"\n  modules imported by the command: {seen['modules']}; among them {loaded}\n"
