"""What is broken to the width of a terminal."""

from __future__ import annotations

import io
import sys

import click
import pytest

from neuron_codemods.model import Finding, Outcome, Position
from neuron_migrate import cli
from neuron_migrate.gitignore import PatternError
from neuron_migrate.ignores import excluding
from neuron_migrate.interactive import Chooser, _ask
from neuron_migrate.output import NoAnswerError, Output, wrapped
from neuron_migrate.reports import Mode
from neuron_migrate.reports.text import TextReport
from neuron_migrate.results import FileResult, Problem, Totals


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_words_are_not_broken_and_colours_take_no_room() -> None:
    assert wrapped("", 10) == [""]
    assert wrapped("  one  two\nthree ", 7) == ["one two", "three"]
    assert wrapped("one /a/very/long/path two", 8) == ["one", "/a/very/long/path", "two"]
    red = click.style("one two", fg="red")
    assert wrapped(f"{red} three", 7) == [red, "three"]


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, columns: int, *given: str) -> tuple[int, list[str]]:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(cli.interrupts, "install", lambda: None)
    return cli.main(given), terminal.getvalue().splitlines()


def test_wrong_usage_is_told_in_whole_words(monkeypatch: pytest.MonkeyPatch) -> None:
    status, lines = on_a_terminal(monkeypatch, 40, "--select", "NM999", ".")
    assert status == 2
    assert lines[3:5] == ["Error: Invalid value for --select: no", "rule has the code or prefix 'NM999' (did"]
    assert max(map(len, lines)) <= 40


@pytest.mark.parametrize(
    ("given", "said"),
    [("transformers", "'transformers' is no LIBRARY=VERSION"), ("trl=0.24", "trl 0.24 is too old for migrated code")],
)
def test_a_target_that_is_none(monkeypatch: pytest.MonkeyPatch, given: str, said: str) -> None:
    status, lines = on_a_terminal(monkeypatch, 120, "--target", given, ".")
    assert status == 2
    assert said in lines[-1]


@pytest.mark.parametrize(("glob", "said"), [(" ", "' ' can never match: it is empty"), ("a/../b", "it leads out of")])
def test_a_pattern_that_never_matches(glob: str, said: str) -> None:
    with pytest.raises(PatternError, match=said):
        excluding([glob])


class Told:
    """A terminal of 40 columns, and what was written there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "40")
        monkeypatch.setenv("TERM", "xterm")
        self.stream = Terminal()
        self.stream.buffer = io.BytesIO()  # type: ignore[misc, assignment]
        self.out = Output(self.stream, color="never")

    @property
    def lines(self) -> list[str]:
        return self.stream.getvalue().splitlines()


def test_a_problem_is_broken_below_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told(monkeypatch)
    report = TextReport(Mode.CHECK, told.out, told.out)
    report.file(FileResult("a.py", problem=Problem("short", 3)))
    report.file(FileResult("folder/b.py", problem=Problem("a reason that is longer than the line", 3, 4)))
    assert told.lines == ["a.py:3:1: short", "folder/b.py:3:4:", "    a reason that is longer than the", "    line"]


def test_changes_that_nobody_wanted_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    told, totals = Told(monkeypatch), Totals()
    finding = Finding("NM101", Outcome.REVIEW, "It differs in one\nthing or another.", Position(1, 1), Position(1, 2))
    result = FileResult("a.py", b"old\nx\nold\n", b"new\nx\nnew\n", (finding,))
    answers = iter(["?", "n", "y"])
    chosen = Chooser(told.out, lambda: next(answers)).chosen(result)
    assert (chosen.after, chosen.findings, chosen.declined) == (b"old\nx\nnew\n", (), 1)
    assert "NM101 review It differs in one thing\n  or another.\n" in told.stream.getvalue()
    totals.add(chosen)
    TextReport(Mode.WRITE, told.out, told.out).end(totals)
    assert told.lines[-1] == "Left as it was: 1 change."


def test_an_answer_is_a_line_of_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert _ask() == "y\n"
    with pytest.raises(NoAnswerError):
        _ask()


def test_the_projects_of_a_run_are_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """See test_many_projects for more than are shown."""
    from neuron_migrate.reports import Detail

    told, totals = Told(monkeypatch), Totals()
    report = TextReport(Mode.CHECK, told.out, told.out, detail=Detail.STATISTICS)
    monkeypatch.setattr("neuron_migrate.projects.project_of", lambda directory: directory)
    for path in ("a/x.py", "b/x.py"):
        result = FileResult(path, problem=Problem("bad"))
        report.file(result)
        totals.add(result)
    report.end(totals)
    table = told.lines[told.lines.index(next(line for line in told.lines if line.startswith("project "))) :]
    assert [line.split() for line in table] == [
        ["project", "files", "rewritten", "review", "manual", "failed"],
        ["a", "1", "-", "-", "-", "1"],
        ["b", "1", "-", "-", "-", "1"],
    ]
