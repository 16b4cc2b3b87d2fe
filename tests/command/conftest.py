from __future__ import annotations

from pathlib import Path

import pytest

from .support import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "project"
    root.mkdir()
    return Project(root)
