"""The command as a library."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuron_codemods import Settings
from neuron_migrate.api import migrate_paths, write_result
from neuron_migrate.write import WriteError

OLD = "from optimum.neuron import NeuronTrainer\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.neuron-migrate]\nignore = ["NM"]\n')
    (tmp_path / "a.py").write_text(OLD)
    return tmp_path


def test_the_table_of_the_project_holds_unless_settings_are_given(project: Path) -> None:
    (ignored,) = migrate_paths([project])
    assert not ignored.changed
    (migrated,) = migrate_paths([project / "a.py"], settings=Settings(select=("NM1",)))
    assert migrated.after == b"from transformers import Trainer\n"
    assert (project / "a.py").read_text() == OLD
    assert list(migrate_paths([project], exclude=["a.py"])) == []


def test_what_has_changed_in_between_is_not_overwritten(project: Path) -> None:
    (ignored,) = migrate_paths([project])
    write_result(ignored)
    (migrated,) = migrate_paths([str(project)], settings=Settings())
    (project / "a.py").write_text("mine = 1\n")
    with pytest.raises(WriteError):
        write_result(migrated)
    assert (project / "a.py").read_text() == "mine = 1\n"


def test_a_pattern_that_never_matches(project: Path) -> None:
    with pytest.raises(ValueError, match="can never match"):
        migrate_paths([project], exclude=["a["])
