"""Rewrites or marks what a Neuron pipeline had besides what diffusers has: its halves of the VAE, its settings.

The VAE is one component natively, and a pipeline knows nothing of an export. Reading what is not there raises
AttributeError in the middle of a run.

https://huggingface.co/docs/diffusers/api/models/autoencoderkl
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods import data
from neuron_codemods.diffusion.flow import ELSEWHERE
from neuron_codemods.diffusion.loads import all_loads
from neuron_codemods.edits import CallEdit, Change, RemoveStatement
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.values import rename_attribute

RULE = Rule(
    code="NM305",
    name="pipeline-member",
    summary="vae_encoder, vae_decoder, neuron_configs and other attributes that native pipelines do not have.",
    url="https://huggingface.co/docs/diffusers/api/models/autoencoderkl",
    outcomes=(Outcome.REWRITTEN, Outcome.MANUAL),
)

_HALVES = {
    "vae_decoder": "vae.decode(latents, return_dict=False)[0]",
    "vae_encoder": "vae.encode(pixels).latent_dist.sample()",
}
_KEPT = frozenset({"keep", "rename"})
_OWN_RULES = frozenset({"push_to_hub", "save_pretrained", *_HALVES})


def check(module: Module) -> Iterator[Change]:
    found = all_loads(module)
    if found.flow is None or not found.rewritten:
        return
    for member, origins in found.flow.members():
        if not found.among(origins):
            continue
        if member.attr in _HALVES:
            yield _half(module, member)
        elif member.attr == "to":
            yield from _moved(module, member)
        elif member.attr not in _OWN_RULES and ELSEWHERE not in origins:
            rows = data.members("diffusion").get(member.attr) or data.members("traced_model").get(member.attr) or ()
            for row in rows[:1]:
                if row.action not in _KEPT:
                    yield Change(Outcome.MANUAL, member, f"{member.attr}: {row.reason}")


def _half(module: Module, member: ast.Attribute) -> Change:
    call = module.parent(member)
    is_decoder = member.attr == "vae_decoder"
    if is_decoder and isinstance(call, ast.Call) and call.func is member and len(call.args) == 1 and not call.keywords:
        if isinstance(module.parent(call), ast.Subscript):
            edits = (rename_attribute(module, member, "vae.decode"), CallEdit(call, added=(("return_dict", "False"),)))
            return Change(Outcome.REWRITTEN, member, "vae_decoder is a method of the one VAE.", edits)
    message = f"Use {_HALVES[member.attr]} of the pipeline: {member.attr} does not exist, the VAE is one component."
    return Change(Outcome.MANUAL, member, message)


def _moved(module: Module, member: ast.Attribute) -> Iterator[Change]:
    call = module.parent(member)
    if not isinstance(call, ast.Call) or call.func is not member:
        return
    statement = module.parent(call)
    if isinstance(statement, ast.Expr):
        message = "to() did nothing to a compiled pipeline; this one is on neuron_device() already."
        yield Change(Outcome.REWRITTEN, call, message, (RemoveStatement(statement),))
        return
    message = (
        "to() did nothing to a compiled pipeline and moves this one, which is on neuron_device() already: delete it."
    )
    yield Change(Outcome.MANUAL, call, message)


CASES = (
    Case(
        "the halves of the VAE",
        """from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)

latents = pipe.vae_encoder(pixels)[0]
image = pipe.vae_decoder(latents / 0.18215)[0]
""",
        """from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)

# TODO(neuron-migrate NM305): Use vae.encode(pixels).latent_dist.sample() of the pipeline: vae_encoder does \
not exist, the VAE is one component: https://huggingface.co/docs/diffusers/api/models/autoencoderkl
latents = pipe.vae_encoder(pixels)[0]
image = pipe.vae.decode(latents / 0.18215, return_dict=False)[0]
""",
        (Outcome.MANUAL, Outcome.REWRITTEN),
    ),
    Case(
        "a half of the VAE as a value",
        """from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)

decoder = pipe.vae_decoder
""",
        """from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)

# TODO(neuron-migrate NM305): Use vae.decode(latents, return_dict=False)[0] of the pipeline: vae_decoder \
does not exist, the VAE is one component: https://huggingface.co/docs/diffusers/api/models/autoencoderkl
decoder = pipe.vae_decoder
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "the settings of the export",
        """from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)

print(pipe.neuron_configs)
""",
        """from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)

# TODO(neuron-migrate NM305): neuron_configs: Delete it: there is no native counterpart: \
https://huggingface.co/docs/diffusers/api/models/autoencoderkl
print(pipe.neuron_configs)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "a device",
        """from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)

pipe.to("xla")
""",
        """from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)

""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "what diffusers has",
        """from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)

pipe.scheduler = Scheduler.from_config(pipe.scheduler.config)
embeddings = pipe.text_encoder(tokens)[0]
pipe.enable_vae_slicing()
""",
    ),
    Case(
        "an attribute of something else",
        """from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)
print(model.vae_decoder, model.neuron_configs)
""",
    ),
    Case(
        "a native pipeline",
        """from diffusers import StableDiffusionPipeline

pipe = StableDiffusionPipeline.from_pretrained("a/b")
print(pipe.neuron_configs)
""",
    ),
    Case(
        "a variable of the same name",
        """def decode(vae_decoder, latents):
    return vae_decoder(latents)[0]
""",
    ),
    Case(
        "a mapping",
        """parts = {"vae_decoder": None}
print(parts["vae_decoder"])
""",
    ),
)
