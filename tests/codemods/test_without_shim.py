"""Migrated scripts without the shim: plain lines that say the same, and findings in their places."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuron_codemods import Migration, Outcome, Settings, migrate, migrate_text

EXAMPLES = Path(__file__).parents[2] / "examples"
PLAIN = Settings(shim=False)


def plain(text: str) -> Migration:
    migration = migrate(text, settings=PLAIN)
    again = migrate(migration.text, settings=PLAIN)
    assert (again.text, again.changed) == (migration.text, False)
    return migration


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/before/*.py")), ids=lambda path: path.stem)
def test_examples_do_without(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    usual, without = migrate(text), plain(text)
    assert "neuron_shim" in usual.text
    assert "neuron_shim" not in without.text or any(f.outcome is Outcome.MANUAL for f in without.findings)
    assert set(usual.findings) <= set(without.findings)


def test_both_sizes_are_said_at_the_launch() -> None:
    text = (EXAMPLES / "full_finetune/before/train.py").read_text(encoding="utf-8")
    migration = plain(text)
    assert migration.launch == ("TP_SIZE=2 FSDP_SIZE=<cores / TP_SIZE>",)
    assert 'tp_size=int(os.environ.get("TP_SIZE", "1")),\n' in migration.text
    assert migration.text.count("import os\n") == 1


def test_findings_stand_in_the_text_from_before() -> None:
    text = (EXAMPLES / "lora_sft/before/finetune_lora.py").read_text(encoding="utf-8")
    count = text.count("\n")
    places = [finding.start.line for finding in plain(text).findings if finding.code == "NM010"]
    assert places
    assert all(1 <= line <= count for line in places)


def test_a_script_without_optimum_neuron_is_left_alone() -> None:
    text = "from neuron_shim import configure\n\nconfigure()\n"
    assert migrate(text, settings=PLAIN).text == text


def test_notebooks_do_without_too() -> None:
    text = (EXAMPLES / "notebook/before/train.ipynb").read_text(encoding="utf-8")
    migration = migrate_text("notebook", text, settings=PLAIN)
    assert "neuron_shim" not in migration.text or any(f.outcome is Outcome.MANUAL for f in migration.findings)
