"""Prepares the Neuron device before a model is loaded for inference.

TorchNeuron needs weights loaded in one thread and no automatic dynamic shapes; `configure()` of the shim sees to both,
and does nothing where neither is needed.

https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.edits import Change
from neuron_codemods.inference.pipelines import rewritten_pipelines
from neuron_codemods.inference.uses import rewritten_loads
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.training.configuring import configured, is_configured, needs_configuring

RULE = Rule(
    code="NM209",
    name="configure-inference",
    summary="configure() after the imports of a script that loads a model for inference.",
    url="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html",
)


def check(module: Module) -> Iterator[Change]:
    calls = [item.call for item in (*rewritten_loads(module), *rewritten_pipelines(module))]
    if calls and not needs_configuring(module) and not is_configured(module):
        yield configured(module, calls, "a model")


CASES = (
    Case(
        "after the imports",
        """from optimum.neuron import NeuronModelForCausalLM

model = NeuronModelForCausalLM.from_pretrained("my/model", export=True)
""",
        """from optimum.neuron import NeuronModelForCausalLM
from neuron_shim import configure

configure()

model = NeuronModelForCausalLM.from_pretrained("my/model", export=True)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "once",
        """from neuron_shim import configure
from optimum.neuron import NeuronModelForCausalLM

configure()
model = NeuronModelForCausalLM.from_pretrained("my/model", export=True)
""",
    ),
    Case(
        "a script that loads with transformers alone",
        """from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("my/model")
""",
    ),
)
