"""Example-sized scripts, migrated whole: what comes out, what is found, and that it fits the installed libraries."""

from __future__ import annotations

import importlib.util

import pytest

from neuron_codemods import Outcome

from .. import binding
from ..test_rules import LIBRARIES
from .script_cases import Script, all_scripts, migrated, report

each_script = pytest.mark.parametrize("script", all_scripts(), ids=str)


@each_script
def test_script_becomes_its_after(script: Script) -> None:
    migrations = migrated(script.files("before"))

    assert {name: migration.text for name, migration in migrations.items()} == script.files("after")
    assert report(migrations) == script.findings


@each_script
def test_second_run_changes_nothing(script: Script) -> None:
    after = script.files("after")

    assert {name: migration.text for name, migration in migrated(after).items()} == after


@pytest.mark.libraries
@each_script
def test_after_fits_the_libraries(script: Script) -> None:
    for name in LIBRARIES:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    migrations = migrated(script.files("before"))
    for name, migration in migrations.items():
        if all(finding.outcome is not Outcome.MANUAL for finding in migration.findings):
            assert binding.problems(migration.text) == [], name
