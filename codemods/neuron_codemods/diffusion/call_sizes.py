"""Gives height, width and the other exported sizes to every call of a pipeline.

An exported pipeline had one size. Natively the sizes are arguments of each call; without them a pipeline makes images
of the size its model was trained on, and each new size compiles anew.

https://huggingface.co/docs/diffusers/api/pipelines/stable_diffusion/text2img
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.diffusion.flow import Flow
from neuron_codemods.diffusion.given import arguments, constant_of, entry_text, known_literal, text_at
from neuron_codemods.diffusion.loads import SIZES, Load, Loads, all_loads, read_mappings
from neuron_codemods.edits import AnyEdit, CallEdit, Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.values import in_order, keyword

RULE = Rule(
    code="NM302",
    name="pipeline-sizes",
    summary="height, width, num_images_per_prompt and max_sequence_length at every call of a pipeline.",
    url="https://huggingface.co/docs/diffusers/api/pipelines/stable_diffusion/text2img",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

LENGTH = "max_sequence_length"
_PICTURES = frozenset({"PIL.Image.open", "diffusers.utils.load_image", "PIL.Image.new", "PIL.Image.fromarray"})


def check(module: Module) -> Iterator[Change]:
    found = all_loads(module)
    flow = found.flow
    if flow is None or not found.rewritten:
        return
    called: set[int] = set()
    for call, origins in flow.calls():
        loads = found.among(origins)
        if loads:
            called.update(id(load) for load in loads)
            yield from _call(module, found, call, loads, is_sure=len(loads) == len(origins))
    for node, origins, how in flow.escapes():
        loads = found.among(origins)
        sizes = _shown(module, found, loads)
        if sizes:
            called.update(id(load) for load in loads)
            message = f"The pipeline is {how}, where its calls cannot be seen: give them {sizes}."
            yield Change(Outcome.MANUAL, node, message)
    yield from _uncalled(module, found, called)


def sizes_of(module: Module, found: Loads, load: Load, at: ast.AST) -> dict[str, str | None]:
    """The keywords that a call of a pipeline needs, with their texts; None where one cannot be written there."""
    root = found.root(load) or load
    settings = root.settings
    sizes: dict[str, str | None] = {}
    for name in SIZES:
        if name not in settings:
            continue
        known = constant_of(module, settings[name].value)
        if known is None or (name == "num_images_per_prompt" and known == 1):
            continue
        if name in ("height", "width") and not load.pipeline.takes_size:
            continue
        if name == "sequence_length" and not load.pipeline.takes_length:
            continue
        given = settings[name]
        is_read = given.splat is not None and given.splat in read_mappings(module, settings)
        text = entry_text(module, given, at) if is_read else text_at(module, given, at)
        sizes[LENGTH if name == "sequence_length" else name] = text
    return sizes


def _call(module: Module, found: Loads, call: ast.Call, loads: list[Load], is_sure: bool) -> Iterator[Change]:
    wanted = [sizes_of(module, found, load, call) for load in loads]
    names = list(dict.fromkeys(name for sizes in wanted for name in sizes))
    given = arguments(module, call)
    missing = [name for name in names if name not in given.given]
    assert found.flow is not None
    problem = _problem(found.flow, loads, call)
    if problem and (missing or any(not load.pipeline.takes_size for load in loads)):
        yield Change(Outcome.MANUAL, call, f"{problem}{_reminder(module, found, loads)}")
        return
    if missing:
        yield _with_sizes(module, found, call, loads, wanted, missing, is_sure)
    if not all(load.pipeline.takes_size for load in loads):
        yield from _picture(module, found, call, loads[0])


def _problem(flow: Flow, loads: list[Load], call: ast.Call) -> str:
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return "What * gives to this call cannot be told here."
    count = len(call.args) - (0 if flow.origins(call.func) & flow.loads else 1)
    if any(count > len(load.pipeline.leading) for load in loads):
        return (
            "Name the arguments of this call: the second positional one was the number of steps in old releases of "
            "Optimum Neuron and is something else natively."
        )
    return ""


def _reminder(module: Module, found: Loads, loads: list[Load]) -> str:
    sizes = _shown(module, found, loads)
    return f" Give it {sizes}." if sizes else ""


def _shown(module: Module, found: Loads, loads: list[Load]) -> str:
    """The sizes as the loads have them, for a message."""
    parts: dict[str, None] = {}
    for load in loads:
        settings = (found.root(load) or load).settings
        for name, text in sizes_of(module, found, load, load.call).items():
            old = "sequence_length" if name == LENGTH else name
            known = known_literal(module, settings[old].value)
            parts[f"{name}={module.source.segment(known) if known is not None else text or f'<{old}>'}"] = None
    *most, last = [*parts] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def _with_sizes(
    module: Module,
    found: Loads,
    call: ast.Call,
    loads: list[Load],
    wanted: list[dict[str, str | None]],
    missing: list[str],
    is_sure: bool,
) -> Change:
    agreed: list[tuple[str, str]] = []
    for name in missing:
        text = wanted[0].get(name)
        if text is None or any(sizes.get(name) != text for sizes in wanted):
            if len({sizes.get(name) for sizes in wanted}) > 1:
                choices = dict.fromkeys(_shown(module, found, [load]) or "no size" for load in loads)
                either = " or ".join(choices)
                message = f"The pipelines that may be called here had different sizes: give this call {either}."
            else:
                message = f"The sizes are not known here: give this call {_shown(module, found, loads)}."
            return Change(Outcome.MANUAL, call, message)
        agreed.append((name, text))
    edit, is_open = _edit(module, call, agreed)
    shown = ", ".join(f"{name}={text}" for name, text in agreed)
    if is_open:
        message = f"The exported sizes, {shown}, are the defaults of this call; what the mapping holds wins over them."
        return Change(Outcome.REVIEW, call, message, (edit,))
    if not is_sure:
        message = f"This call gets {shown} as exported, also where another pipeline is called here."
        return Change(Outcome.REVIEW, call, message, (edit,))
    return Change(Outcome.REWRITTEN, call, f"The exported sizes are arguments of the call: {shown}.", (edit,))


def _edit(module: Module, call: ast.Call, added: list[tuple[str, str]]) -> tuple[AnyEdit, bool]:
    """The edit that adds keywords; beside a mapping that cannot be read they become the first entries of it."""
    splats = [item for item in call.keywords if item.arg is None]
    unread = arguments(module, call).unknown
    if unread is None:
        return CallEdit(call, added=tuple(added)), False
    entries = [f'"{name}": {text}' for name, text in added]
    entries += [f"**{module.source.segment(item.value)}" for item in splats]
    order = in_order(call)
    rest = frozenset(order.index(item) for item in splats[1:])
    return CallEdit(call, removed=rest, values=((order.index(splats[0]), f"{{{', '.join(entries)}}}"),)), True


# Pictures that decide the size --------------------------------------------------------------------------------------


def _picture(module: Module, found: Loads, call: ast.Call, load: Load) -> Iterator[Change]:
    """For a pipeline that takes no size: its image must have it."""
    settings = (found.root(load) or load).settings
    if not ({"height", "width"} <= settings.keys()):
        return
    given = keyword(call, "image")
    index = load.pipeline.leading.index("image") if "image" in load.pipeline.leading else len(call.args)
    picture = given.value if given is not None else call.args[index] if index < len(call.args) else None
    width, height = (text_at(module, settings[name], call) for name in ("width", "height"))
    size = tuple(constant_of(module, settings[name].value) for name in ("width", "height"))
    written = [module.source.segment(settings[name].value) for name in ("width", "height")]
    shown = f"({width or written[0]}, {height or written[1]})"
    if picture is None:
        if arguments(module, call).unknown is not None:
            message = f"The image decides the size of the result now: resize it to {shown} before this call."
            yield Change(Outcome.MANUAL, call, message)
        return
    known = _resized(module, picture)
    if known is not None:
        sizes = constant_of(module, known)
        if sizes == size or (isinstance(known, ast.Tuple) and ast.unparse(known) == f"({width}, {height})"):
            return
    if width is not None and height is not None and _is_picture(module, picture):
        argument = given if given is not None else picture
        edit = CallEdit(
            call, values=((in_order(call).index(argument), f"{module.source.segment(picture)}.resize({shown})"),)
        )
        message = (
            "The image decides the size of the result now, so it is resized to the exported one; the old pipeline did "
            "so inside, by another filter."
        )
        yield Change(Outcome.REVIEW, picture, message, (edit,))
        return
    message = f"The image decides the size of the result now: resize it to {shown} (width, height) before this call."
    yield Change(Outcome.MANUAL, picture, message)


def _resized(module: Module, node: ast.expr) -> ast.expr | None:
    """The size that an image was last resized to, if the file says so."""
    for _ in range(8):
        if isinstance(node, ast.Name):
            binding = module.binding(node)
            if binding is None or binding.value is None:
                return None
            node = binding.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "resize" and node.args:
                return node.args[0]
            node = node.func.value
        else:
            return None
    return None


def _is_picture(module: Module, node: ast.expr) -> bool:
    """Whether an expression is an image of PIL for certain."""
    for _ in range(8):
        if isinstance(node, ast.Name):
            binding = module.binding(node)
            if binding is None or binding.value is None:
                return False
            node = binding.value
        elif isinstance(node, ast.Call):
            if module.resolve(node.func) in _PICTURES:
                return True
            if not (isinstance(node.func, ast.Attribute) and node.func.attr in ("convert", "resize", "copy", "crop")):
                return False
            node = node.func.value
        else:
            return False
    return False


# Pipelines that nothing calls ---------------------------------------------------------------------------------------


def _uncalled(module: Module, found: Loads, called: set[int]) -> Iterator[Change]:
    for load in found.rewritten:
        if id(load) in called or load.is_superseded or load.is_dropped:
            continue
        shown = _shown(module, found, [load])
        if not shown or any(other.source is load for other in found.loads):
            continue
        message = f"Nothing here calls the pipeline: give {shown} to the calls of what this run saves or hands on."
        yield Change(Outcome.REVIEW, load.call, message)


CASES = (
    Case(
        "every call",
        """from optimum.neuron import NeuronStableDiffusionPipeline

shapes = {"height": 512, "width": 768, "num_images_per_prompt": 2}
pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, **shapes)

for prompt in ("a cat", "a dog"):
    images = pipe(prompt, num_inference_steps=20).images
image = pipe("a horse", height=640).images[0]
""",
        """from optimum.neuron import NeuronStableDiffusionPipeline

shapes = {"height": 512, "width": 768, "num_images_per_prompt": 2}
pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, **shapes)

for prompt in ("a cat", "a dog"):
    images = pipe(
        prompt,
        num_inference_steps=20,
        height=512,
        width=768,
        num_images_per_prompt=2,
    ).images
image = pipe("a horse", height=640, width=768, num_images_per_prompt=2).images[0]
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "in other functions",
        """from optimum.neuron import NeuronStableDiffusionPipeline

shapes = {"height": 512, "width": 768, "num_images_per_prompt": 2}
pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, **shapes)


def paint(prompt):
    return pipe(prompt)


def paint_with(pipeline, prompt):
    return pipeline(prompt=prompt)


paint_with(pipe, "a cat")
""",
        """from optimum.neuron import NeuronStableDiffusionPipeline

shapes = {"height": 512, "width": 768, "num_images_per_prompt": 2}
pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, **shapes)


def paint(prompt):
    return pipe(prompt, height=512, width=768, num_images_per_prompt=2)


def paint_with(pipeline, prompt):
    return pipeline(prompt=prompt, height=512, width=768, num_images_per_prompt=2)


paint_with(pipe, "a cat")
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "an attribute",
        """from optimum.neuron import NeuronFluxPipeline


class Painter:
    HEIGHT = 1024

    def __init__(self, width):
        self.width = width
        self.pipe = NeuronFluxPipeline.from_pretrained(
            "a/b", export=True, height=self.HEIGHT, width=self.width, sequence_length=256
        )

    def paint(self, prompt):
        return self.pipe(prompt)
""",
        """from optimum.neuron import NeuronFluxPipeline


class Painter:
    HEIGHT = 1024

    def __init__(self, width):
        self.width = width
        self.pipe = NeuronFluxPipeline.from_pretrained(
            "a/b", export=True, height=self.HEIGHT, width=self.width, sequence_length=256
        )

    def paint(self, prompt):
        return self.pipe(
            prompt,
            height=self.HEIGHT,
            width=self.width,
            max_sequence_length=256,
        )
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "a mapping of sizes that is computed",
        """import os

from optimum.neuron import NeuronStableDiffusionPipeline

shapes = {"height": read("HEIGHT"), "width": int(os.environ["WIDTH"])}
pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, **shapes)
image = pipe("a cat").images[0]
""",
        """import os

from optimum.neuron import NeuronStableDiffusionPipeline

shapes = {"height": read("HEIGHT"), "width": int(os.environ["WIDTH"])}
pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, **shapes)
image = pipe("a cat", height=shapes["height"], width=shapes["width"]).images[0]
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "arguments in a mapping",
        """from optimum.neuron import NeuronStableDiffusionPipeline

shapes = {"height": 512, "width": 768, "num_images_per_prompt": 2}
pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, **shapes)

inputs = {"prompt": "a cat", "height": 640}
image = pipe(**inputs).images[0]


def paint(prompt, **parameters):
    return pipe(prompt, **parameters).images
""",
        """from optimum.neuron import NeuronStableDiffusionPipeline

shapes = {"height": 512, "width": 768, "num_images_per_prompt": 2}
pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, **shapes)

inputs = {"prompt": "a cat", "height": 640}
image = pipe(**inputs, width=768, num_images_per_prompt=2).images[0]


def paint(prompt, **parameters):
    return pipe(
        prompt,
        **{"height": 512, "width": 768, "num_images_per_prompt": 2, **parameters},
    ).images
""",
        (Outcome.REWRITTEN, Outcome.REVIEW),
    ),
    Case(
        "a pipeline that a function loads",
        """from optimum.neuron import NeuronStableDiffusionPipeline

SIZE = 512


def load():
    pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, height=SIZE, width=SIZE)
    return pipe


def main():
    pipe = load()
    return pipe("a cat").images
""",
        """from optimum.neuron import NeuronStableDiffusionPipeline

SIZE = 512


def load():
    pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, height=SIZE, width=SIZE)
    return pipe


def main():
    pipe = load()
    return pipe("a cat", height=SIZE, width=SIZE).images
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "the handlers of SageMaker",
        """from optimum.neuron import NeuronStableDiffusionXLPipeline


def model_fn(model_dir):
    return NeuronStableDiffusionXLPipeline.from_pretrained("a/b", export=True, height=1024, width=1024)


def predict_fn(data, pipeline):
    return pipeline(data["inputs"])["images"]
""",
        """from optimum.neuron import NeuronStableDiffusionXLPipeline


def model_fn(model_dir):
    return NeuronStableDiffusionXLPipeline.from_pretrained("a/b", export=True, height=1024, width=1024)


def predict_fn(data, pipeline):
    return pipeline(data["inputs"], height=1024, width=1024)["images"]
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "a call that is put off",
        """from functools import partial

from optimum.neuron import NeuronPixArtSigmaPipeline

pipe = NeuronPixArtSigmaPipeline.from_pretrained("a/b", export=True, height=512, width=512, \
sequence_length=120)
paint = partial(pipe, num_inference_steps=4)
""",
        """from functools import partial

from optimum.neuron import NeuronPixArtSigmaPipeline

pipe = NeuronPixArtSigmaPipeline.from_pretrained("a/b", export=True, height=512, width=512, \
sequence_length=120)
paint = partial(pipe, num_inference_steps=4, height=512, width=512, max_sequence_length=120)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "the image decides the size",
        """from diffusers.utils import load_image
from optimum.neuron import NeuronStableDiffusionInstructPix2PixPipeline

pipe = NeuronStableDiffusionInstructPix2PixPipeline.from_pretrained("a/b", export=True, height=512, width=768)
picture = load_image("cat.png").convert("RGB")
edited = pipe("make it blue", image=picture).images[0]
""",
        """from diffusers.utils import load_image
from optimum.neuron import NeuronStableDiffusionInstructPix2PixPipeline

pipe = NeuronStableDiffusionInstructPix2PixPipeline.from_pretrained("a/b", export=True, height=512, width=768)
picture = load_image("cat.png").convert("RGB")
edited = pipe("make it blue", image=picture.resize((768, 512))).images[0]
""",
        (Outcome.REVIEW,),
    ),
    Case(
        "an image of unknown size",
        """from optimum.neuron import NeuronStableDiffusionXLImg2ImgPipeline

pipe = NeuronStableDiffusionXLImg2ImgPipeline.from_pretrained("a/b", export=True, height=512, width=768)
edited = pipe("make it blue", image=picture).images[0]
""",
        """from optimum.neuron import NeuronStableDiffusionXLImg2ImgPipeline

pipe = NeuronStableDiffusionXLImg2ImgPipeline.from_pretrained("a/b", export=True, height=512, width=768)
# TODO(neuron-migrate NM302): The image decides the size of the result now: resize it to (768, 512) (width, \
height) before this call: https://huggingface.co/docs/diffusers/api/pipelines/stable_diffusion/text2img
edited = pipe("make it blue", image=picture).images[0]
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "another pipeline in another branch",
        """from diffusers import StableDiffusionPipeline
from optimum.neuron import NeuronStableDiffusionPipeline

if accelerated:
    pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, height=512, width=512)
else:
    pipe = StableDiffusionPipeline.from_pretrained("a/b")
image = pipe("a cat").images[0]
""",
        """from diffusers import StableDiffusionPipeline
from optimum.neuron import NeuronStableDiffusionPipeline

if accelerated:
    pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, height=512, width=512)
else:
    pipe = StableDiffusionPipeline.from_pretrained("a/b")
image = pipe("a cat", height=512, width=512).images[0]
""",
        (Outcome.REVIEW,),
    ),
    Case(
        "pipelines of different sizes",
        """from optimum.neuron import NeuronStableDiffusionPipeline

if large:
    pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, height=768, width=768)
else:
    pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, height=512, width=512)
image = pipe("a cat").images[0]
""",
        """from optimum.neuron import NeuronStableDiffusionPipeline

if large:
    pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, height=768, width=768)
else:
    pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, height=512, width=512)
# TODO(neuron-migrate NM302): The pipelines that may be called here had different sizes: give this call \
height=768 and width=768 or height=512 and width=512: \
https://huggingface.co/docs/diffusers/api/pipelines/stable_diffusion/text2img
image = pipe("a cat").images[0]
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "a pipeline that goes elsewhere",
        """from optimum.neuron import NeuronStableDiffusionPipeline

shapes = {"height": 512, "width": 768, "num_images_per_prompt": 2}
pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, **shapes)

server.register(pipe)
""",
        """from optimum.neuron import NeuronStableDiffusionPipeline

shapes = {"height": 512, "width": 768, "num_images_per_prompt": 2}
pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, **shapes)

# TODO(neuron-migrate NM302): The pipeline is given to other code, where its calls cannot be seen: give \
them height=512, width=768 and num_images_per_prompt=2: \
https://huggingface.co/docs/diffusers/api/pipelines/stable_diffusion/text2img
server.register(pipe)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "a positional argument of old releases",
        """from optimum.neuron import NeuronStableDiffusionPipeline

shapes = {"height": 512, "width": 768, "num_images_per_prompt": 2}
pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, **shapes)

image = pipe("a cat", 50).images[0]
""",
        """from optimum.neuron import NeuronStableDiffusionPipeline

shapes = {"height": 512, "width": 768, "num_images_per_prompt": 2}
pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, **shapes)

# TODO(neuron-migrate NM302): Name the arguments of this call: the second positional one was the number of \
steps in old releases of Optimum Neuron and is something else natively. Give it height=512, width=768 and \
num_images_per_prompt=2: https://huggingface.co/docs/diffusers/api/pipelines/stable_diffusion/text2img
image = pipe("a cat", 50).images[0]
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "nothing calls it",
        """from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, height=512, width=512)
pipe.save_pretrained("sd_neuron/")
""",
        outcomes=(Outcome.REVIEW,),
    ),
    Case(
        "a call that has its sizes",
        """from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, height=512, width=512)
image = pipe("a cat", height=512, width=512).images[0]
""",
    ),
    Case(
        "a pipeline without sizes",
        """from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)
image = pipe("a cat").images[0]
""",
    ),
    Case(
        "an image that has the size",
        """from PIL import Image

from optimum.neuron import NeuronStableDiffusionImg2ImgPipeline

pipe = NeuronStableDiffusionImg2ImgPipeline.from_pretrained("a/b", export=True, height=512, width=768)
picture = Image.open("cat.png").convert("RGB")
picture = picture.resize((768, 512))
edited = pipe("make it blue", picture).images[0]
""",
    ),
    Case(
        "a native pipeline",
        """from diffusers import StableDiffusionPipeline

pipe = StableDiffusionPipeline.from_pretrained("a/b")
image = pipe("a cat").images[0]
""",
    ),
    Case(
        "a call of something else",
        """def pipe(prompt):
    return prompt


image = pipe("a cat")
""",
    ),
    Case(
        "a pipeline of transformers",
        """from transformers import pipeline

pipe = pipeline("fill-mask")
print(pipe("a cat"))
""",
    ),
)
