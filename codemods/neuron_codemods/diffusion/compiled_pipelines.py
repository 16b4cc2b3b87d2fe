"""Marks the diffusion pipelines that ran from a compiled folder.

Sizes were baked in at export; natively they are arguments of every call, and LoRA, ControlNet and IP-adapter weights
are loaded explicitly, so a rename alone would give other images without an error.

https://huggingface.co/docs/diffusers/api/pipelines/overview
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renaming import without_native

RULE = Rule(
    code="NM301",
    name="compiled-pipeline",
    summary="NeuronStableDiffusionPipeline and the like: what to load instead.",
    url="https://huggingface.co/docs/diffusers/api/pipelines/overview",
    outcomes=(Outcome.MANUAL, Outcome.REWRITTEN),
)

CATEGORIES = frozenset({"diffusion"})


def check(module: Module) -> Iterator[Change]:
    yield from without_native(module, CATEGORIES)


CASES = (
    Case(
        "a compiled pipeline is for a person",
        """from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("folder", device_ids=[0, 1])
""",
        """# TODO(neuron-migrate NM301): NeuronStableDiffusionPipeline: Load the original model with \
diffusers.StableDiffusionPipeline.from_pretrained(model_id, \
torch_dtype=torch.bfloat16).to(neuron_shim.neuron_device()), give sizes to the call, and load \
LoRA, ControlNet and IP-adapter weights explicitly: diffusers ignores the old keywords: \
https://huggingface.co/docs/diffusers/api/pipelines/overview
from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("folder", device_ids=[0, 1])
""",
        (Outcome.MANUAL,),
    ),
    Case("the native pipeline", "from diffusers import StableDiffusionPipeline\n\nprint(StableDiffusionPipeline)\n"),
)
