"""Files of environment variables: what goes, what is called otherwise, and that all else stays as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuron_codemods import Outcome, migrate_text
from neuron_migrate.api import migrate_paths


def migrated(text: str) -> str:
    after = migrate_text("env", text).text
    assert migrate_text("env", after).text == after
    return after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# Neuron\nNEURON_FUSE_SOFTMAX=1\nFI_PROVIDER=efa\n", "# Neuron\nFI_PROVIDER=efa\n"),
        ("NEURON_COMPILE_CACHE_URL=/a b\r\nA=1", "TORCH_NEURONX_NEFF_CACHE_DIR=/a b\r\nA=1"),
        ("export NEURON_COMPILE_CACHE_URL = '/a'\n", "export TORCH_NEURONX_NEFF_CACHE_DIR = '/a'\n"),
        (
            "NEURON_CC_FLAGS=--cache_dir=/x -O1 --retry_failed_compilation\n",
            "NEURON_CC_FLAGS=-O1\nTORCH_NEURONX_NEFF_CACHE_DIR=/x\n",
        ),
        (
            "NEURON_CC_FLAGS=--cache_dir=/x -O1\nNEURON_COMPILE_CACHE_URL=/y\n",
            "NEURON_CC_FLAGS=-O1\nTORCH_NEURONX_NEFF_CACHE_DIR=/y\n",
        ),
    ],
)
def test_variables_of_a_file(before: str, after: str) -> None:
    assert migrated(before) == after


@pytest.mark.parametrize(
    "text",
    [
        "NEURON_RT_NUM_CORES_X=2\n",
        "NEURON_RT_LOG_LEVEL=INFO\nKEY=it's $x `y` \\\n=\nno variable\n",
        "# NEURON_FUSE_SOFTMAX=1\n",
    ],
)
def test_what_stays(text: str) -> None:
    assert not migrate_text("env", text).changed


def test_what_is_for_a_person_stands_above_the_line() -> None:
    migration = migrate_text("env", "# Neuron\nNEURON_RT_LOG_LEVEL=INFO\nHF_NUM_CORES=2\n")
    assert [finding.outcome for finding in migration.findings] == [Outcome.MANUAL]
    assert migration.text.splitlines()[2].startswith("# TODO(neuron-migrate NM404): HF_NUM_CORES: serve with vLLM")


@pytest.mark.parametrize("name", [".env", "neuron.env", ".env.prod", "env.list"])
def test_such_files_are_known_by_their_names(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("NEURON_FUSE_SOFTMAX=1\n")
    assert [result.after for result in migrate_paths([tmp_path])] == [b""]


def test_a_comment_keeps_rules_away() -> None:
    text = "# neuron-migrate: ignore\nNEURON_FUSE_SOFTMAX=1\n"
    assert migrate_text("env", text).findings == ()
    assert migrate_text("env", f"{text}NEURON_CUSTOM_SILU=1\n").text == text
