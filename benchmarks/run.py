"""Measure what the command costs, as ratios that were taken in the same run.

    python benchmarks/run.py [--tree DIR] [--files N] [--runs N] [--peers PYTHON] [--only PART]

The tree is only read. Without ``--tree`` it is the installed transformers, or else Python's own library. The times are
CPU seconds of this machine; only the ratios mean something on another. Peers are measured if the interpreter that
``--peers`` names has them; the others are said to be missing.
"""

from __future__ import annotations

import argparse
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import growth, measure, mixed, peers, touched, trees, untouched

SCALED = 10_000
"""The number of files for which the large files are as large as can be."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, default=None, help="a directory with Python files")
    parser.add_argument("--files", type=int, default=SCALED, help="of how many files trees are made (10,000)")
    parser.add_argument("--runs", type=int, default=5, help="how often each short thing is measured (5; the median)")
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON", help="an interpreter that has the peers")
    parts = ("untouched", "mixed", "peers", "touched", "growth")
    parser.add_argument("--only", action="append", choices=parts, help="a part; may be repeated (all of them)")
    given = parser.parse_args()
    if given.runs < 1 or given.files < 1:
        parser.error("--runs and --files must be at least 1")
    tree = (given.tree or default_tree()).resolve()
    if not tree.is_dir():
        parser.error(f"{tree} is not a directory")
    sys.path[:0] = map(str, measure.ROOTS)

    paths = trees.files_without_needle(tree)
    if not paths:
        parser.error(f"{tree} holds no Python file without Neuron code")
    print(f"Python {sys.version.split()[0]}, medians of {given.runs} runs.\n")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        works: dict[str, Callable[[], str]] = {
            "untouched": lambda: untouched.measured(
                trees.filled(tree, paths, folder / "untouched", given.files), tree.name, given.runs
            ),
            "mixed": lambda: mixed.measured(tree, paths, folder, given.files),
            "peers": lambda: peers.measured(tree, paths, folder / "peers", given.peers, given.files),
            "touched": lambda: touched.measured(given.runs),  # what needs much memory comes last: children inherit it
            "growth": lambda: growth.measured(given.files / SCALED),
        }
        for part, work in works.items():
            if part in (given.only or parts):
                print(work(), flush=True)


def default_tree() -> Path:
    spec = find_spec("transformers")
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).parent
    return Path(sysconfig.get_path("stdlib"))


if __name__ == "__main__":
    main()
