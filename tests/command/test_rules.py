"""``--list-rules``, ``--explain`` and the choice of rules."""

from __future__ import annotations

import json

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


def test_the_list_of_rules_for_programs(project: Project) -> None:
    told = json.loads(project.run("--list-rules", "--output-format", "json").text)
    assert told["version"] == 1
    assert [rule["code"] for rule in told["rules"]] == ["NM101", "NM102", "NM201"]
    assert told["rules"][0]["examples"][1] == {
        "name": "a call",
        "before": "x = Neuron__old()\n",
        "after": "x = native_new()\n",
    }
    assert project.run("--list-rules", "--output-format", "sarif").status == 2


def test_a_rule_is_explained_with_its_first_two_rewriting_examples(project: Project) -> None:
    ended = project.run("--explain", "NM101")
    assert ended.status == 0
    assert ended.text == (
        "# NM101 old-word\n\nWhat it does.\n\n## Why\n\nWhy so.\n\n## Examples\n\n"
        "A call:\n\n```diff\n-x = Neuron__old()\n+x = native_new()\n```\n\n"
        "\\[bold\\]a name\\[/bold\\]:\n\n```diff\n-Neuron__old\n+native_new\n y = 2\n```\n\n"
        "## Outcomes\n\n- rewritten: rewritten with the same meaning\n\n"
        "## References\n\n- <https://example.org/old>\n"
    )


def test_a_rule_without_examples_is_explained_too(project: Project) -> None:
    assert "## Examples" not in project.run("--explain", "NM102").text


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
