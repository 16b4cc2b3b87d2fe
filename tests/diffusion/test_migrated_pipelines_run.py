"""Migrated scripts run on tiny pipelines and make images of the size that the old code got."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from neuron_codemods import Outcome, migrate
from tests.codemods import binding

from .scripts import SCRIPTS, Script

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.libraries
FAST = [pytest.param(script, marks=[pytest.mark.slow] if script.is_slow else [], id=str(script)) for script in SCRIPTS]


@pytest.mark.parametrize("script", FAST)
@pytest.mark.filterwarnings("ignore")
def test_a_script_makes_the_images_it_made(
    script: Script, pipelines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    migration = migrate(script.text.replace("MODELS", str(pipelines)))
    assert [finding for finding in migration.findings if finding.outcome is Outcome.MANUAL] == []
    assert "optimum" not in migration.text
    assert binding.problems(migration.text) == []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_DEACTIVATE_ASYNC_LOAD", "1")
    names = {"__name__": "__main__"}
    exec(compile(migration.text, script.name, "exec"), names)
    images = names["images"]
    assert [image.size for image in images] == [script.size] * script.count  # type: ignore[attr-defined]
    assert list(tmp_path.iterdir()) == []
