"""A tree without Optimum Neuron costs little more than reading it: what is not needed is not imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from .support import FAKE, REAL, UNMEASURED, Project, environment, found_in

_PROBE = """
import sys
from neuron_migrate.cli import main
status = main(sys.argv[1:])
print("STATUS", status)
print(*sorted(sys.modules))
"""

HEAVY = (
    "libcst",
    "rich",
    "multiprocessing",
    "concurrent",
    "importlib.metadata",
    "tempfile",
    "tomllib",
    "tree_sitter",
    "packaging",
    "json",
    "yaml",
    "neuron_codemods.engine",
    "neuron_codemods.project",
    "neuron_codemods.registry",
    "neuron_codemods.training",
    "neuron_migrate.documents.python",
    "neuron_migrate.write",
    "neuron_migrate.worker",
)


def _loaded(project: Project, *given: str, codemods: Path | None = None) -> tuple[str, set[str]]:
    env = environment(codemods or FAKE, **UNMEASURED)
    *said, modules = found_in(_PROBE, env, project.root, given).splitlines()
    return said[-1], set(modules.split())


@pytest.mark.parametrize("given", [(), ("--check",), ("--diff",), ("--quiet",), ("--jobs", "4")])
def test_nothing_heavy_is_imported_for_a_tree_without_a_hit(project: Project, given: tuple[str, ...]) -> None:
    project.write({f"pkg/{number}.py": "import os\n" for number in range(20)})
    status, modules = _loaded(project, ".", *given, codemods=REAL)
    assert status == "STATUS 0"
    assert not [name for name in HEAVY if name in modules]


def test_a_few_hits_need_neither_workers_nor_rich(project: Project) -> None:
    project.write({f"{number}.py": "Neuron__old\n" for number in range(8)})
    modules = _loaded(project, ".")[1]
    assert "neuron_codemods.engine" in modules
    assert not {"multiprocessing", "concurrent", "rich", "libcst"} & modules


def test_help_and_version_import_no_rules(project: Project) -> None:
    for option in ("--help", "--version"):
        assert not {"libcst", "rich", "neuron_codemods.registry"} & _loaded(project, option)[1]
