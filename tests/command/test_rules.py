"""``--list-rules``, ``--explain`` and the choice of rules."""

from __future__ import annotations

import pytest

from .support import Project

BOTH = "x = Neuron__old\ny = Neuron__other\n"


def test_the_list_of_rules_is_aligned_plain_text_in_a_pipe(project: Project) -> None:
    ended = project.run("--list-rules")
    assert ended.status == 0
    assert ended.lines == [
        "NM101  old-word  rewritten         the old word becomes the new one",
        "NM102  other     rewritten,review  the other word [sic]",
        "NM201  hard      manual            nothing to be done",
    ]


def test_a_rule_is_explained_with_its_first_two_rewriting_examples(project: Project) -> None:
    ended = project.run("--explain", "NM101")
    assert ended.status == 0
    assert ended.text.startswith("NM101 old-word\n\nRewrite the old word.\n\nIt is old.\nhttps://example.org/old\n")
    assert "    -x = Neuron__old()\n    +x = native_new()\n" in ended.text
    assert "Example: [bold]a name[/bold]\n\n    -Neuron__old\n    +native_new\n     y = 2\n" in ended.text
    assert "one too many" not in ended.text
    assert "left alone" not in ended.text
    assert ended.text.endswith("Outcomes: rewritten\nSee: https://example.org/old\n")


def test_a_rule_without_examples_is_explained_too(project: Project) -> None:
    assert project.run("--explain", "NM102").text.startswith("NM102 other\n\nOther.\n")


def test_a_code_may_be_written_in_small_letters(project: Project) -> None:
    assert project.run("--explain", "nm101").out == project.run("--explain", "NM101").out


@pytest.mark.parametrize(
    ("given", "after"),
    [
        (("--select", "NM101"), "x = native_new\ny = Neuron__other\n"),
        (("--select", "nm102"), "x = Neuron__old\ny = native_other\n"),
        (("--select", "NM101,NM102"), "x = native_new\ny = native_other\n"),
        (("--select", " NM101 , NM102,"), "x = native_new\ny = native_other\n"),
        (("--select", "NM101", "--select", "NM102"), "x = native_new\ny = native_other\n"),
        (("--select", "NM1"), "x = native_new\ny = native_other\n"),
        (("--select", "ALL", "--ignore", "NM101"), "x = Neuron__old\ny = native_other\n"),
        (("--ignore", "NM102"), "x = native_new\ny = Neuron__other\n"),
        (("--ignore", "NM1"), BOTH),
        (("--select", "NM201"), BOTH),
        (("--select", "NM1", "--ignore", "NM1"), BOTH),
    ],
)
def test_only_chosen_rules_run(project: Project, given: tuple[str, ...], after: str) -> None:
    ended = project.write({"a.py": BOTH}).run("a.py", *given)
    assert ended.status == 0
    assert project.read("a.py").decode() == after


def test_review_comments_are_written_only_when_asked_for(project: Project) -> None:
    project.write({"a.py": "Neuron__other\n", "b.py": "Neuron__other\n"})
    project.run("a.py")
    project.run("b.py", "--annotate")
    assert project.read("a.py") == b"native_other\n"
    assert project.read("b.py") == b"native_other  # NM102\n"
