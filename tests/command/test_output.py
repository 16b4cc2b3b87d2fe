"""What is broken to the width of a terminal."""

from __future__ import annotations

import io
import sys

import click
import pytest

from neuron_migrate import cli
from neuron_migrate.output import wrapped


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
