"""The benchmarks run and measure what they say; no time is looked at."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource")  # CPU time of child processes: not on Windows

from benchmarks import measure, run, touched, untouched


def test_the_generated_text_is_as_long_as_asked_and_migrates() -> None:
    from neuron_codemods import migrate

    text = touched.generated(300)
    assert 300 <= text.count("\n") < 330
    migration = migrate(text)
    assert migration.changed
    assert "optimum" not in migration.text
    ast.parse(migration.text)


def test_a_tree_is_mirrored_without_the_files_that_concern_the_tool(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "inner").mkdir(parents=True)
    (tree / "plain.py").write_text("x = 1\n", encoding="utf-8")
    (tree / "inner" / "plain.py").write_text("y = 1\n", encoding="utf-8")
    (tree / "neuron.py").write_text("from optimum.neuron import NeuronTrainer\n", encoding="utf-8")
    before = {path: path.read_bytes() for path in tree.rglob("*.py")}

    mirror = tmp_path / "mirror"
    untouched.mirrored(tree, untouched.files_without_needle(tree), mirror)
    assert sorted(path.relative_to(mirror).as_posix() for path in mirror.rglob("*.py")) == [
        "inner/plain.py",
        "plain.py",
    ]
    report = untouched.measured(mirror, "tree", 1)
    assert report.startswith("Nothing to migrate: 2 files, 0.0 MB, of tree\n")
    assert "libcst" not in report.splitlines()[-1].partition("among them")[2]
    assert {path: path.read_bytes() for path in tree.rglob("*.py")} == before


def test_numbers_stand_to_the_right() -> None:
    assert measure.table("Title", [("", "s"), ("a", "1.5"), ("bc", "10.5")]) == (
        "Title\n\n         s\n  a    1.5\n  bc  10.5\n"
    )


def test_the_default_tree_exists() -> None:
    assert run.default_tree().is_dir()


def test_wrong_usage_is_said() -> None:
    script = measure.REPOSITORY / "benchmarks" / "run.py"
    done = subprocess.run(
        [sys.executable, str(script), "--tree", "nowhere"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert "nowhere is not a directory" in done.stderr
