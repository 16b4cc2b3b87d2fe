"""``--interactive``: each change of a file is shown and asked about."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuron_migrate import cli

from .support import Project

LINES = "".join(f"x{number} = 1\n" for number in range(9))
FILE = f"Neuron__old\n{LINES}Neuron__other\n{LINES}Neuron__old\n"


def applied(project: Project) -> str:
    """Which of the three changes were made."""
    lines = project.read("a.py").decode().splitlines()
    return "".join("y" if line.startswith("native") else "n" for line in (lines[0], lines[10], lines[20]))


@pytest.mark.parametrize(
    ("answers", "made"),
    [
        ("y\ny\ny\n", "yyy"),
        ("n\nn\nn\n", "nnn"),
        ("n\ny\nn\n", "nyn"),
        ("a\n", "yyy"),
        ("n\na\n", "nyy"),
        ("y\nd\n", "ynn"),
        ("Y\nq\n", "ynn"),
        ("?\n\nx\ny\nn\nn\n", "ynn"),
    ],
)
def test_only_what_is_wanted_is_written(project: Project, answers: str, made: str) -> None:
    ended = project.write({"a.py": FILE}).run("a.py", "--interactive", stdin=answers.encode())
    assert (ended.status, applied(project)) == (0, made)


def test_a_change_is_shown_with_its_findings_and_lines_around_it(project: Project) -> None:
    ended = project.write({"a.py": FILE}).run("a.py", "-i", stdin=b"n\ny\nn\n")
    assert (
        "a.py, change 2 of 3\n@@ line 8 @@\n x6 = 1\n x7 = 1\n x8 = 1\n-Neuron__other\n+native_other\n x0 = 1\n"
        in (ended.err)
    )
    assert "NM102 review Neuron__other became native_other; mind the memory." in ended.err
    assert "Apply this change [y,n,a,d,q,?]?" in ended.err


def test_the_report_is_of_what_was_written(project: Project) -> None:
    ended = project.write({"a.py": FILE}).run("a.py", "-i", stdin=b"n\ny\nn\n")
    assert "References: 1 found, 0 rewritten, 1 to review, 0 to do by hand." in ended.text
    ended = project.write({"a.py": FILE}).run("a.py", "-i", stdin=b"d\n")
    assert "Rewrote" not in ended.text
    assert ended.text.splitlines()[1:4] == [
        "Files: 1 scanned, 0 with findings, 0 rewritten.",
        "References: 0 found, 0 rewritten, 0 to review, 0 to do by hand.",
        "Left as it was: 3 changes.",
    ]


def test_enough_holds_for_the_files_that_follow(project: Project) -> None:
    project.write(dict.fromkeys(("a.py", "b.py", "c.py"), "Neuron__old\n")).run(".", "-i", stdin=b"y\nq\n")
    assert [project.read(name) for name in ("a.py", "b.py", "c.py")] == [b"native_new\n", *[b"Neuron__old\n"] * 2]


def test_the_end_of_the_answers_is_an_interrupt(project: Project) -> None:
    ended = project.write({"a.py": FILE}).run("a.py", "-i", stdin=b"y\n")
    assert (ended.status, applied(project)) == (130, "nnn")
    assert ended.err.endswith("No answer came. Every file is whole: migrated, or as it was.\n")


def test_without_a_standard_input_there_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    monkeypatch.setattr(cli.interrupts, "install", lambda: None)
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text("from optimum.neuron import NeuronTrainer\n")
    assert cli.main(["-i", "a.py"]) == 130
    assert "No answer came." in capsys.readouterr().err


def test_newlines_and_a_missing_last_one_stay(project: Project) -> None:
    data = b"Neuron__old\r\nx = 1\rNeuron__old"
    project.write({"a.py": data}).run("a.py", "-i", stdin=b"n\ny\n")
    assert project.read("a.py") == b"Neuron__old\r\nx = 1\rnative_new"


@pytest.mark.parametrize("given", [("--diff",), ("--check",)])
def test_it_goes_only_where_something_is_written(project: Project, given: tuple[str, ...]) -> None:
    assert project.run(".", "-i", *given).status == 2
    assert project.run("-", "-i").status == 2
