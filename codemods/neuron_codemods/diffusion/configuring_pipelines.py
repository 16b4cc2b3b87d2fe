"""Prepares the Neuron device before a pipeline is loaded.

The text encoders of a pipeline are models of transformers, whose weights TorchNeuron needs loaded in one thread, and
compiled parts must not become dynamic; `configure()` of the shim sees to both, and does nothing where neither is
needed.

https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.diffusion.loads import all_loads
from neuron_codemods.edits import Change
from neuron_codemods.inference.pipelines import rewritten_pipelines
from neuron_codemods.inference.uses import rewritten_loads
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.training.configuring import configured, is_configured, needs_configuring

RULE = Rule(
    code="NM306",
    name="configure-pipelines",
    summary="configure() before a script loads its first pipeline.",
    url="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html",
)


def check(module: Module) -> Iterator[Change]:
    loads = [load.call for load in all_loads(module).rewritten if load.method == "from_pretrained"]
    if not loads or is_configured(module):
        return
    if needs_configuring(module) or rewritten_loads(module) or rewritten_pipelines(module):
        return  # the rules for these see to it
    yield configured(module, loads, "a pipeline")


CASES = (
    Case(
        "after the imports above the first load",
        """import os

from optimum.neuron import NeuronFluxPipeline

pipe = NeuronFluxPipeline.from_pretrained("a/b", export=True)

import sys
""",
        """import os

from optimum.neuron import NeuronFluxPipeline
from neuron_shim import configure

configure()

pipe = NeuronFluxPipeline.from_pretrained("a/b", export=True)

import sys
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "once",
        """from neuron_shim import configure
from optimum.neuron import NeuronFluxPipeline

configure()
pipe = NeuronFluxPipeline.from_pretrained("a/b", export=True)
""",
    ),
    Case(
        "a pipeline that is left to a person",
        """from optimum.neuron import NeuronFluxPipeline

pipe = NeuronFluxPipeline.from_pretrained("flux_neuron/")
""",
    ),
    Case(
        "a native script",
        """from diffusers import FluxPipeline

pipe = FluxPipeline.from_pretrained("a/b")
""",
    ),
)
