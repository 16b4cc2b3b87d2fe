"""The page about damaged checkpoints says what the command says."""

from __future__ import annotations

from pathlib import Path

import pytest


def test_page(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from . import damage

    assert damage.PAGE.read_text(encoding="utf-8") == damage.page(tmp_path), "run python -m tests.shards.damage"
