"""A tree without Optimum Neuron costs little more than reading it: what is not needed is not imported."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from .support import REAL, Project, environment, found_in

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
    env = environment(codemods) if codemods else environment()
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


def test_three_thousand_files_without_a_hit_take_under_a_second_of_processor(project: Project) -> None:
    text = "import os\n\n\ndef function(argument):\n    return os.path.join(argument, 'name')\n" * 150
    project.write({f"d{number % 60}/f{number}.py": text for number in range(3_000)})
    source = "import resource, sys\nfrom neuron_migrate.cli import main\nmain(['.'])\n"
    source += "used = resource.getrusage(resource.RUSAGE_SELF)\nprint(used.ru_utime + used.ru_stime)"
    started = time.monotonic()
    said, used = found_in(source, environment(REAL), project.root).splitlines()
    assert said == "Nothing to migrate: 3,000 files scanned."
    assert float(used) < 1.0, (used, time.monotonic() - started)
