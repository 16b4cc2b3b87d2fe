"""The tiny models, and the way to run what a script becomes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from neuron_codemods import Outcome, migrate

from . import models


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a folder for each model."""
    for library in ("torch", "transformers", "sentence_transformers", "accelerate"):
        pytest.importorskip(library)
    root = tmp_path_factory.mktemp("models")
    models.build(root)
    return root


@pytest.fixture
def migrated(folders: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Run what a script for Optimum Neuron becomes, beside the models; its variables afterwards."""
    monkeypatch.chdir(folders)

    def run(before: str, **given: Any) -> dict[str, Any]:
        migration = migrate(before)
        left = [finding.message for finding in migration.findings if finding.outcome is Outcome.MANUAL]
        assert left == []
        assert "optimum" not in migration.text
        namespace: dict[str, Any] = {"__name__": "script", **given}
        with mock.patch.dict(os.environ):
            exec(compile(migration.text, "<migrated>", "exec"), namespace)
        return namespace

    return run
