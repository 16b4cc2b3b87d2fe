"""The hooks of ``.pre-commit-hooks.yaml``, run by pre-commit itself in a scratch repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .support import REPOSITORY

OLD = "from optimum.neuron import NeuronTrainer\n"
NEW = "from transformers import Trainer\n"
BY_HAND = "import optimum.neuron as neuron\n\nclass_ = getattr(neuron, name)\n"


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment of its own for pre-commit, so that nothing of the user's is met or left."""
    if not (REPOSITORY / ".git").exists():
        pytest.skip("pre-commit takes its hooks from a git repository, and this is none")
    # The checkout may belong to another user than the one who runs the tests.
    trust = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    identity = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHONPATH"))}
    home = str(tmp_path_factory.mktemp("pre-commit"))
    return {
        **inherited,
        **trust,
        **identity,
        "PRE_COMMIT_HOME": home,
        "PRE_COMMIT_COLOR": "never",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }


def run(folder: Path, variables: dict[str, str], *command: str) -> tuple[int, str]:
    done = subprocess.run(
        command, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=280
    )
    return done.returncode, done.stdout


@pytest.mark.slow
def test_the_hooks_pass_and_fail_as_they_should(tmp_path: Path, variables: dict[str, str]) -> None:
    run(tmp_path, variables, "git", "init", "-q")
    _, head = run(REPOSITORY, variables, "git", "rev-parse", "HEAD")
    (tmp_path / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {REPOSITORY}\n  rev: {head.strip()}\n"
        "  hooks:\n  - id: neuron-migrate-check\n  - id: neuron-migrate\n    stages: [manual]\n"
    )

    def hook(**files: str) -> tuple[int, str]:
        for name, text in files.items():
            (tmp_path / name.replace("_", ".")).write_text(text)
        run(tmp_path, variables, "git", "add", "-A")
        return run(tmp_path, variables, sys.executable, "-m", "pre_commit", "run")

    status, said = hook(a_py=NEW, notes_txt="optimum.neuron was nice\n", b_yaml="a: optimum-neuron of old\n")
    assert (status, "Passed" in said) == (0, True), said
    status, said = hook(a_py=OLD)
    assert (status, "Would rewrite a.py" in said) == (1, True), said
    assert (tmp_path / "a.py").read_text() == OLD

    rewriting = (sys.executable, "-m", "pre_commit", "run", "--hook-stage", "manual", "neuron-migrate")
    status, said = run(tmp_path, variables, *rewriting)
    assert (status, "files were modified by this hook" in said) == (1, True), said
    assert (tmp_path / "a.py").read_text() == NEW
    assert hook()[0] == 0

    status, said = hook(b_py=BY_HAND)
    assert (status, "b.py:" in said, "manual" in said) == (1, True, True), said
