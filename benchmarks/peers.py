"""Other codemods on the same tree, where they are installed: files per CPU-second, from a cold start."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from benchmarks.measure import in_child, table

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


def measured(tree: Path, paths: list[str], scratch: Path, runs: int) -> str:
    """The table for the files of a tree that hold no needle."""
    rows = [("", "files", "CPU s", "files per CPU s", "against ours")]
    command, _ = in_child(
        ["-m", "neuron_migrate", str(scratch / "tree"), "--check", "--quiet", "--jobs", "1"], runs
    )
    ours = len(paths) / command
    rows.append(("neuron-migrate --check", f"{len(paths):,}", f"{command:.2f}", f"{ours:,.0f}", "1"))
    few = max(1, min(3, runs))
    sample = paths[:: max(1, len(paths) // SAMPLE)][:SAMPLE]
    for name, module, program, subset in (
        ("django-upgrade, all fixers", "django_upgrade", _DJANGO_UPGRADE, paths),
        ("libcst's NOOPCommand", "libcst", _NOOP, sample),
    ):
        if find_spec(module) is None:
            rows.append((f"{name}: not installed", "-", "-", "-", "-"))
            continue
        listing = scratch / f"{module}.txt"
        listing.write_text("\n".join(subset), encoding="utf-8", errors="surrogateescape")
        seconds, _ = in_child(["-c", program, str(listing)], few)
        speed = len(subset) / seconds
        rows.append((name, f"{len(subset):,}", f"{seconds:.2f}", f"{speed:,.0f}", f"1/{ours / speed:,.0f}"))
    return table(f"Peers on the files of {tree.name} that are not theirs", rows)
