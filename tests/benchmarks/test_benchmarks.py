"""The benchmarks run and measure what they say; no time is looked at."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource")  # CPU time of child processes: not on Windows

from benchmarks import growth, measure, peers, run, touched, trees, untouched


def test_the_generated_text_is_as_long_as_asked_and_migrates() -> None:
    from neuron_codemods import migrate

    text = touched.generated(300)
    assert 300 <= text.count("\n") < 330
    migration = migrate(text)
    assert migration.changed
    assert "optimum" not in migration.text
    ast.parse(migration.text)


def test_trees_hold_what_is_asked_for(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "inner").mkdir(parents=True)
    (tree / "plain.py").write_text("x = 1\n", encoding="utf-8")
    (tree / "inner" / "plain.py").write_text("y = 1\n", encoding="utf-8")
    (tree / "neuron.py").write_text("from optimum.neuron import NeuronTrainer\n", encoding="utf-8")
    before = {path: path.read_bytes() for path in tree.rglob("*.py")}

    target = trees.filled(tree, trees.files_without_needle(tree), tmp_path / "target", 3)
    assert sorted(path.relative_to(target).as_posix() for path in target.rglob("*.py")) == [
        "copy0/tree/inner/plain.py",
        "copy0/tree/plain.py",
        "copy1/tree/inner/plain.py",
    ]
    report = untouched.measured(target, "tree", 1)
    assert report.startswith("Nothing to migrate: 3 files, 0.0 MB, of tree")
    assert "libcst" not in report.splitlines()[-1].partition("among them")[2]
    assert trees.sprinkled(target, 200) == 2
    assert {path: path.read_bytes() for path in tree.rglob("*.py")} == before


def test_a_peer_that_is_missing_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tree").mkdir()
    path = tmp_path / "tree" / "plain.py"
    path.write_text("x = 1\n", encoding="utf-8")
    present = peers.Peer("itself", "neuron_migrate", 2, lambda at, files: ["-c", "", *files], uses_libcst=True)
    missing = peers.Peer("nothing", "no_such_module", 2, lambda at, files: [])
    monkeypatch.setattr(peers, "PEERS", (present, missing))
    report = peers.measured(tmp_path / "tree", [str(path)], tmp_path / "copies", sys.executable, 2)
    assert "nothing (not installed)" in report
    assert "times as fast as the fastest that is built on libcst" in report


def test_every_large_file_migrates(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tree_sitter")
    monkeypatch.setattr(growth, "FACTOR", 2)
    rows = list(growth.grown(0.001))
    assert [name for name, *_ in rows] == [each.name for each in growth.KINDS]
    assert [count for _, count, *_ in rows] == [2 * max(each.count // 1_000, 4) for each in growth.KINDS]
    assert growth.measured(0.001).splitlines()[2].split()[-2:] == ["growth", "limit"]


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
