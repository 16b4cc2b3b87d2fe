"""One run over many repositories, each with its own table, gives one report."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from neuron_migrate import cli
from neuron_migrate.projects import Projects, project_of
from neuron_migrate.results import FileResult, Problem

OLD = "from optimum.neuron import NeuronTrainer\n"
HARD = 'import importlib\n\nimportlib.import_module("optimum.neuron")\n'
BROKEN = "from optimum.neuron import (\n"
NATIVE = "from transformers import Trainer\n"
KINDS = (OLD, HARD, BROKEN, NATIVE, OLD, OLD)
TABLES = ("", "annotate = true", "", "", 'ignore = ["NM"]', "selct = 1")
"""Of each six repositories: one is rewritten, one left by hand, one broken, one native, one ignored, one refused."""
COUNT = 300


@pytest.fixture
def repositories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for number in range(COUNT):
        root = tmp_path / f"team{number % 7}" / f"repository{number}"
        (root / "src").mkdir(parents=True)
        (root / "pyproject.toml").write_text(f"[tool.neuron-migrate]\n{TABLES[number % 6]}\n")
        (root / "src" / "train.py").write_text(KINDS[number % 6])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli.interrupts, "install", lambda: None)
    return tmp_path


def test_300_repositories_in_one_call(repositories: Path, capsys: pytest.CaptureFixture[str]) -> None:
    each = COUNT // 6
    assert cli.main([".", "--check", "--jobs", "1", "--statistics", "--report", "all.md"]) == 13
    told = capsys.readouterr()
    assert (
        f"Files: {2 * COUNT} scanned, {2 * each} with findings, {2 * each} would be rewritten, 100 could" in told.out
    )
    assert len(told.err.splitlines()) == 2 * each
    lines = told.out.splitlines()
    table = lines[lines.index(next(line for line in lines if line.startswith("project "))) + 1 :]
    assert [line.split()[1:] for line in table[:20]].count(["1", "-", "-", "1", "-"]) > 5
    assert table[20] == f"and {4 * each - 20} more projects; --report writes them all"

    page = (repositories / "all.md").read_text()
    assert len(re.findall(r"^\| `team\d/repository\d+` \|", page, re.MULTILINE)) == 4 * each
    (task,) = re.findall(r"^- \[ \] .*places.*", page, re.MULTILINE)
    assert f"{each} places: " in task
    assert page.count("  - [ ] team") == each

    assert cli.main([".", "--check", "--jobs", "1", "--output-format", "json", "--report", "all.html"]) == 13
    report = json.loads(capsys.readouterr().out)
    assert len(report["files"]) == 4 * each
    html = (repositories / "all.html").read_text()
    assert f"<summary>{each} places</summary>" in html
    assert html.count("<details>") == 1 + 2 * each  # each diff is folded away too


def test_a_project_is_the_nearest_directory_that_holds_one(tmp_path: Path) -> None:
    for name in ("a/b", "c/d/e", "f"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "a" / "setup.py").touch()
    (tmp_path / "c" / ".git").mkdir()
    assert project_of(str(tmp_path / "a" / "b")) == str(tmp_path / "a")
    assert project_of(str(tmp_path / "c" / "d" / "e")) == str(tmp_path / "c")
    assert project_of("nowhere/at/all") in (".", "")


def test_projects_with_most_left_to_do_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "setup.cfg").touch()
    monkeypatch.chdir(tmp_path)
    projects = Projects()
    projects.add(FileResult("native.py", b""))
    projects.add(FileResult("a/x.py", b"", b"x"))
    assert projects.rows() == []
    projects.add(FileResult("b/x.py", b"", problem=Problem("broken")))
    assert projects.rows() == [("b", (1, 0, 0, 0, 1)), ("a", (1, 0, 0, 0, 0))]
