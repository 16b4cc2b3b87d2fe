"""Other tools on a tree of the same make-up, where they are installed: files per CPU-second, from a cold start.

Each gets its own copy of a part of the tree, because some write, and no more files than it gets through in a minute.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import trees
from benchmarks.measure import cost, held, table

BOUND = 10
"""How many times faster than the fastest tool that is built on libcst this one is to be."""


@dataclass(frozen=True)
class Peer:
    """One tool: how it is asked to look at files and to change none."""

    name: str
    module: str
    files: int
    """How many it is given."""
    arguments: Callable[[Path, list[str]], list[str]]
    """From the directory and its files to what stands behind ``python``."""
    uses_libcst: bool = False
    settles: bool = False
    """Whether it has no mode that leaves files alone, so that only a second run finds nothing to do."""


# LibCST's own runner takes longer than this.
_NOOP = """
import sys
import libcst
from libcst.codemod import CodemodContext
from libcst.codemod.commands.noop import NOOPCommand
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        NOOPCommand(CodemodContext()).transform_module(libcst.parse_module(file.read()))
"""

PEERS = (
    Peer(
        "django-upgrade, all fixers",
        "django_upgrade",
        500,
        lambda at, files: ["-m", "django_upgrade", "--target-version", "5.2", "--check", *files],
    ),
    Peer(
        "pyupgrade",
        "pyupgrade",
        200,
        lambda at, files: ["-m", "pyupgrade", "--py310-plus", "--exit-zero-even-if-changed", *files],
        settles=True,
    ),
    Peer("libcst's NOOPCommand", "libcst", 100, lambda at, files: ["-c", _NOOP, *files], uses_libcst=True),
    Peer("Fixit, its own rules", "fixit", 30, lambda at, files: ["-m", "fixit", "lint", str(at)], uses_libcst=True),
    Peer(
        "torchfix, all rules",
        "torchfix",
        30,
        lambda at, files: ["-m", "torchfix", "--select", "ALL", str(at)],
        uses_libcst=True,
    ),
    Peer(
        "bump-pydantic",
        "bump_pydantic",
        10,
        lambda at, files: ["-m", "bump_pydantic", "--diff", str(at)],
        uses_libcst=True,
    ),
)


def measured(tree: Path, paths: list[str], folder: Path, python: str, files: int) -> str:
    """The table; ``python`` is what has the peers, ``files`` how many at most each of them is given."""
    target, _ = _sample(tree, paths, folder / "ours", files)
    used = cost((sys.executable, "-m", "neuron_migrate", target, "--check", "--quiet", "--jobs", "1"), accepted=(1, 5))
    ours = files / used.cpu
    rows = [("", "files", "CPU s", "files per CPU s", "ours is faster")]
    rows.append(("neuron-migrate --check", f"{files:,}", f"{used.cpu:.2f}", f"{ours:,.0f}", ""))
    fastest = 0.0
    for number, peer in enumerate(PEERS):
        if not _has(python, peer.module):
            rows.append((f"{peer.name} (not installed)", "-", "-", "-", "-"))
            continue
        count = min(peer.files, files)
        at, listed = _sample(tree, paths, folder / f"peer{number}", count)
        command = (python, *peer.arguments(at.relative_to(at.parent), listed))
        for _ in range(2 if peer.settles else 1):
            used = cost(command, at=at.parent, accepted=(0, 1))
        speed = count / used.cpu
        fastest = max(fastest, speed if peer.uses_libcst else 0.0)
        rows.append((peer.name, f"{count:,}", f"{used.cpu:.2f}", f"{speed:,.1f}", f"{ours / speed:,.0f} times"))
    title = f"Peers on files of {tree.name}, one in {trees.ONE_IN} with Neuron code"
    told = f"\n  {ours / fastest:,.0f} times as fast as the fastest that is built on libcst" if fastest else ""
    return table(title, rows) + (f"{told} (at least {BOUND}: {held(ours >= BOUND * fastest)})\n" if told else "")


def _sample(tree: Path, paths: list[str], target: Path, count: int) -> tuple[Path, list[str]]:
    """A package with every so many files of a tree, and the paths of its files as seen from beside it."""
    step = max(len(paths) // count, 1)
    trees.filled(tree, paths[::step][:count], target, count, copied=True)
    number = trees.sprinkled(target, count)
    files = sorted(path.relative_to(target.parent) for path in target.rglob("*.py"))
    assert len(files) == count + number
    return target, [str(path) for path in files]


def _has(python: str, module: str) -> bool:
    look = f"import sys, importlib.util as u; sys.exit(u.find_spec({module!r}) is None)"
    return not subprocess.run([python, "-c", look], check=False).returncode
