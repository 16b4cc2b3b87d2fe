"""Measure what the command costs, as ratios that were taken in the same run.

    python benchmarks/run.py [--tree DIR] [--runs N]

The tree is only read. Without ``--tree`` it is the installed transformers, or else Python's own library. The times are
CPU seconds of this machine; only the ratios mean something on another. django-upgrade is measured if it is installed.
"""

from __future__ import annotations

import argparse
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import measure, peers, touched, untouched


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, default=None, help="a directory with Python files")
    parser.add_argument("--runs", type=int, default=7, help="how often each thing is measured (the median counts)")
    given = parser.parse_args()
    if given.runs < 1:
        parser.error("--runs must be at least 1")
    tree = (given.tree or default_tree()).resolve()
    if not tree.is_dir():
        parser.error(f"{tree} is not a directory")
    sys.path[:0] = map(str, measure.ROOTS)

    paths = untouched.files_without_needle(tree)
    if not paths:
        parser.error(f"{tree} holds no Python file without Neuron code")
    print(f"Python {sys.version.split()[0]}, medians of {given.runs} runs.\n")
    with tempfile.TemporaryDirectory() as folder:
        mirror = Path(folder, tree.name)
        untouched.mirrored(tree, paths, mirror)
        print(untouched.measured(mirror, tree.name, given.runs), flush=True)
        print(touched.measured(given.runs), flush=True)
        print(peers.measured(mirror, tree.name, given.runs), flush=True)


def default_tree() -> Path:
    spec = find_spec("transformers")
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).parent
    return Path(sysconfig.get_path("stdlib"))


if __name__ == "__main__":
    main()
