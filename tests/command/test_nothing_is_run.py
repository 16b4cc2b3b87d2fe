"""Nothing of a project that is scanned is imported or run, and nothing outside of it is written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .support import REAL, Project, environment

SCRIPT = "from optimum.neuron import NeuronTrainer\n\nNeuronTrainer()\n"
MODULES = (
    *("ast", "click", "conftest", "json", "libcst", "multiprocessing", "neuron_codemods", "neuron_migrate", "optimum"),
    *("rich", "setup", "signal", "sitecustomize", "socket", "tokenize", "torch", "transformers", "types"),
    *("asyncio", "lsprotocol", "pygls", "tomllib", "tree_sitter", "usercustomize"),
)


@pytest.fixture
def trapped(tmp_path: Path) -> Project:
    """A project in which whatever is run leaves a trace beside it."""
    project = Project(tmp_path / "project", REAL)
    project.root.mkdir()
    trap = f"open({str(tmp_path / 'was-run')!r}, 'a').write(__name__)\n# optimum.neuron\n"
    project.write({f"{name}.py": trap for name in MODULES})
    project.write({"a.py": SCRIPT, "b.py": SCRIPT, "pkg/__init__.py": trap})
    project.write({"pyproject.toml": "[tool.neuron-migrate]\nannotate = true\n[tool.x]\nplugins = ['conftest']\n"})
    hook = project.root / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(parents=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'was-run'}\n")
    hook.chmod(0o755)
    (project.root / ".git" / "config").write_text(f"[core]\n\tfsmonitor = touch {tmp_path / 'was-run'}\n")
    # As installed: ``python -m`` would itself look for modules in the current directory, before anything of ours runs.
    script = tmp_path / "bin" / "neuron-migrate"
    script.parent.mkdir()
    script.write_text(
        "import sys\nfrom neuron_migrate.cli import main\n\nif __name__ == '__main__':\n    sys.exit(main())\n"
    )
    return project


@pytest.mark.parametrize(
    "given",
    [
        ("--jobs", "1"),
        ("--jobs", "2"),
        pytest.param(("--verify",), marks=pytest.mark.slow),
        ("--verify", "--python", getattr(sys, "_base_executable", sys.executable)),  # in which few libraries are
    ],
)
def test_no_module_of_the_project_is_imported(tmp_path: Path, trapped: Project, given: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, tmp_path / "bin" / "neuron-migrate", ".", *given],
        cwd=trapped.root,
        env=environment(REAL),
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert b"NeuronTrainer" not in trapped.read("a.py"), done.stderr
    assert not (tmp_path / "was-run").exists()


def test_no_module_of_the_project_is_imported_by_the_language_server(tmp_path: Path, trapped: Project) -> None:
    pytest.importorskip("pygls")
    from .test_lsp import Editor

    editor = Editor(trapped.root, [sys.executable, str(tmp_path / "bin" / "neuron-migrate"), "lsp"])
    try:
        editor.ask("initialize", {"processId": None, "rootUri": trapped.root.as_uri(), "capabilities": {}})
        assert editor.open(SCRIPT)
        assert editor.actions(0)
        editor.ask("shutdown", {})
        editor.send("exit", {})
        assert editor.process.wait(timeout=20) == 0
    finally:
        editor.process.kill()
        editor.process.communicate()
    assert not (tmp_path / "was-run").exists()


def test_a_link_out_of_the_tree_is_not_followed_by_a_walk(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.py").write_text(SCRIPT)
    (outside / "c.py").write_text(SCRIPT)
    project = Project(tmp_path / "project", REAL)
    project.root.mkdir()
    project.write({"a.py": SCRIPT})
    (project.root / "folder").symlink_to(outside)
    (project.root / "link.py").symlink_to(outside / "c.py")
    ended = project.run(".")
    assert "Files: 1 scanned" in ended.text, ended.text
    assert (outside / "b.py").read_text() == (outside / "c.py").read_text() == SCRIPT
