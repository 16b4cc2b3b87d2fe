"""Every example is migrated by the command as its ``after`` says: one that is added is picked up by itself.

What is left for a person is what ``left.txt`` beside it says, line by line; without one, nothing is.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.command.support import REAL, REPOSITORY, Project

EXAMPLES = sorted(path.parent for path in (REPOSITORY / "examples").glob("*/before"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_becomes_its_after_and_no_more_is_left_than_it_says(tmp_path: Path, example: Path) -> None:
    shutil.copytree(example / "before", tmp_path / "copy")
    project = Project(tmp_path / "copy", REAL)
    told = example / "left.txt"
    left = told.read_text().splitlines() if told.exists() else []
    ended = project.run(".")
    assert (ended.status, ended.err) == (4 if left else 0, "")
    assert [line for line in ended.lines if " manual " in line] == left
    expected = Project(example / "after").files()
    found = project.files()
    assert found.keys() == expected.keys()
    for name in found:
        assert found[name].decode() == expected[name].decode(), name
    again = project.run(".")
    assert (again.status, again.err) == (ended.status, "")
    assert project.files() == found


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 2
