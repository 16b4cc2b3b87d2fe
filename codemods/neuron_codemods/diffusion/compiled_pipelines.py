"""Loads the pipelines of diffusers where Optimum Neuron exported and ran compiled ones.

The compiler's keywords go, the weights get the dtype they were cast to, LoRA, ControlNet, IP-adapter and UNet ids
become the calls that load them, and the denoiser is compiled on its first call. diffusers ignores what it does not
know, so nothing of the old keywords may be left.

https://huggingface.co/docs/diffusers/api/pipelines/overview
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.data import Symbol
from neuron_codemods.diffusion.conversion import Conversion, convert
from neuron_codemods.diffusion.loads import Loads, all_loads, is_pipeline, target
from neuron_codemods.edits import (
    AnyEdit,
    Change,
    Edit,
    InsertLines,
    RenameAttribute,
    RenameImport,
    RenameStar,
    assignment_goes,
)
from neuron_codemods.imports import local_name
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renaming import attributes, imported, star_uses, without_native
from neuron_codemods.scopes import Binding
from neuron_codemods.source import Text
from neuron_codemods.values import UNKNOWN, literal

RULE = Rule(
    code="NM301",
    name="compiled-pipeline",
    summary="NeuronStableDiffusionPipeline and the like: the class, its from_pretrained and what it compiled.",
    url="https://huggingface.co/docs/diffusers/api/pipelines/overview",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

CATEGORIES = frozenset({"diffusion"})


def check(module: Module) -> Iterator[Change]:
    yield from without_native(module, CATEGORIES)
    found = all_loads(module)
    yield from _names(module, found)
    for use in found.uses:
        if use.problem:
            yield Change(Outcome.MANUAL, use.node, use.problem)
    conversions = [convert(module, found, load) for load in found.rewritten if not load.is_dropped]
    for load in found.loads:
        if load.problem:
            yield Change(Outcome.MANUAL, load.call, load.problem)
    for made in conversions:
        if not made.load.is_superseded:
            yield _load(module, made)
    yield from _mappings(module, found, conversions)


# Names --------------------------------------------------------------------------------------------------------------


def _names(module: Module, found: Loads) -> Iterator[Change]:
    def goes(symbol: Symbol) -> bool:
        return is_pipeline(symbol) and symbol.native not in found.held

    for binding, symbol in imported(module):
        if goes(symbol):
            edit: AnyEdit = RenameImport(binding, symbol.native)
            yield Change(Outcome.REWRITTEN, binding.node, symbol.message, (edit,))
    for binding, node, symbol in attributes(module):
        if goes(symbol):
            edit = RenameAttribute(binding, node, symbol.native)
            yield Change(Outcome.REWRITTEN, node, symbol.message, (edit,))
    for statement, name, symbol in star_uses(module):
        if goes(symbol):
            edit = RenameStar(name, symbol.native, statement)
            yield Change(Outcome.REWRITTEN, name, symbol.message, (edit,))


# Loads --------------------------------------------------------------------------------------------------------------


def _load(module: Module, made: Conversion) -> Change:
    call = made.load.call
    place = target(module, call)
    edits: list[AnyEdit] = [*made.edits]
    requires = list(dict.fromkeys(made.requires))
    if made.before:
        edits.append(InsertLines(module.statement(call), tuple(_fitted(module, module.statement(call), made.before))))
    if made.lines and place is not None:
        statement = module.statement(call)
        pipe, closing = place, []
        if isinstance(statement, ast.Return):
            start = module.source.span(statement)[0]
            edits.append(Edit.replace((start, module.source.span(call)[0]), f"{pipe} = "))
            closing = [f"return {pipe}"]
        lines = [line.replace("{pipe}", pipe) for line in made.lines]
        edits.append(InsertLines(statement, tuple(_fitted(module, statement, [*lines, *closing])), after=True))
    elif made.lines:
        device = "neuron_shim.neuron_device"
        requires = [name for name in requires if name != "neuron_shim.compile_static"]
        end = module.source.span(call)[1]
        edits.append(Edit.insert(end, f".to({local_name(module, device)}())"))
        made.said.append("It is not compiled as a whole, which needs a variable: assign it to one first for that.")
    outcome = Outcome.REVIEW if made.said else Outcome.REWRITTEN
    return Change(
        outcome, call, " ".join([_message(module, made), *made.said]), tuple(edits), tuple(requires), made.launch
    )


def _message(module: Module, made: Conversion) -> str:
    load = made.load
    if load.method == "from_pipe":
        return "The pipeline shares the weights of the first one, compiled parts included."
    dtype = made.dtype.rpartition(".")[2] if made.dtype is not None else "float32"
    text = f"The original weights load in {dtype}"
    if load.source is not None:
        by = "another file" if load.source.call is load.call else "this file"
        text += f", in the place of the folder that {by} exported,"
    return f"{text.rstrip(',')}." if target(module, load.call) is None else f"{text} and compile on the first call."


def _fitted(module: Module, statement: ast.stmt, lines: list[str]) -> Iterator[str]:
    """Lines with one argument a line where they would be too long for the file."""
    source = module.source
    unit = source.indentation_step
    room = source.line_limit - len(source.indentation(source.span(statement)[0]))
    for line in lines:
        text = line.lstrip()
        indent = unit * ((len(line) - len(text)) // 4)
        call = _last_call(text) if len(indent) + len(text) > room else None
        if call is None:
            yield indent + text
            continue
        arguments: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
        first = min(Text(text).span(argument)[0] for argument in arguments)
        yield indent + text[:first]
        yield from (f"{indent}{unit}{ast.get_source_segment(text, argument)}," for argument in arguments)
        yield f"{indent})"


def _last_call(text: str) -> ast.Call | None:
    """The call with arguments that a line ends with."""
    try:
        (statement,) = ast.parse(text).body
    except (SyntaxError, ValueError):
        return None
    value = statement.value if isinstance(statement, (ast.Assign, ast.Expr)) else None
    return value if isinstance(value, ast.Call) and (value.args or value.keywords) else None


# Around the loads ---------------------------------------------------------------------------------------------------


def _mappings(module: Module, found: Loads, conversions: list[Conversion]) -> Iterator[Change]:
    """Take away the variables that no call takes any more: mappings, and literals for the compiler."""
    emptied = {splat.keyword.value: splat.binding for made in conversions for splat in made.emptied}
    read: set[Binding] = {binding for made in conversions for binding in made.read}
    for splat in (splat for load in found.loads if load.is_dropped for splat in load.arguments.splats):
        emptied[splat.keyword.value] = splat.binding
    for node in (node for made in conversions for node in made.dropped):
        binding = module.binding(node)
        if binding is not None and binding.value is not None and literal(binding.value) is not UNKNOWN:
            emptied[node] = binding
    for binding in dict.fromkeys(binding for binding in emptied.values() if binding is not None):
        uses = [reference.node for reference in module.references(binding)]
        is_offered = binding.scope.is_module and module.is_offered(binding.name)
        gone = assignment_goes(binding)
        if gone and binding not in read and not is_offered and all(use in emptied for use in uses):
            message = f"{binding.name} goes: nothing takes it any more."
            yield Change(Outcome.REWRITTEN, binding.node, message, gone)


CASES = (
    Case(
        "the keywords of the compiler go, the sizes too",
        """from optimum.neuron import NeuronStableDiffusionXLPipeline

compiler_args = {"auto_cast": "matmul", "auto_cast_type": "bf16"}
input_shapes = {"batch_size": 1, "height": 1024, "width": 1024}
pipe = NeuronStableDiffusionXLPipeline.from_pretrained(
    "stabilityai/stable-diffusion-xl-base-1.0", export=True, **compiler_args, **input_shapes
)
""",
        """import torch
from diffusers import StableDiffusionXLPipeline
from neuron_shim import compile_static, neuron_device

pipe = StableDiffusionXLPipeline.from_pretrained(
    "stabilityai/stable-diffusion-xl-base-1.0", dtype=torch.bfloat16
)
pipe.to(neuron_device())
pipe.unet = compile_static(pipe.unet)
pipe.vae.decoder = compile_static(pipe.vae.decoder)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.REVIEW),
    ),
    Case(
        "a variable for the compiler",
        """from optimum.neuron import NeuronStableDiffusionPipeline

device_ids = [0, 1]
level = "2"
print(level)
pipe = NeuronStableDiffusionPipeline.from_pretrained(
    "a/b", export=True, device_ids=device_ids, optlevel=level, auto_cast="none"
)
""",
        """from diffusers import StableDiffusionPipeline
from neuron_shim import compile_static, neuron_device

level = "2"
print(level)
pipe = StableDiffusionPipeline.from_pretrained(
    "a/b"
)
pipe.to(neuron_device())
pipe.unet = compile_static(pipe.unet)
pipe.vae.decoder = compile_static(pipe.vae.decoder)
""",
    ),
    Case(
        "what diffusers knows stays",
        """import torch
from optimum.neuron import NeuronStableDiffusionPipeline

options = {"revision": "fp16", "use_auth_token": True, "inline_weights_to_neff": False}
pipe = NeuronStableDiffusionPipeline.from_pretrained(
    model_id="runwayml/stable-diffusion-v1-5",
    export=True,
    torch_dtype=torch.bfloat16,
    auto_cast="none",
    safety_checker=None,
    **options,
)
""",
        """import torch
from diffusers import StableDiffusionPipeline
from neuron_shim import compile_static, neuron_device

options = {"revision": "fp16", "token": True}
pipe = StableDiffusionPipeline.from_pretrained(
    pretrained_model_name_or_path="runwayml/stable-diffusion-v1-5",
    dtype=torch.bfloat16,
    safety_checker=None,
    **options,
)
pipe.to(neuron_device())
pipe.unet = compile_static(pipe.unet)
pipe.vae.decoder = compile_static(pipe.vae.decoder)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "full precision stays full",
        """from optimum.neuron import NeuronPixArtAlphaPipeline

pipe = NeuronPixArtAlphaPipeline.from_pretrained("PixArt-alpha/PixArt-XL-2-512x512", export=True, \
auto_cast="none")
""",
        """from diffusers import PixArtAlphaPipeline
from neuron_shim import compile_static, neuron_device

pipe = PixArtAlphaPipeline.from_pretrained("PixArt-alpha/PixArt-XL-2-512x512")
pipe.to(neuron_device())
pipe.transformer = compile_static(pipe.transformer)
pipe.vae.decoder = compile_static(pipe.vae.decoder)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "LoRA weights are loaded and fused",
        """from optimum.neuron import NeuronStableDiffusionPipeline

adapter_id = "latent-consistency/lcm-lora-sdv1-5"
pipe = NeuronStableDiffusionPipeline.from_pretrained(
    "Lykon/dreamshaper-7",
    export=True,
    auto_cast="all",
    lora_model_ids=adapter_id,
    lora_weight_names="pytorch_lora_weights.safetensors",
    lora_adapter_names="lcm",
    lora_scales=0.9,
)
""",
        """import torch
from diffusers import StableDiffusionPipeline
from neuron_shim import compile_static, neuron_device

adapter_id = "latent-consistency/lcm-lora-sdv1-5"
pipe = StableDiffusionPipeline.from_pretrained(
    "Lykon/dreamshaper-7",
    dtype=torch.bfloat16,
)
pipe.load_lora_weights(
    adapter_id,
    weight_name="pytorch_lora_weights.safetensors",
    adapter_name="lcm",
)
pipe.set_adapters(["lcm"], adapter_weights=[0.9])
pipe.fuse_lora()
pipe.unload_lora_weights()
pipe.to(neuron_device())
pipe.unet = compile_static(pipe.unet)
pipe.vae.decoder = compile_static(pipe.vae.decoder)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "several LoRA weights",
        """from optimum.neuron import NeuronStableDiffusionXLPipeline

pipe = NeuronStableDiffusionXLPipeline.from_pretrained(
    "stabilityai/stable-diffusion-xl-base-1.0",
    export=True,
    auto_cast="all",
    lora_model_ids=["CiroN2022/toy-face", "nerijs/pixel-art-xl"],
    lora_weight_names=["toy_face_sdxl.safetensors", "pixel-art-xl.safetensors"],
    lora_adapter_names=["toy", "pixel"],
    lora_scales=[0.7, 0.9],
)
""",
        """import torch
from diffusers import StableDiffusionXLPipeline
from neuron_shim import compile_static, neuron_device

pipe = StableDiffusionXLPipeline.from_pretrained(
    "stabilityai/stable-diffusion-xl-base-1.0",
    dtype=torch.bfloat16,
)
pipe.load_lora_weights(
    "CiroN2022/toy-face",
    weight_name="toy_face_sdxl.safetensors",
    adapter_name="toy",
)
pipe.load_lora_weights(
    "nerijs/pixel-art-xl",
    weight_name="pixel-art-xl.safetensors",
    adapter_name="pixel",
)
pipe.set_adapters(["toy", "pixel"], adapter_weights=[0.7, 0.9])
pipe.fuse_lora()
pipe.unload_lora_weights()
pipe.to(neuron_device())
pipe.unet = compile_static(pipe.unet)
pipe.vae.decoder = compile_static(pipe.vae.decoder)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "a ControlNet",
        """from optimum.neuron import NeuronStableDiffusionControlNetPipeline

pipe = NeuronStableDiffusionControlNetPipeline.from_pretrained(
    "runwayml/stable-diffusion-v1-5", controlnet_ids="lllyasviel/sd-controlnet-canny", export=True, \
auto_cast="all"
)
""",
        """import torch
from diffusers import ControlNetModel, StableDiffusionControlNetPipeline
from neuron_shim import compile_static, neuron_device

controlnet = ControlNetModel.from_pretrained("lllyasviel/sd-controlnet-canny", dtype=torch.bfloat16)
pipe = StableDiffusionControlNetPipeline.from_pretrained(
    "runwayml/stable-diffusion-v1-5", dtype=torch.bfloat16, controlnet=controlnet
)
pipe.to(neuron_device())
pipe.unet = compile_static(pipe.unet)
pipe.controlnet = compile_static(pipe.controlnet)
pipe.vae.decoder = compile_static(pipe.vae.decoder)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "several ControlNets",
        """from optimum.neuron import NeuronStableDiffusionXLControlNetPipeline


class Painter:
    def __init__(self, model_id):
        self.pipe = NeuronStableDiffusionXLControlNetPipeline.from_pretrained(
            model_id,
            export=True,
            auto_cast="none",
            controlnet_ids=["diffusers/controlnet-canny-sdxl-1.0", "diffusers/controlnet-depth-sdxl-1.0"],
        )
""",
        """from diffusers import ControlNetModel, StableDiffusionXLControlNetPipeline
from neuron_shim import compile_static, neuron_device


class Painter:
    def __init__(self, model_id):
        controlnet = [
            ControlNetModel.from_pretrained("diffusers/controlnet-canny-sdxl-1.0"),
            ControlNetModel.from_pretrained("diffusers/controlnet-depth-sdxl-1.0"),
        ]
        self.pipe = StableDiffusionXLControlNetPipeline.from_pretrained(
            model_id,
            controlnet=controlnet,
        )
        self.pipe.to(neuron_device())
        self.pipe.unet = compile_static(self.pipe.unet)
        self.pipe.controlnet = compile_static(self.pipe.controlnet)
        self.pipe.vae.decoder = compile_static(self.pipe.vae.decoder)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "an IP-adapter",
        """from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained(
    "runwayml/stable-diffusion-v1-5",
    export=True,
    auto_cast="none",
    ip_adapter_id="h94/IP-Adapter",
    ip_adapter_subfolder="models",
    ip_adapter_weight_name="ip-adapter-full-face_sd15.bin",
    ip_adapter_scale=0.5,
)
""",
        """from diffusers import StableDiffusionPipeline
from neuron_shim import compile_static, neuron_device

pipe = StableDiffusionPipeline.from_pretrained(
    "runwayml/stable-diffusion-v1-5",
)
pipe.load_ip_adapter(
    "h94/IP-Adapter",
    subfolder="models",
    weight_name="ip-adapter-full-face_sd15.bin",
)
pipe.set_ip_adapter_scale(0.5)
pipe.to(neuron_device())
pipe.unet = compile_static(pipe.unet)
pipe.vae.decoder = compile_static(pipe.vae.decoder)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "another UNet",
        """from optimum.neuron import NeuronStableDiffusionXLPipeline

pipe = NeuronStableDiffusionXLPipeline.from_pretrained(
    "stabilityai/stable-diffusion-xl-base-1.0", unet_id="latent-consistency/lcm-sdxl", export=True, \
auto_cast="all"
)
""",
        """import torch
from diffusers import StableDiffusionXLPipeline, UNet2DConditionModel
from neuron_shim import compile_static, neuron_device

unet = UNet2DConditionModel.from_pretrained("latent-consistency/lcm-sdxl", dtype=torch.bfloat16)
pipe = StableDiffusionXLPipeline.from_pretrained(
    "stabilityai/stable-diffusion-xl-base-1.0", dtype=torch.bfloat16, unet=unet
)
pipe.to(neuron_device())
pipe.unet = compile_static(pipe.unet)
pipe.vae.decoder = compile_static(pipe.vae.decoder)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "several cores for one pipeline",
        """import torch
from optimum.neuron import NeuronFluxPipeline

pipe = NeuronFluxPipeline.from_pretrained(
    "black-forest-labs/FLUX.1-dev", torch_dtype=torch.bfloat16, export=True, tensor_parallel_size=8, \
auto_cast="none"
)
""",
        """import torch
from diffusers import FluxPipeline, TensorParallelConfig
from neuron_shim import compile_static, neuron_device, parallel_sizes

pipe = FluxPipeline.from_pretrained(
    "black-forest-labs/FLUX.1-dev", dtype=torch.bfloat16
)
tp_size = parallel_sizes(tp_size=8)["tp_size"]
if tp_size > 1:
    torch.distributed.init_process_group()
    pipe.transformer.enable_parallelism(config=TensorParallelConfig(tp_degree=tp_size))
pipe.to(neuron_device())
pipe.transformer = compile_static(pipe.transformer)
pipe.vae.decoder = compile_static(pipe.vae.decoder)
""",
        (Outcome.REWRITTEN, Outcome.REVIEW),
    ),
    Case(
        "several copies of the UNet",
        """from optimum.neuron import NeuronStableDiffusionPipeline as Pipeline

pipe = Pipeline.from_pretrained("runwayml/stable-diffusion-v1-5", export=True, data_parallel_mode="unet", \
auto_cast="none")
""",
        """from diffusers import StableDiffusionPipeline as Pipeline
from neuron_shim import compile_static, neuron_device

pipe = Pipeline.from_pretrained("runwayml/stable-diffusion-v1-5")
pipe.to(neuron_device())
pipe.unet = compile_static(pipe.unet)
pipe.vae.decoder = compile_static(pipe.vae.decoder)
""",
        (Outcome.REWRITTEN, Outcome.REVIEW),
    ),
    Case(
        "imported and returned in a function",
        """def load(model_id):
    from optimum.neuron.modeling_diffusion import NeuronLatentConsistencyModelPipeline

    return NeuronLatentConsistencyModelPipeline.from_pretrained(model_id, export=True, auto_cast="none")
""",
        """def load(model_id):
    from diffusers import LatentConsistencyModelPipeline
    from neuron_shim import compile_static, neuron_device

    pipe = LatentConsistencyModelPipeline.from_pretrained(model_id)
    pipe.to(neuron_device())
    pipe.unet = compile_static(pipe.unet)
    pipe.vae.decoder = compile_static(pipe.vae.decoder)
    return pipe
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "a pipeline without a name",
        """import optimum.neuron

image = optimum.neuron.NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, \
auto_cast="none")("a cat")
""",
        """import diffusers
from neuron_shim import neuron_device

image = diffusers.StableDiffusionPipeline.from_pretrained("a/b").to(neuron_device())("a cat")
""",
        (Outcome.REWRITTEN, Outcome.REVIEW),
    ),
    Case(
        "a pipeline of another pipeline",
        """from optimum.neuron import NeuronStableDiffusionImg2ImgPipeline, NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("runwayml/stable-diffusion-v1-5", export=True, \
auto_cast="all")
second = NeuronStableDiffusionImg2ImgPipeline.from_pipe(pipe)
""",
        """import torch
from diffusers import StableDiffusionImg2ImgPipeline, StableDiffusionPipeline
from neuron_shim import compile_static, neuron_device

pipe = StableDiffusionPipeline.from_pretrained("runwayml/stable-diffusion-v1-5", dtype=torch.bfloat16)
pipe.to(neuron_device())
pipe.unet = compile_static(pipe.unet)
pipe.vae.decoder = compile_static(pipe.vae.decoder)
second = StableDiffusionImg2ImgPipeline.from_pipe(pipe, dtype=torch.bfloat16)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "a type",
        """from optimum.neuron import NeuronDiffusionPipelineBase, NeuronFluxKontextPipeline


def describe(pipe: NeuronFluxKontextPipeline) -> str:
    return "flux" if isinstance(pipe, NeuronDiffusionPipelineBase) else "other"
""",
        """from diffusers import DiffusionPipeline, FluxKontextPipeline


def describe(pipe: FluxKontextPipeline) -> str:
    return "flux" if isinstance(pipe, DiffusionPipeline) else "other"
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "one pipeline for each device",
        """import os

device = os.environ["DEVICE"]
if device == "xla":
    from optimum.neuron import NeuronStableDiffusionPipeline
else:
    from diffusers import StableDiffusionPipeline

if device == "xla":
    pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, auto_cast="none")
else:
    pipe = StableDiffusionPipeline.from_pretrained("a/b").to("cuda")
""",
        """import os

device = os.environ["DEVICE"]
if device == "xla":
    from diffusers import StableDiffusionPipeline
    from neuron_shim import compile_static, neuron_device
else:
    from diffusers import StableDiffusionPipeline

if device == "xla":
    pipe = StableDiffusionPipeline.from_pretrained("a/b")
    pipe.to(neuron_device())
    pipe.unet = compile_static(pipe.unet)
    pipe.vae.decoder = compile_static(pipe.vae.decoder)
else:
    pipe = StableDiffusionPipeline.from_pretrained("a/b").to("cuda")
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "a compiled folder is for a person",
        """from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("folder", device_ids=[0, 1])
""",
        """from optimum.neuron import NeuronStableDiffusionPipeline

# TODO(neuron-migrate NM301): "folder" is a compiled pipeline, which only Optimum Neuron could run. Write \
the id of the original model in its place, add export=True, height= and width=, and run neuron-migrate \
again. The folder says what they were: unet/config.json or transformer/config.json has _name_or_path and, \
under neuron, static_height and static_width in latents (times 8 for the image): \
https://huggingface.co/docs/diffusers/api/pipelines/overview
pipe = NeuronStableDiffusionPipeline.from_pretrained("folder", device_ids=[0, 1])
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "keywords of unknown origin",
        """from config import OPTIONS
from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, **OPTIONS)
""",
        """from config import OPTIONS
from optimum.neuron import NeuronStableDiffusionPipeline

# TODO(neuron-migrate NM301): What **OPTIONS holds cannot be told here. Write its keywords into this call \
and run neuron-migrate again, or load the original model by hand: diffusers ignores the old keywords \
without an error: https://huggingface.co/docs/diffusers/api/pipelines/overview
pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, **OPTIONS)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "a class that is chosen at run time",
        """from optimum.neuron import NeuronStableDiffusionPipeline, NeuronStableDiffusionXLPipeline


def load(model_id, is_xl):
    kind = NeuronStableDiffusionXLPipeline if is_xl else NeuronStableDiffusionPipeline
    return kind.from_pretrained(model_id, export=True)
""",
        """from optimum.neuron import NeuronStableDiffusionPipeline, NeuronStableDiffusionXLPipeline


def load(model_id, is_xl):
    # TODO(neuron-migrate NM301): NeuronStableDiffusionPipeline is handed on as a value here, so which \
pipeline loads is decided at run time. Write a call of from_pretrained for each class and run \
neuron-migrate again, or load with diffusers.StableDiffusionPipeline by hand: \
https://huggingface.co/docs/diffusers/api/pipelines/overview
    # TODO(neuron-migrate NM301): NeuronStableDiffusionXLPipeline is handed on as a value here, so which \
pipeline loads is decided at run time. Write a call of from_pretrained for each class and run \
neuron-migrate again, or load with diffusers.StableDiffusionXLPipeline by hand: \
https://huggingface.co/docs/diffusers/api/pipelines/overview
    kind = NeuronStableDiffusionXLPipeline if is_xl else NeuronStableDiffusionPipeline
    return kind.from_pretrained(model_id, export=True)
""",
        (Outcome.MANUAL, Outcome.MANUAL),
    ),
    Case(
        "a keyword that nobody knows",
        """from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, heigth=512)
""",
        """from optimum.neuron import NeuronStableDiffusionPipeline

# TODO(neuron-migrate NM301): heigth= is no keyword of diffusers.StableDiffusionPipeline nor one that \
Optimum Neuron documented, and diffusers would ignore it without an error: delete it or rename it, and run \
neuron-migrate again: https://huggingface.co/docs/diffusers/api/pipelines/overview
pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, heigth=512)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "the native pipeline",
        """from diffusers import StableDiffusionPipeline

pipe = StableDiffusionPipeline.from_pretrained("a/b", height=512)
""",
    ),
    Case(
        "a class of one's own",
        """class NeuronStableDiffusionPipeline:
    @classmethod
    def from_pretrained(cls, name, export=False):
        return cls()


pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)
""",
    ),
    Case(
        "another library's pipeline",
        """from vllm_neuron.model.flux import NeuronFluxPipeline

pipe = NeuronFluxPipeline.from_pretrained("black-forest-labs/FLUX.1-dev", export=True, height=1024)
""",
    ),
    Case(
        "a migrated pipeline",
        """import torch
from diffusers import FluxPipeline
from neuron_shim import compile_static, configure, neuron_device

configure()

pipe = FluxPipeline.from_pretrained("black-forest-labs/FLUX.1-dev", dtype=torch.bfloat16)
pipe.to(neuron_device())
pipe.transformer = compile_static(pipe.transformer)
""",
    ),
    Case(
        "a model of transformers",
        """from transformers import AutoModel

model = AutoModel.from_pretrained("a/b", export=True)
""",
    ),
    Case(
        "a name in a comment",
        """# pipe = NeuronStableDiffusionPipeline.from_pretrained("folder", device_ids=[0, 1])
x = 1
""",
    ),
    Case(
        "a relative import",
        """from .neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)
""",
    ),
    Case(
        "an attribute of something else",
        """pipe = models.NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)
""",
    ),
    Case(
        "a pipeline from a parameter",
        """def load(NeuronFluxPipeline):
    return NeuronFluxPipeline.from_pretrained("a/b", export=True)
""",
    ),
    Case(
        "a pipeline of ONNX Runtime",
        """from optimum.onnxruntime import ORTStableDiffusionPipeline

pipe = ORTStableDiffusionPipeline.from_pretrained("a/b", export=True)
""",
    ),
)
