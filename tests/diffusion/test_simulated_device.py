"""On the simulated Neuron device a migrated script compiles a constant number of graphs, and can be sharded."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from neuron_codemods import migrate
from tests.command.support import REPOSITORY
from tests.training.runs import NOT_INHERITED

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.libraries, pytest.mark.slow]

PROMPTS = """
from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained(
    "MODELS/sd", export=True, height=64, width=64, auto_cast="none"
)
for prompt in ("a cat", "a dog and a cat in the rain", "x"):
    image = pipe(prompt, num_inference_steps=2).images[0]
    print("image", *image.size, pipe.device.type, COUNT)
"""
SHARDED = """
import torch
from optimum.neuron import NeuronFluxPipeline

pipe = NeuronFluxPipeline.from_pretrained(
    "MODELS/flux", export=True, height=64, width=64, sequence_length=16, auto_cast="none", tensor_parallel_size=2
)
generator = torch.Generator("cpu").manual_seed(0)
image = pipe("a cat", num_inference_steps=2, output_type="np", generator=generator).images[0]
print("image", *image.shape, f"{image.mean():.4f}", f"{image.std():.4f}")
"""


def run(text: str, models: Path, folder: Path, *, processes: int = 1, simulated: bool = True) -> list[str]:
    """What a migrated script prints about its images, sorted."""
    script = folder / "script.py"
    count = "len(__import__('neuron_shim.simulate', fromlist=['x']).compiled_graphs())"
    script.write_text(migrate(text.replace("MODELS", str(models)).replace("COUNT", count)).text)
    launcher = (
        ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"] if processes > 1 else []
    )
    command = [sys.executable, *launcher, *(["-m", "neuron_shim.simulate"] if simulated else []), str(script)]
    environment = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    environment["PYTHONPATH"] = str(REPOSITORY / "runtime")
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)
    assert ended.returncode == 0, ended.stderr[-2000:]
    return sorted(re.findall(r"^image .*$", ended.stdout, re.MULTILINE))


def test_prompts_of_different_lengths_share_two_graphs(pipelines: Path, tmp_path: Path) -> None:
    assert run(PROMPTS, pipelines, tmp_path) == ["image 64 64 neuron 2"] * 3


def test_a_sharded_transformer_draws_what_a_whole_one_draws(pipelines: Path, tmp_path: Path) -> None:
    (whole,) = run(SHARDED, pipelines, tmp_path, simulated=False)
    assert run(SHARDED, pipelines, tmp_path, processes=2) == [whole, whole]
