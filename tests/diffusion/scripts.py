"""Scripts as people wrote them for Optimum Neuron, one for each idiom and pipeline class.

``MODELS`` stands for the folder of the tiny pipelines. Each leaves its images in ``images``; ``size`` is what the old
code got: (width, height) and how many.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Script:
    """One script with what it made."""

    name: str
    text: str
    count: int = 1
    size: tuple[int, int] = (64, 64)
    is_slow: bool = False

    def __str__(self) -> str:
        return self.name


SHAPES = """
compiler_args = {"auto_cast": "matmul", "auto_cast_type": "bf16"}
input_shapes = {"batch_size": 1, "height": 64, "width": 64}
"""
PICTURE = """
from PIL import Image
picture = Image.new("RGB", (100, 80), "red")
"""

SCRIPTS = (
    Script(
        "stable-diffusion",
        """
from optimum.neuron import NeuronStableDiffusionPipeline

input_shapes = {"batch_size": 1, "height": 48, "width": 64, "num_images_per_prompt": 2}
pipe = NeuronStableDiffusionPipeline.from_pretrained(
    "MODELS/sd", export=True, inline_weights_to_neff=True, device_ids=[0, 1], auto_cast="all", **input_shapes
)
images = pipe("a cat", num_inference_steps=2).images
""",
        count=2,
        size=(64, 48),
    ),
    Script(
        "stable-diffusion-xl",
        f"""
import torch
from optimum.neuron import NeuronStableDiffusionXLPipeline
{SHAPES}
pipe = NeuronStableDiffusionXLPipeline.from_pretrained(
    "MODELS/sdxl", export=True, **compiler_args, **input_shapes
)


def paint(prompt, **parameters):
    return pipe(prompt, **parameters)["images"]


images = paint("a cat", num_inference_steps=2, generator=torch.Generator("xla").manual_seed(0))
""",
    ),
    Script(
        "image-to-image",
        f"""
from optimum.neuron import NeuronStableDiffusionImg2ImgPipeline
{PICTURE}
pipe = NeuronStableDiffusionImg2ImgPipeline.from_pretrained(
    "MODELS/sd", export=True, height=64, width=96, data_parallel_mode="all"
)
images = pipe("a cat", image=picture, num_inference_steps=2, strength=0.6).images
""",
        size=(96, 64),
    ),
    Script(
        "image-to-image-xl",
        f"""
from optimum.neuron import NeuronStableDiffusionXLImg2ImgPipeline
{PICTURE}{SHAPES}
pipe = NeuronStableDiffusionXLImg2ImgPipeline.from_pretrained(
    "MODELS/sdxl-img2img", export=True, **input_shapes
)
images = pipe(prompt="a cat", image=picture.convert("RGB"), num_inference_steps=2, strength=0.6).images
""",
        is_slow=True,
    ),
    Script(
        "inpainting",
        f"""
from optimum.neuron import NeuronStableDiffusionInpaintPipeline
{PICTURE}{SHAPES}
pipe = NeuronStableDiffusionInpaintPipeline.from_pretrained("MODELS/sd", export=True, **input_shapes)
images = pipe("a cat", image=picture, mask_image=picture, num_inference_steps=2).images
""",
    ),
    Script(
        "inpainting-xl",
        f"""
from optimum.neuron import NeuronStableDiffusionXLInpaintPipeline
{PICTURE}{SHAPES}
pipe = NeuronStableDiffusionXLInpaintPipeline.from_pretrained(
    "MODELS/sdxl-img2img", export=True, **input_shapes
)
images = pipe("a cat", image=picture, mask_image=picture, num_inference_steps=2).images
""",
        is_slow=True,
    ),
    Script(
        "instructions",
        f"""
from optimum.neuron import NeuronStableDiffusionInstructPix2PixPipeline
{PICTURE}{SHAPES}
pipe = NeuronStableDiffusionInstructPix2PixPipeline.from_pretrained(
    "MODELS/pix2pix", export=True, dynamic_batch_size=True, **compiler_args, **input_shapes
)
images = pipe("make it blue", picture.resize((64, 64)), num_inference_steps=2).images
""",
    ),
    Script(
        "latent-consistency",
        f"""
from optimum.neuron import NeuronLatentConsistencyModelPipeline as Pipeline
{SHAPES}
pipe = Pipeline.from_pretrained("MODELS/lcm", export=True, optlevel="2", **compiler_args, **input_shapes)
images = pipe(["a cat", "a dog"], num_inference_steps=2, guidance_scale=8.0).images
""",
        count=2,
    ),
    Script(
        "control",
        f"""
from optimum.neuron import NeuronStableDiffusionControlNetPipeline
{PICTURE}{SHAPES}
control = "MODELS/canny"
pipe = NeuronStableDiffusionControlNetPipeline.from_pretrained(
    "MODELS/sd", controlnet_ids=control, export=True, vae_scale_factor=8, **compiler_args, **input_shapes
)
images = pipe("a cat", image=picture, num_inference_steps=2).images
""",
    ),
    Script(
        "several-controls",
        f"""
from optimum.neuron import NeuronStableDiffusionControlNetPipeline
{PICTURE}
pipe = NeuronStableDiffusionControlNetPipeline.from_pretrained(
    "MODELS/sd", controlnet_ids=["MODELS/canny", "MODELS/depth"], export=True, auto_cast="none", height=64, width=64
)
images = pipe("a cat", image=[picture, picture], num_inference_steps=2).images
""",
        is_slow=True,
    ),
    Script(
        "control-xl",
        f"""
from optimum.neuron import NeuronStableDiffusionXLControlNetPipeline
{PICTURE}{SHAPES}
pipe = NeuronStableDiffusionXLControlNetPipeline.from_pretrained(
    "MODELS/sdxl", controlnet_ids="MODELS/canny-xl", export=True, **compiler_args, **input_shapes
)
images = pipe("a cat", image=picture, num_inference_steps=2).images
""",
        is_slow=True,
    ),
    Script(
        "pixart",
        """
import torch
from optimum.neuron import NeuronPixArtAlphaPipeline

compiler_args = {"auto_cast": "none"}
input_shapes = {"batch_size": 1, "height": 64, "width": 64, "sequence_length": 16}
pipe = NeuronPixArtAlphaPipeline.from_pretrained(
    "MODELS/pixart", export=True, torch_dtype=torch.bfloat16, **compiler_args, **input_shapes
)
images = pipe(prompt="a cat", num_inference_steps=2, use_resolution_binning=False, clean_caption=False).images
""",
    ),
    Script(
        "pixart-sigma",
        """
from optimum.neuron.modeling_diffusion import NeuronPixArtSigmaPipeline

pipe = NeuronPixArtSigmaPipeline.from_pretrained(
    "MODELS/pixart", export=True, height=64, width=64, sequence_length=16, tensor_parallel_size=1
)
images = pipe("a cat", num_inference_steps=2, use_resolution_binning=False, clean_caption=False).images
""",
        is_slow=True,
    ),
    Script(
        "flux",
        """
import torch
from optimum.neuron import NeuronFluxPipeline

if __name__ == "__main__":
    compiler_args = {"auto_cast": "none"}
    input_shapes = {"batch_size": 1, "height": 64, "width": 64, "sequence_length": 16}
    pipe = NeuronFluxPipeline.from_pretrained(
        "MODELS/flux",
        torch_dtype=torch.bfloat16,
        export=True,
        tensor_parallel_size=8,
        **compiler_args,
        **input_shapes,
    )
    pipe.save_pretrained("flux_neuron/")
    pipe = NeuronFluxPipeline.from_pretrained("flux_neuron/")
    images = pipe("a cat", guidance_scale=3.5, num_inference_steps=2).images
""",
    ),
    Script(
        "flux-inpainting",
        f"""
from optimum.neuron import NeuronFluxInpaintPipeline
{PICTURE}
pipe = NeuronFluxInpaintPipeline.from_pretrained("MODELS/flux", export=True, height=64, width=64, sequence_length=16)
images = pipe("a cat", image=picture, mask_image=picture, num_inference_steps=2).images
""",
        is_slow=True,
    ),
    Script(
        "flux-kontext",
        f"""
from optimum.neuron import NeuronFluxKontextPipeline
{PICTURE}
shapes = {{"height": 64, "width": 64, "sequence_length": 16}}
pipe = NeuronFluxKontextPipeline.from_pretrained("MODELS/kontext", export=True, **shapes)
images = pipe(picture, "a cat", num_inference_steps=2, max_area=64 * 64).images
""",
        is_slow=True,
    ),
    Script(
        "adapters",
        """
from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained(
    "MODELS/sd",
    export=True,
    height=64,
    width=64,
    lora_model_ids=["MODELS/lora", "MODELS/lora"],
    lora_weight_names=["first.safetensors", "second.safetensors"],
    lora_adapter_names=["first", "second"],
    lora_scales=[0.9, 0.4],
)
images = pipe("a cat", num_inference_steps=2).images
""",
    ),
    Script(
        "one-adapter",
        """
from optimum.neuron import NeuronStableDiffusionPipeline

adapter_id = "MODELS/lora"
pipe = NeuronStableDiffusionPipeline.from_pretrained(
    "MODELS/sd",
    export=True,
    lora_model_ids=adapter_id,
    lora_weight_names="first.safetensors",
    lora_adapter_names="lcm",
    height=64,
    width=64,
)
images = pipe("a cat", num_inference_steps=2).images
""",
        is_slow=True,
    ),
    Script(
        "image-prompt",
        f"""
from optimum.neuron import NeuronStableDiffusionPipeline
{PICTURE}
pipe = NeuronStableDiffusionPipeline.from_pretrained(
    "MODELS/sd",
    export=True,
    ip_adapter_id="MODELS/ip-adapter",
    ip_adapter_subfolder="models",
    ip_adapter_weight_name="ip-adapter.safetensors",
    ip_adapter_scale=0.5,
    height=64,
    width=64,
    auto_cast="none",
)
images = pipe("a cat", ip_adapter_image=picture, num_inference_steps=2).images
""",
    ),
    Script(
        "another-unet",
        f"""
from optimum.neuron import NeuronStableDiffusionXLPipeline
{SHAPES}
pipe = NeuronStableDiffusionXLPipeline.from_pretrained(
    "MODELS/sdxl", unet_id="MODELS/unet-xl", export=True, **compiler_args, **input_shapes
)
images = pipe("a cat", num_inference_steps=2).images
""",
        is_slow=True,
    ),
    Script(
        "shared-weights",
        f"""
from optimum.neuron import NeuronStableDiffusionImg2ImgPipeline, NeuronStableDiffusionPipeline
{PICTURE}{SHAPES}
first = NeuronStableDiffusionPipeline.from_pretrained("MODELS/sd", export=True, **compiler_args, **input_shapes)
pipe = NeuronStableDiffusionImg2ImgPipeline.from_pipe(first)
images = pipe("a cat", image=picture, num_inference_steps=2, strength=0.6).images
images += first("a cat", num_inference_steps=2).images
""",
        count=2,
    ),
    Script(
        "a-service",
        """
import os

from optimum.neuron import NeuronStableDiffusionXLPipeline

FOLDER = "sdxl_neuron/"


class Painter:
    def __init__(self, height, width):
        self.size = (height, width)
        self.pipe = self.load()

    def load(self):
        if os.path.exists(FOLDER):
            return NeuronStableDiffusionXLPipeline.from_pretrained(FOLDER)
        pipe = NeuronStableDiffusionXLPipeline.from_pretrained(
            "MODELS/sdxl", export=True, height=HEIGHT, width=64, auto_cast="none"
        )
        pipe.save_pretrained(FOLDER)
        return pipe

    def paint(self, prompt, steps):
        return self.pipe(prompt, num_inference_steps=steps).images


HEIGHT = 48
images = Painter(48, 64).paint("a cat", 2)
""",
        size=(64, 48),
    ),
)
