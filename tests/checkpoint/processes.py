"""Start a script in several processes, over gloo."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import neuron_shim
from tests import programs

HERE = Path(__file__).parent
NOT_INHERITED = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TP_SIZE")


def launch(script: str, *arguments: object, processes: int, simulated: bool = False, **variables: str) -> str:
    """The standard output of all of them; a failure shows the errors. ``simulated``: on the simulated device."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"]
    module = ["-m", "neuron_shim.simulate"] if simulated else []
    command = [sys.executable, *(torchrun if processes > 1 else []), *module, str(HERE / script), *map(str, arguments)]
    inherited = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    environment = {
        **inherited,
        "PYTHONPATH": os.pathsep.join((str(Path(neuron_shim.__file__).parents[1]), str(HERE.parents[1]))),
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        **variables,
    }
    done = programs.run(command, env=environment)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-8000:]}"
    return done.stdout
