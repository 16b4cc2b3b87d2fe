"""Every example is migrated by the command as its ``after`` says: one that is added is picked up by itself."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.command.support import REAL, REPOSITORY, Project

EXAMPLES = sorted(path.parent for path in (REPOSITORY / "examples").glob("*/before"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_becomes_its_after_and_nothing_is_left_to_do(tmp_path: Path, example: Path) -> None:
    shutil.copytree(example / "before", tmp_path / "copy")
    project = Project(tmp_path / "copy", REAL)
    ended = project.run(".")
    assert (ended.status, ended.err) == (0, "")
    expected = Project(example / "after").files()
    found = project.files()
    assert found.keys() == expected.keys()
    for name in found:
        assert found[name].decode() == expected[name].decode(), name
    again = project.run(".", "--check")
    assert (again.status, again.lines[0][:18], again.err) == (0, "Nothing to migrate", "")
    assert project.files() == found


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 2
