"""Drops the folder of a compiled pipeline that the same file saves and loads again.

The folder held compiled files. Natively the pipeline that was exported is used as it is, or its model is loaded again;
a folder that only other programs read is written all the same, with the plain weights.

https://huggingface.co/docs/diffusers/using-diffusers/loading
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.diffusion.flow import ELSEWHERE
from neuron_codemods.diffusion.given import same_expression
from neuron_codemods.diffusion.loads import Load, Loads, all_loads, guarded, saves
from neuron_codemods.edits import CallEdit, Change, RemoveStatement
from neuron_codemods.folder_guards import emptied
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.values import has_splat, in_order, keyword

RULE = Rule(
    code="NM303",
    name="compiled-folder",
    summary="save_pretrained and from_pretrained of a compiled pipeline, push_to_hub of its folder.",
    url="https://huggingface.co/docs/diffusers/using-diffusers/loading",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

_UPLOADED = {"repository_id": "repo_id", "use_auth_token": "token"}
_KEPT = frozenset({"token", "private", "commit_message", "create_pr", "repo_id"})


def check(module: Module) -> Iterator[Change]:
    found = all_loads(module)
    if found.flow is None or not found.rewritten:
        return
    for load in found.rewritten:
        if load.is_dropped:
            message = "The folder is not loaded again: the pipeline that was exported is still there."
            edits = guarded(module, load) or (RemoveStatement(module.statement(load.call)),)
            yield Change(Outcome.REWRITTEN, load.call, message, edits)
        elif load.is_superseded:
            message = "The export goes: the load of its folder loads the original model."
            statement = emptied(module, load.call) or module.statement(load.call)
            yield Change(Outcome.REWRITTEN, load.call, message, (RemoveStatement(statement),))
    for call, folder, origins in saves(module, found):
        if ELSEWHERE not in origins and all(_is_rewritten(found, item) for item in origins):
            yield _saved(module, found, call, folder)
    for member, origins in found.flow.members():
        above = module.parent(member)
        if member.attr == "push_to_hub" and isinstance(above, ast.Call) and above.func is member:
            if any(_is_rewritten(found, item) for item in origins):
                yield from _uploaded(module, above)


def _is_rewritten(found: Loads, call: ast.Call) -> bool:
    load = found.of(call)
    return load is not None and not load.problem


def _saved(module: Module, found: Loads, call: ast.Call, folder: ast.expr | None) -> Change:
    statement = module.parent(call)
    if folder is not None and isinstance(statement, ast.Expr) and _loaded(module, found, folder):
        message = (
            "Nothing is saved: the folder was only loaded again by this file, which loads the original model now."
        )
        return Change(Outcome.REWRITTEN, call, message, (RemoveStatement(statement),))
    message = (
        "save_pretrained writes the plain weights now and nothing compiled; from_pretrained of diffusers loads the "
        "folder anywhere."
    )
    return Change(Outcome.REVIEW, call, message)


def _loaded(module: Module, found: Loads, folder: ast.expr) -> list[Load]:
    return [load for load in found.rewritten if load.source and same_expression(module, folder, load.model)]


def _uploaded(module: Module, call: ast.Call) -> Iterator[Change]:
    repository = keyword(call, "repository_id")
    order = in_order(call)
    if repository is None and len(call.args) < 2 and not has_splat(call):
        return  # the old method asked for a repository id, so this is the native one
    known = all(item.arg in _KEPT or item.arg in _UPLOADED or item.arg == "save_directory" for item in call.keywords)
    places = [item for item in call.keywords if item.arg in ("save_directory", "repository_id")]
    if not known or len(call.args) + len(places) != 2:
        message = (
            "push_to_hub takes the repository id first and uploads the plain weights now: give it that instead of the "
            "folder, or delete the call."
        )
        yield Change(Outcome.MANUAL, call, message)
        return
    folder = call.args[0] if call.args else keyword(call, "save_directory")
    renamed = [(order.index(item), _UPLOADED[item.arg]) for item in call.keywords if item.arg in _UPLOADED]
    values: list[tuple[int, str]] = []
    removed = {order.index(folder)} if folder is not None else set()
    if repository is not None and call.args:
        values.append((order.index(call.args[0]), module.source.segment(repository.value)))
        removed = {order.index(repository)}
    message = (
        "push_to_hub takes the repository id first and uploads the plain weights now, nothing compiled: delete the "
        "call if the original model is on the Hub anyway."
    )
    edit = CallEdit(call, frozenset(removed), tuple(renamed), tuple(values))
    yield Change(Outcome.REVIEW, call, message, (edit,))


CASES = (
    Case(
        "the folder of the same variable",
        """from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, height=512, width=512)
pipe.save_pretrained("sd_neuron/")

pipe = NeuronStableDiffusionPipeline.from_pretrained("sd_neuron", device_ids=[0, 1])
image = pipe("a cat").images[0]
""",
        """from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, height=512, width=512)

image = pipe("a cat").images[0]
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "the folder of an export that serves for nothing else",
        """from optimum.neuron import NeuronStableDiffusionPipeline

folder = "sd_neuron"
exported = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, height=512, width=512)
exported.save_pretrained(folder)
pipe = NeuronStableDiffusionPipeline.from_pretrained(folder)
image = pipe("a cat").images[0]
""",
        """from optimum.neuron import NeuronStableDiffusionPipeline

folder = "sd_neuron"
pipe = NeuronStableDiffusionPipeline.from_pretrained(folder)
image = pipe("a cat").images[0]
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "exported unless it is there",
        """import os

from optimum.neuron import NeuronStableDiffusionXLPipeline

MODEL = "stabilityai/stable-diffusion-xl-base-1.0"
FOLDER = "sdxl_neuron/"


def load():
    if os.path.exists(FOLDER):
        return NeuronStableDiffusionXLPipeline.from_pretrained(FOLDER)
    pipe = NeuronStableDiffusionXLPipeline.from_pretrained(MODEL, export=True, height=1024, width=1024)
    pipe.save_pretrained(FOLDER)
    return pipe
""",
        """from optimum.neuron import NeuronStableDiffusionXLPipeline

MODEL = "stabilityai/stable-diffusion-xl-base-1.0"
FOLDER = "sdxl_neuron/"


def load():
    pipe = NeuronStableDiffusionXLPipeline.from_pretrained(MODEL, export=True, height=1024, width=1024)
    return pipe
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "a folder for other programs",
        """from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, height=512, width=512)
pipe.save_pretrained("sd_neuron/")
""",
        outcomes=(Outcome.REVIEW,),
    ),
    Case(
        "an upload",
        """from optimum.neuron import NeuronFluxPipeline

pipe = NeuronFluxPipeline.from_pretrained("a/b", export=True, height=512, width=512)
pipe.push_to_hub("flux_neuron/", repository_id="me/flux-neuron", use_auth_token=True)
""",
        """from optimum.neuron import NeuronFluxPipeline

pipe = NeuronFluxPipeline.from_pretrained("a/b", export=True, height=512, width=512)
pipe.push_to_hub("me/flux-neuron", token=True)
""",
        (Outcome.REVIEW,),
    ),
    Case(
        "an upload of unknown kind",
        """from optimum.neuron import NeuronFluxPipeline

pipe = NeuronFluxPipeline.from_pretrained("a/b", export=True, height=512, width=512)
pipe.push_to_hub("flux_neuron/", **options)
""",
        """from optimum.neuron import NeuronFluxPipeline

pipe = NeuronFluxPipeline.from_pretrained("a/b", export=True, height=512, width=512)
# TODO(neuron-migrate NM303): push_to_hub takes the repository id first and uploads the plain weights now: \
give it that instead of the folder, or delete the call: \
https://huggingface.co/docs/diffusers/using-diffusers/loading
pipe.push_to_hub("flux_neuron/", **options)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "an upload of the native kind",
        """from optimum.neuron import NeuronFluxPipeline

pipe = NeuronFluxPipeline.from_pretrained("a/b", export=True, height=512, width=512)
pipe.push_to_hub("me/flux", token=True)
""",
    ),
    Case(
        "a native pipeline that is saved",
        """from diffusers import StableDiffusionPipeline

pipe = StableDiffusionPipeline.from_pretrained("a/b")
pipe.save_pretrained("folder")
pipe.push_to_hub("me/sd", token=True)
""",
    ),
    Case(
        "a model of transformers that is saved",
        """from transformers import AutoModel

model = AutoModel.from_pretrained("a/b")
model.save_pretrained("folder")
""",
    ),
    Case(
        "a tokenizer beside a pipeline",
        """from optimum.neuron import NeuronFluxPipeline
from transformers import AutoTokenizer

pipe = NeuronFluxPipeline.from_pretrained("a/b", export=True)
tokenizer = AutoTokenizer.from_pretrained("a/b")
tokenizer.save_pretrained("folder")
""",
    ),
    Case(
        "something else with these methods",
        """store.save_pretrained("folder")
store.push_to_hub("folder", repository_id="me/x")
""",
    ),
    Case(
        "a pipeline that is only called",
        """from optimum.neuron import NeuronFluxPipeline

pipe = NeuronFluxPipeline.from_pretrained("a/b", export=True)
image = pipe("a cat").images[0]
""",
    ),
    Case(
        "names in text",
        """print("pipe.save_pretrained(folder)")
""",
    ),
)
