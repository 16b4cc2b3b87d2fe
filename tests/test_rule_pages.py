"""The pages of ``docs/rules`` are those that the rules make."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"


def test_the_pages_are_up_to_date(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(TOOLS)
    monkeypatch.setattr(sys, "argv", ["build_rule_pages.py", "--check"])
    import build_rule_pages

    status = build_rule_pages.main()
    assert status == 0, capsys.readouterr().out
