"""The migrated launcher of each example starts the migrated script, both unchanged.

Between the two stands a ``torchrun`` that asks for as many processes as this machine can hold, and gives the script
tiny inputs behind the arguments that the launcher gives: the last one counts.
"""

from __future__ import annotations

import json
import os
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


@pytest.mark.slow
@pytest.mark.libraries
@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_a_migrated_launcher_starts_the_migrated_script(example: Example, assets: Assets, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    project = tmp_path / "project"
    shutil.copytree(REPOSITORY / "examples" / example.name / "before", project)
    assert Project(project, REAL).run(".", "--quiet").status == 0
    (launcher,) = project.glob("*.sh")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "torchrun").write_text(TORCHRUN)
    (programs / "torchrun").chmod(0o755)
    variables = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "LAUNCH_PROCESSES": str(example.spread.processes),
        "LAUNCH_HARNESS": str(HERE / "harness.py"),
        "LAUNCH_RECORD": str(tmp_path / "record"),
        "LAUNCH_ARGUMENTS": json.dumps(example.command_line(assets, tmp_path / "output", example.spread)),
        "HARNESS_USE_CPU": "1",
    }
    run_process(["bash", launcher.name], project, variables)
    run = json.loads((tmp_path / "record" / "run.json").read_text())
    sizes = example.spread
    assert run["world_size"] == sizes.processes
    assert (run["tp_size"], run["fsdp_size"]) == (sizes.tp_size or 1, sizes.fsdp_size or 1)
    assert any("loss" in entry for entry in run["log_history"])
