"""The migrated scripts of every idiom run to their end on tiny models, in one process."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from .runs import HERE, REPOSITORY, run_process
from .script_runs import ARGUMENTS, SCRIPTS, plan

if TYPE_CHECKING:
    from .assets import Assets

IDIOMS = {
    1: "aliased drop-in imports",
    2: "HfArgumentParser over dataclasses",
    3: "NeuronSFTConfig(**training_args.to_dict())",
    4: "SFT trainer, LoRA, formatting function",
    5: "lazy_load_for_parallelism",
    6: "training classes with a trn_config",
    7: "NeuronTrainingArguments built directly",
    8: "NeuronTrainer as the classic Trainer",
    9: "Seq2Seq trainer and arguments",
    10: "a trainer derived in another file",
    11: "main_process_first around map",
    12: "last-checkpoint guard",
    13: "precompilation guards",
    14: "torch_xla beside the trainer",
    15: "a loop with NeuronAccelerator",
    16: "PEFT outside of SFT",
    17: "ORPO",
    18: "consolidation after training",
}
"""The idioms of the survey of training scripts, by number."""


@pytest.fixture(scope="session")
def results(assets: Assets, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    """What became of each script; all run in one process, because importing the libraries takes longest."""
    pytest.importorskip("trl")
    folder = tmp_path_factory.mktemp("scripts")
    (folder / "plan.json").write_text(json.dumps(plan(assets, folder, list(ARGUMENTS))), encoding="utf-8")
    printed = run_process([sys.executable, str(HERE / "run_scripts.py"), str(folder / "plan.json")], folder, {})
    rows = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    return {str(row["name"]): row for row in rows}


@pytest.mark.slow
@pytest.mark.libraries
@pytest.mark.parametrize("name", [name for name, _ in ARGUMENTS])
def test_script_runs(name: str, results: dict[str, dict[str, object]]) -> None:
    assert results[name]["error"] == ""


@pytest.mark.slow
@pytest.mark.libraries
def test_every_idiom_runs(results: dict[str, dict[str, object]]) -> None:
    """The table of idioms, printed: ``pytest -m slow -s tests/training/test_scripts_run.py``."""
    print(f"\n{'idiom':50} {'lines':>5}  rewritten  review  by hand  ran")
    for number, title in IDIOMS.items():
        (folder,) = SCRIPTS.glob(f"idiom{number:02}_*")
        findings = (folder / "findings.txt").read_text(encoding="utf-8")
        counts = [findings.count(f" {outcome}: ") for outcome in ("rewritten", "review", "manual")]
        lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in folder.glob("before/*.py"))
        ran = results[folder.name]["error"] == "" if folder.name in results else False
        print(
            f"{number:2} {title:47} {lines:5}  {counts[0]:9}  {counts[1]:6}  {counts[2]:7}  "
            f"{results[folder.name]['seconds'] if ran else 'no'}"
        )
        assert ran
    assert str(SCRIPTS).startswith(str(REPOSITORY))
