"""Entries of a mapping literal that a call takes its arguments from."""

from __future__ import annotations

import ast

import pytest

from neuron_codemods import Settings, migrate
from neuron_codemods.edits import CallEdit
from neuron_codemods.mappings import edit_mapping

HEAD = "from optimum.neuron import NeuronTrainingArguments\n\n"


def migrated(text: str) -> str:
    result = migrate(HEAD + text, settings=Settings(select=("NM110",))).text
    ast.parse(result)
    assert migrate(result, settings=Settings(select=("NM110",))).text == result
    return result.removeprefix(HEAD)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param('{"a": 1, "use_xser": True}', '{"a": 1}', id="the last of one line"),
        pytest.param('{"use_xser": True, "a": 1}', '{"a": 1}', id="the first of one line"),
        pytest.param('{"a": 1, "use_xser": True, "b": 2}', '{"a": 1, "b": 2}', id="one in the middle"),
        pytest.param('{"use_xser": True}', "{}", id="the only one"),
        pytest.param('{"use_xser": True,}', "{}", id="the only one, with a comma"),
        pytest.param("{'evaluation_strategy': \"no\"}", "{'eval_strategy': \"no\"}", id="a key in its quotes"),
        pytest.param('{"report_to": None}', '{"report_to": "all"}', id="a value"),
        pytest.param(
            '{\n    "a": 1,  # one\n    "use_xser": True,  # gone\n}', '{\n    "a": 1,  # one\n}', id="one a line"
        ),
        pytest.param(
            '{\n    "use_xser": True,\n    # about b\n    "b": 2\n}',
            '{\n    # about b\n    "b": 2\n}',
            id="the comment of the next one",
        ),
        pytest.param(
            '{\n    "a": 1,\n    # cores\n    "tensor_parallel_size": 1,\n    "zero_1": False,\n}',
            '{\n    "a": 1,\n    # cores\n}',
            id="several at the end",
        ),
        pytest.param(
            '{\r\n\t"a": 1,\r\n\t"use_xser": True,\r\n\t"b": 2,\r\n}',
            '{\r\n\t"a": 1,\r\n\t"b": 2,\r\n}',
            id="tabs and carriage returns",
        ),
        pytest.param("dict(a=1, use_xser=True)", "dict(a=1)", id="a call of dict"),
    ],
)
def test_entries_are_changed(before: str, after: str) -> None:
    text = "options = {}\nNeuronTrainingArguments(**options)\n"

    assert migrated(text.format(before)) == text.format(after)
    assert migrated(f"NeuronTrainingArguments(**{before})\n") == f"NeuronTrainingArguments(**{after})\n"


@pytest.mark.parametrize("merged", ["{**base, **more}", "dict(**base, **more)"])
def test_mappings_that_are_merged_are_read(merged: str) -> None:
    text = 'base = {{{}"seed": 1}}\nmore = {{"{}": "no"}}\noptions = {}\nNeuronTrainingArguments("o", **options)\n'

    before = text.format('"use_xser": True, ', "evaluation_strategy", merged)
    assert migrated(before) == text.format("", "eval_strategy", merged)


def test_what_is_known_of_a_merged_mapping_is_changed_and_the_rest_is_for_a_person() -> None:
    migration = migrate(HEAD + 'NeuronTrainingArguments(**{**other, "use_xser": True})\n')

    assert "TrainingArguments(**{**other})" in migration.text
    assert [finding.code for finding in migration.findings if finding.outcome.value == "manual"] == ["NM110"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            'options = {"use_xser": True}\nNeuronTrainingArguments(**options)\nprint(options)\n', id="used otherwise"
        ),
        pytest.param(
            'options = {"use_xser": True}\noptions = {}\nNeuronTrainingArguments(**options)\n', id="bound twice"
        ),
        pytest.param("NeuronTrainingArguments(**{key: True})\n", id="a computed key"),
        pytest.param('NeuronTrainingArguments(**{**{key: True}, "seed": 1})\n', id="a computed key in a merged one"),
        pytest.param("NeuronTrainingArguments(**dict(other))\n", id="a copy"),
        pytest.param("def f(options):\n    NeuronTrainingArguments(**options)\n", id="a parameter"),
    ],
)
def test_what_cannot_be_followed_is_for_a_person(text: str) -> None:
    migration = migrate(HEAD + text, settings=Settings(select=("NM110",)))
    lines = [
        line for line in migration.text.splitlines() if not line.lstrip().startswith("# TODO(neuron-migrate NM110)")
    ]

    assert lines == (HEAD + text).splitlines()
    assert any(finding.outcome.value == "manual" for finding in migration.findings)


def test_copied_arguments_are_no_mapping_to_read() -> None:
    text = "def f(a):\n    options = a.to_dict()\n    return NeuronTrainingArguments(**options)\n"

    assert migrate(HEAD + text, settings=Settings(select=("NM110",))).findings == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("{}", '{"n": 1}', id="nothing"),
        pytest.param("{'a': 1}", "{'a': 1, 'n': 1}", id="one"),
        pytest.param("{'a': 1,}", "{'a': 1, 'n': 1,}", id="one with a comma"),
        pytest.param('{"a": 1,  "b": 2}', '{"a": 1,  "b": 2,  "n": 1}', id="one line"),
        pytest.param("{**a}", '{**a, "n": 1}', id="another mapping"),
        pytest.param('{\n    "a": 1\n}', '{\n    "a": 1,\n    "n": 1\n}', id="one a line, without a comma"),
        pytest.param(
            '{\n    "a": 1,  # one\n    "b": 2,  # two\n    # end\n}',
            '{\n    "a": 1,  # one\n    "b": 2,  # two\n    "n": 1,\n    # end\n}',
            id="comments",
        ),
        pytest.param('{"a": 1,  # one\n}', '{"a": 1,  # one\n"n": 1,\n}', id="a comment on the first line"),
        pytest.param('{\r\n  "a": 1,\r\n}', '{\r\n  "a": 1,\r\n  "n": 1,\r\n}', id="carriage returns"),
        pytest.param(
            '{"a": "' + 60 * "a" + '"}',
            '{\n        "a": "' + 60 * "a" + '",\n        "n": 1,\n    }',
            id="past the line limit",
        ),
    ],
)
def test_an_entry_is_added(before: str, after: str) -> None:
    newline = "\r\n" if "\r" in before else "\n"
    layout = {"column": 8, "indentation": "    ", "unit": "    ", "newline": newline, "limit": 80}
    node = ast.parse(before, mode="eval").body
    assert isinstance(node, ast.Dict)

    assert edit_mapping(before, CallEdit(node, added=(("n", "1"),)), **layout) == after  # type: ignore[arg-type]
    assert "'n': 1" in ast.unparse(ast.parse(after))
