"""The migrated generation example on the simulated device: graphs for fixed shapes, whatever the prompts."""

from __future__ import annotations

import json
import runpy
import sys
from typing import TYPE_CHECKING

import pytest

from tests.training.assets import Assets
from tests.training.runs import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.libraries]

SCRIPT = REPOSITORY / "examples" / "generation" / "after" / "generate.py"
FEW = ["w1 w2 w3", "w4"]
MANY = [*FEW, "w5 w6", "w7 w8 w9 w10 w11", "w12 w13 w14 w15 w16 w17 w18", "w19", "w20 w21 w22 w23"]
COUNTING = """
import json, runpy
from neuron_shim import simulate
runpy.run_path(%r, run_name="__main__")
print(json.dumps(len(simulate.compiled_graphs())))
"""


def arguments(assets: Path, folder: Path, prompts: list[str]) -> list[str]:
    (folder / "prompts.txt").write_text("\n".join(prompts), encoding="utf-8")
    places = ["--prompts", str(folder / "prompts.txt"), "--answers", str(folder / "answers.json")]
    return ["--model_id", str(Assets(assets).decoder), *places, "--max_new_tokens", "4"]


def answers(folder: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    return found


def test_more_prompts_of_other_lengths_compile_nothing_new(
    simulated: Callable[..., str], assets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = []
    for prompts in (FEW, MANY):
        said = simulated(COUNTING % str(SCRIPT), *arguments(assets, tmp_path, prompts))
        graphs.append(int(said.splitlines()[-1]))
    print("compiled graphs:", dict(zip(("two prompts", "seven prompts"), graphs, strict=True)))
    assert graphs[0] == graphs[1] > 0
    there = answers(tmp_path)
    assert list(there) == MANY

    monkeypatch.setenv("HF_DEACTIVATE_ASYNC_LOAD", "1")
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *arguments(assets, tmp_path, MANY)])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    assert answers(tmp_path) == there
