"""The migrated launcher of each example starts the migrated script, both unchanged.

Between the two stands a ``torchrun`` that asks for as many processes as this machine can hold, and gives the script
tiny inputs behind the arguments that the launcher gives: the last one counts.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from tests.command.support import REAL, Project

from .runs import EXAMPLES, HERE, REPOSITORY, run_process

if TYPE_CHECKING:
    from pathlib import Path

    from .assets import Assets
    from .runs import Example

TORCHRUN = f"""#!{sys.executable}
import json, os, re, sys
given = sys.argv[1:]
script = next(index for index, word in enumerate(given) if word.endswith(".py"))
wanted = "--nproc_per_node=" + os.environ["LAUNCH_PROCESSES"]
sizes = re.sub(r"--nproc_per_node[= ]\\d+", wanted, " ".join(given[:script]))
harness = [os.environ["LAUNCH_HARNESS"], os.environ["LAUNCH_RECORD"]]
more = json.loads(os.environ["LAUNCH_ARGUMENTS"])
run = [sys.executable, "-m", "torch.distributed.run", "--standalone", *sizes.split()]
os.execv(sys.executable, [*run, *harness, *given[script:], *more])
"""


def start(commands: str, folder: Path, work: Path, processes: int, arguments: list[str]) -> None:
    """Let bash run some lines in a folder, with that ``torchrun`` on its way."""
    programs = work / "programs"
    programs.mkdir()
    (programs / "torchrun").write_text(TORCHRUN)
    (programs / "torchrun").chmod(0o755)
    variables = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "LAUNCH_PROCESSES": str(processes),
        "LAUNCH_HARNESS": str(HERE / "harness.py"),
        "LAUNCH_RECORD": str(work / "record"),
        "LAUNCH_ARGUMENTS": json.dumps(arguments),
        "HARNESS_USE_CPU": "1",
    }
    run_process(["bash", "-c", commands], folder, variables)


@pytest.mark.slow
@pytest.mark.libraries
@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_a_migrated_launcher_starts_the_migrated_script(example: Example, assets: Assets, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    project = tmp_path / "project"
    shutil.copytree(REPOSITORY / "examples" / example.name / "before", project)
    assert Project(project, REAL).run(".", "--quiet").status == 0
    (launcher,) = project.glob("*.sh")
    more = example.command_line(assets, tmp_path / "output", example.spread)
    start(launcher.read_text(), project, tmp_path, example.spread.processes, more)
    run = json.loads((tmp_path / "record" / "run.json").read_text())
    sizes = example.spread
    assert run["world_size"] == sizes.processes
    assert (run["tp_size"], run["fsdp_size"]) == (sizes.tp_size or 1, sizes.fsdp_size or 1)
    assert any("loss" in entry for entry in run["log_history"])


@pytest.mark.slow
@pytest.mark.libraries
def test_the_sizes_of_the_whole_project_come_from_its_launcher(assets: Assets, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    scripts = tmp_path / "scripts"
    shutil.copytree(REPOSITORY / "examples" / "whole_project" / "after" / "scripts", scripts)
    arguments = ["--model_id", str(assets.decoder), "--data_file", str(assets.texts), "--block_size", "32"]
    more = [*arguments, "--max_steps", "3", "--logging_steps", "1", "--output_dir", str(tmp_path / "output")]
    launcher = (scripts / "launch.sh").read_text()
    start(f"export TP_DEGREE=2\n{launcher}", scripts, tmp_path, 4, more)
    run = json.loads((tmp_path / "record" / "run.json").read_text())
    assert (run["world_size"], run["tp_size"], run["fsdp_size"]) == (4, 2, 2)
    assert sum("loss" in entry for entry in run["log_history"]) == 3
    assert (tmp_path / "output" / "model.safetensors").is_file()


@pytest.mark.slow
@pytest.mark.libraries
def test_a_migrated_notebook_trains(assets: Assets, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    cells = [
        "".join(cell["source"])
        for cell in json.loads((REPOSITORY / "examples" / "notebook" / "after" / "train.ipynb").read_text())["cells"]
        if cell["cell_type"] == "code"
    ]
    settings = re.sub(r"^%.*", "", cells[0], flags=re.MULTILINE)
    variables: dict[str, object] = {}
    exec(settings, variables)
    first, _, script = cells[1].partition("\n")
    (tmp_path / first.split()[1]).write_text(script)
    (launch,) = [cell for cell in cells if "torchrun" in cell]
    arguments = ["--model_id", str(assets.decoder), "--data_file", str(assets.texts), "--block_size", "32"]
    more = [*arguments, "--max_steps", "3", "--logging_steps", "1", "--output_dir", str(tmp_path / "output")]
    start(launch.removeprefix("!").format_map(variables), tmp_path, tmp_path, 4, more)
    run = json.loads((tmp_path / "record" / "run.json").read_text())
    assert (run["world_size"], run["tp_size"], run["fsdp_size"]) == (4, 2, 2)
    assert (tmp_path / "output" / "model.safetensors").is_file()
