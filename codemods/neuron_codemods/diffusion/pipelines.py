"""The pipeline classes: what each takes when it is loaded and when it is called.

The facts are those of diffusers 0.42 (the signatures of ``__init__`` and ``__call__``); a test compares them with the
installed release.
"""

from __future__ import annotations

from dataclasses import dataclass

LOADING = frozenset(
    {"cache_dir", "custom_pipeline", "custom_revision", "disable_mmap", "dtype", "force_download"}
    | {"local_files_only", "low_cpu_mem_usage", "proxies", "quantization_config", "revision", "token"}
    | {"trust_remote_code", "use_safetensors", "variant"}
)
"""What ``DiffusionPipeline.from_pretrained`` takes besides the components, as far as a single device goes."""

_CLIP = frozenset({"vae", "text_encoder", "tokenizer", "scheduler", "feature_extractor", "image_encoder"})
_STABLE = _CLIP | {"unet", "safety_checker", "requires_safety_checker"}
_XL = _CLIP | {"unet", "text_encoder_2", "tokenizer_2", "force_zeros_for_empty_prompt", "add_watermarker"}
_XL_REFINING = _XL | {"requires_aesthetics_score"}
_PIXART = frozenset({"tokenizer", "text_encoder", "vae", "transformer", "scheduler"})
_FLUX = _CLIP | {"text_encoder_2", "tokenizer_2", "transformer"}


@dataclass(frozen=True)
class Pipeline:
    """One pipeline class of diffusers."""

    components: frozenset[str]
    """The parameters of ``__init__``, each of which ``from_pretrained`` takes."""
    leading: tuple[str, ...] = ("prompt",)
    """The first positional parameters of the call that meant the same in every release of Optimum Neuron."""
    takes_size: bool = True
    """Whether the call takes ``height`` and ``width``; if not, the image that it is given decides."""
    takes_length: bool = False
    """Whether the call takes ``max_sequence_length``."""
    takes_adapters: bool = True
    """Whether LoRA and IP-adapter weights can be loaded."""

    @property
    def denoiser(self) -> str:
        """The component that runs at every step."""
        return "unet" if "unet" in self.components else "transformer"

    @property
    def has_controlnet(self) -> bool:
        return "controlnet" in self.components

    @property
    def can_be_sharded(self) -> bool:
        """Whether the class of the denoiser has a plan for tensor parallelism (``_tp_plan``)."""
        return self.components == _FLUX


PIPELINES = {
    f"diffusers.{name}": pipeline
    for name, pipeline in {
        "StableDiffusionPipeline": Pipeline(_STABLE),
        "StableDiffusionImg2ImgPipeline": Pipeline(_STABLE, ("prompt", "image"), takes_size=False),
        "StableDiffusionInpaintPipeline": Pipeline(_STABLE, ("prompt", "image", "mask_image")),
        "StableDiffusionInstructPix2PixPipeline": Pipeline(_STABLE, ("prompt", "image"), takes_size=False),
        "LatentConsistencyModelPipeline": Pipeline(_STABLE),
        "StableDiffusionControlNetPipeline": Pipeline(_STABLE | {"controlnet"}, ("prompt", "image")),
        "StableDiffusionXLPipeline": Pipeline(_XL),
        "StableDiffusionXLImg2ImgPipeline": Pipeline(_XL_REFINING, takes_size=False),
        "StableDiffusionXLInpaintPipeline": Pipeline(_XL_REFINING),
        "StableDiffusionXLControlNetPipeline": Pipeline(_XL | {"controlnet"}),
        "PixArtAlphaPipeline": Pipeline(_PIXART, takes_length=True, takes_adapters=False),
        "PixArtSigmaPipeline": Pipeline(_PIXART, takes_length=True, takes_adapters=False),
        "FluxPipeline": Pipeline(_FLUX, takes_length=True),
        "FluxInpaintPipeline": Pipeline(_FLUX, takes_length=True),
        "FluxKontextPipeline": Pipeline(_FLUX, ("image", "prompt"), takes_length=True),
    }.items()
}
"""The pipeline classes by their dotted name."""
