"""Other codemods on the same tree, where they are installed: files per CPU-second, from a cold start."""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path

from benchmarks.measure import children, table

# Each peer reads the files and works on their texts; nothing is written. They are asked through their own functions,
# because django-upgrade's command has no mode that leaves the files alone.
_DJANGO_UPGRADE = """
import sys
from django_upgrade.data import Settings
from django_upgrade.main import apply_fixers
settings = Settings(target_version=(5, 2))
for path in open(sys.argv[1], encoding="utf-8", errors="surrogateescape").read().splitlines():
    with open(path, encoding="utf-8", newline="") as file:
        apply_fixers(file.read(), settings, path)
"""

_NOOP = """
import sys
import libcst
from libcst.codemod import CodemodContext
from libcst.codemod.commands.noop import NOOPCommand
for path in open(sys.argv[1], encoding="utf-8", errors="surrogateescape").read().splitlines():
    with open(path, "rb") as file:
        NOOPCommand(CodemodContext()).transform_module(libcst.parse_module(file.read()))
"""

SAMPLE = 100
"""libcst's codemod takes a minute for a large tree, so it gets every so many files."""


def measured(tree: Path, name: str, runs: int) -> str:
    """The table for a tree in which no file holds a needle."""
    paths = [str(path) for path in sorted(tree.rglob("*.py"))]
    (command,) = children([("-m", "neuron_migrate", str(tree), "--check", "--quiet", "--jobs", "1")], runs)
    ours = len(paths) / command
    rows = [("", "files", "CPU s", "files per CPU s", "as fast as ours")]
    rows.append(("neuron-migrate --check", f"{len(paths):,}", f"{command:.2f}", f"{ours:,.0f}", "1"))
    sample = paths[:: max(1, len(paths) // SAMPLE)][:SAMPLE]
    for peer, module, program, subset in (
        ("django-upgrade, all fixers", "django_upgrade", _DJANGO_UPGRADE, paths),
        ("libcst's NOOPCommand", "libcst", _NOOP, sample),
    ):
        if find_spec(module) is None:
            rows.append((f"{peer} (not installed)", "-", "-", "-", "-"))
            continue
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", errors="surrogateescape", suffix=".txt") as listing:
            listing.write("\n".join(subset))
            listing.flush()
            (seconds,) = children([("-c", program, listing.name)], 1)
        speed = len(subset) / seconds
        rows.append((peer, f"{len(subset):,}", f"{seconds:.2f}", f"{speed:,.0f}", f"1/{ours / speed:,.0f}"))
    return table(f"Peers on the same files of {name}, in which none of them has anything to do", rows)
