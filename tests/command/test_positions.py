"""Findings of a file that was rewritten stand where the new text has them."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuron_codemods.model import Finding, Outcome, Position
from neuron_migrate.positions import in_new_text
from neuron_migrate.results import FileResult


def line_after(before: str, after: str, line: int) -> int:
    place = Position(line, 1)
    finding = Finding("NM101", Outcome.REVIEW, "It differs.", place, place)
    result = FileResult("a.py", before.encode(), after.encode(), (finding,))
    return in_new_text(result).findings[0].start.line


def test_a_line_above_moves_it_down() -> None:
    assert line_after("a\nb\n", "# note\na\nb\n", 2) == 3


def test_a_line_that_goes_moves_it_up() -> None:
    assert line_after("a\nb\nc\n", "a\nc\n", 3) == 2


def test_a_changed_line_stays_in_its_place() -> None:
    assert line_after("a\nold\nc\n", "a\nx\nnew\nc\n", 4 - 1) == 4
    assert line_after("a\nold\nc\n", "a\nnew\nc\n", 2) == 2


def test_a_line_that_is_gone_is_where_it_was() -> None:
    assert line_after("a\ngone\nc\n", "a\nc\n", 2) == 2


def test_the_lines_of_a_call_that_was_broken_belong_to_its_beginning() -> None:
    short = 'args = Old("out", bf16=True)\ntrainer = Old(args)\n'
    long = 'args = New(\n    "out",\n    bf16=True,\n    optim="x",\n)\ntrainer = New(args)\n'
    assert [line_after(long, short, line) for line in range(1, 7)] == [1, 1, 1, 1, 1, 2]
    assert [line_after(short, long, line) for line in (1, 2)] == [1, 6]
    # Nothing begins alike: line by line.
    assert [line_after("a\nb\nc\n", "x\ny\n", line) for line in (1, 2, 3)] == [1, 2, 2]


def test_carriage_returns_end_lines_too() -> None:
    assert line_after("a\rb\r\nc", "new\ra\rb\r\nc", 3) == 4


def test_a_file_that_is_not_written_is_left_as_it_is() -> None:
    place = Position(7, 1)
    result = FileResult("a.py", b"a\n", None, (Finding("NM101", Outcome.REVIEW, "It differs.", place, place),))

    assert in_new_text(result) is result


@settings(deadline=None, derandomize=True, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(lines=st.lists(st.sampled_from("abcd")), inserted=st.lists(st.sampled_from("xyz")), at=st.integers(0, 9))
def test_every_line_that_stays_is_found_again(lines: list[str], inserted: list[str], at: int) -> None:
    at = min(at, len(lines))
    new = [*lines[:at], *inserted, *lines[at:]]
    before, after = ("".join(f"{line}\n" for line in text) for text in (lines, new))

    for number, line in enumerate(lines, start=1):
        assert new[line_after(before, after, number) - 1] == line
