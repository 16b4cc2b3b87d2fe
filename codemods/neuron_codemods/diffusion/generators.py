"""Keeps random generators on the CPU, where diffusers draws the latents.

diffusers draws the first latents with the generator that it is given and moves them to the device; a generator of an
XLA or Neuron device cannot be made or gives other numbers.

https://huggingface.co/docs/diffusers/using-diffusers/reusing_seeds
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.diffusion.given import constant_of
from neuron_codemods.diffusion.loads import all_loads
from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.values import UNKNOWN, keyword, replace_value

RULE = Rule(
    code="NM304",
    name="cpu-generator",
    summary='torch.Generator("xla") beside a pipeline: the CPU draws the latents.',
    url="https://huggingface.co/docs/diffusers/using-diffusers/reusing_seeds",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW),
)

_DEVICES = frozenset({"xla", "neuron", "privateuseone"})
_XLA_DEVICES = frozenset({"torch_xla.core.xla_model.xla_device", "torch_xla.device"})


def check(module: Module) -> Iterator[Change]:
    if not all_loads(module).rewritten:
        return
    for call in module.calls:
        if module.resolve(call.func) != "torch.Generator":
            continue
        given = keyword(call, "device")
        device = given.value if given is not None else call.args[0] if call.args else None
        if device is None:
            continue
        argument = given if given is not None else device
        known = constant_of(module, device)
        if isinstance(known, str):
            if known.partition(":")[0] in _DEVICES:
                message = "The generator is one of the CPU: diffusers draws the latents there and moves them."
                yield Change(Outcome.REWRITTEN, device, message, (replace_value(call, argument, '"cpu"'),))
        elif _is_xla(module, device):
            message = "The generator is one of the CPU: diffusers draws the latents there and moves them."
            yield Change(Outcome.REWRITTEN, device, message, (replace_value(call, argument, '"cpu"'),))
        elif known is UNKNOWN:
            message = 'If this device is not the CPU, write torch.Generator("cpu"): diffusers draws the latents there.'
            yield Change(Outcome.REVIEW, device, message)


def _is_xla(module: Module, device: ast.expr) -> bool:
    for _ in range(4):
        if isinstance(device, ast.Call):
            return module.resolve(device.func) in _XLA_DEVICES
        binding = module.binding(device) if isinstance(device, ast.Name) else None
        if binding is None or binding.value is None or len(binding.scope.bindings[binding.name]) != 1:
            return False
        device = binding.value
    return False


CASES = (
    Case(
        "a generator of the XLA device",
        """import torch
from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)
image = pipe("a cat", generator=torch.Generator("xla").manual_seed(0)).images[0]
""",
        """import torch
from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)
image = pipe("a cat", generator=torch.Generator("cpu").manual_seed(0)).images[0]
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "a device in a variable",
        """import torch
import torch_xla.core.xla_model as xm
from optimum.neuron import NeuronStableDiffusionPipeline

device = xm.xla_device()
pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)
generator = [torch.Generator(device=device).manual_seed(seed) for seed in range(4)]
""",
        """import torch
import torch_xla.core.xla_model as xm
from optimum.neuron import NeuronStableDiffusionPipeline

device = xm.xla_device()
pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)
generator = [torch.Generator(device="cpu").manual_seed(seed) for seed in range(4)]
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "an unknown device",
        """import torch
from optimum.neuron import NeuronStableDiffusionPipeline


def paint(device):
    pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)
    return pipe("a cat", generator=torch.Generator(device).manual_seed(0)).images
""",
        outcomes=(Outcome.REVIEW,),
    ),
    Case(
        "a generator of the CPU",
        """import torch
from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)
image = pipe("a cat", generator=torch.Generator("cpu").manual_seed(0)).images[0]
""",
    ),
    Case(
        "a generator without a device",
        """import torch
from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)
image = pipe("a cat", generator=torch.Generator().manual_seed(0)).images[0]
""",
    ),
    Case(
        "a native script",
        """import torch
from diffusers import StableDiffusionPipeline

generator = torch.Generator("xla").manual_seed(0)
""",
    ),
    Case(
        "a generator of NumPy",
        """from numpy.random import Generator
from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)
generator = Generator("xla")
""",
    ),
)
