"""Tiny pipelines with random weights, each a folder that ``from_pretrained`` loads, and adapters for them.

All are built offline, the tokenizers included. The weights are kept small so that a run takes a fraction of a second;
the images mean nothing, their size is what counts.
"""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from diffusers import (
    AutoencoderKL,
    ControlNetModel,
    DDIMScheduler,
    DPMSolverMultistepScheduler,
    FlowMatchEulerDiscreteScheduler,
    FluxKontextPipeline,
    FluxPipeline,
    FluxTransformer2DModel,
    LatentConsistencyModelPipeline,
    LCMScheduler,
    PixArtAlphaPipeline,
    PixArtTransformer2DModel,
    StableDiffusionInstructPix2PixPipeline,
    StableDiffusionPipeline,
    StableDiffusionXLImg2ImgPipeline,
    StableDiffusionXLPipeline,
    UNet2DConditionModel,
)
from peft import LoraConfig
from peft.utils import get_peft_model_state_dict
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    CLIPImageProcessor,
    CLIPTextConfig,
    CLIPTextModel,
    CLIPTextModelWithProjection,
    CLIPTokenizer,
    CLIPVisionConfig,
    CLIPVisionModelWithProjection,
    PreTrainedTokenizerFast,
    T5Config,
    T5EncoderModel,
)

WIDTH = 32
"""The size of the text embeddings."""


def build(folder: Path) -> None:
    """Write every pipeline, component and adapter below a folder."""
    torch.manual_seed(0)
    clip = clip_tokenizer(folder / "clip")
    _stable_diffusion(folder, clip)
    _stable_diffusion_xl(folder, clip)
    _pixart(folder)
    _flux(folder, clip)


def clip_tokenizer(folder: Path) -> CLIPTokenizer:
    folder.mkdir(parents=True)
    letters = "abcdefghijklmnopqrstuvwxyz"
    tokens = ["<|startoftext|>", "<|endoftext|>", "!", *letters, *(f"{letter}</w>" for letter in letters)]
    (folder / "vocab.json").write_text(json.dumps({token: number for number, token in enumerate(tokens)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    return CLIPTokenizer(
        str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=77, pad_token="<|endoftext|>"
    )


def t5_tokenizer() -> PreTrainedTokenizerFast:
    words = ["<pad>", "</s>", "<unk>", "a", "cat", "dog"]
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", model_max_length=512
    )


def text_encoder(kind: type = CLIPTextModel, **changes: Any) -> Any:
    config = CLIPTextConfig(
        vocab_size=128,
        hidden_size=WIDTH,
        intermediate_size=37,
        num_hidden_layers=2,
        num_attention_heads=4,
        projection_dim=WIDTH,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
        **changes,
    )
    return kind(config).eval()


def t5_encoder() -> T5EncoderModel:
    return T5EncoderModel(
        T5Config(vocab_size=16, d_model=WIDTH, d_kv=8, d_ff=37, num_layers=2, num_heads=4, decoder_start_token_id=0)
    ).eval()


def vae(channels: int = 4) -> AutoencoderKL:
    """Four levels, so that one latent is 8 pixels wide as in the real ones."""
    return AutoencoderKL(
        block_out_channels=[4, 4, 4, 4],
        norm_num_groups=2,
        in_channels=3,
        out_channels=3,
        down_block_types=["DownEncoderBlock2D"] * 4,
        up_block_types=["UpDecoderBlock2D"] * 4,
        latent_channels=channels,
        sample_size=64,
    ).eval()


UNET = {
    "block_out_channels": (8, 16),
    "norm_num_groups": 4,
    "layers_per_block": 1,
    "sample_size": 8,
    "in_channels": 4,
    "out_channels": 4,
    "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
    "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D"),
    "cross_attention_dim": WIDTH,
}
UNET_XL = {
    **UNET,
    "attention_head_dim": (2, 4),
    "use_linear_projection": True,
    "addition_embed_type": "text_time",
    "addition_time_embed_dim": 8,
    "transformer_layers_per_block": (1, 2),
    "projection_class_embeddings_input_dim": 6 * 8 + WIDTH,
    "cross_attention_dim": 2 * WIDTH,
}


def _stable_diffusion(folder: Path, tokenizer: CLIPTokenizer) -> None:
    parts = {
        "vae": vae(),
        "text_encoder": text_encoder(),
        "tokenizer": tokenizer,
        "scheduler": DDIMScheduler(beta_schedule="scaled_linear", clip_sample=False, set_alpha_to_one=False),
        "safety_checker": None,
        "feature_extractor": None,
        "image_encoder": None,
        "requires_safety_checker": False,
    }
    unet = UNet2DConditionModel(**UNET).eval()
    pipe = StableDiffusionPipeline(unet=unet, **parts)
    pipe.save_pretrained(folder / "sd")
    unet.save_pretrained(folder / "unet")
    _lora(unet, folder / "lora", "first.safetensors")
    _lora(unet, folder / "lora", "second.safetensors")
    _ip_adapter(unet, folder / "ip-adapter")
    for name in ("canny", "depth"):
        ControlNetModel.from_unet(unet, conditioning_embedding_out_channels=(4, 4, 4, 4)).save_pretrained(
            folder / name
        )
    editing = UNet2DConditionModel(**{**UNET, "in_channels": 8}).eval()
    StableDiffusionInstructPix2PixPipeline(unet=editing, **parts).save_pretrained(folder / "pix2pix")
    fast = UNet2DConditionModel(**UNET, time_cond_proj_dim=8).eval()
    parts = {**parts, "scheduler": LCMScheduler(beta_schedule="scaled_linear", clip_sample=False)}
    LatentConsistencyModelPipeline(unet=fast, **parts).save_pretrained(folder / "lcm")


def _stable_diffusion_xl(folder: Path, tokenizer: CLIPTokenizer) -> None:
    unet = UNet2DConditionModel(**UNET_XL).eval()
    parts = {
        "vae": vae(),
        "text_encoder": text_encoder(),
        "text_encoder_2": text_encoder(CLIPTextModelWithProjection),
        "tokenizer": tokenizer,
        "tokenizer_2": tokenizer,
        "scheduler": DDIMScheduler(beta_schedule="scaled_linear", clip_sample=False, set_alpha_to_one=False),
        "image_encoder": None,
        "feature_extractor": None,
        "add_watermarker": False,
    }
    StableDiffusionXLPipeline(unet=unet, **parts).save_pretrained(folder / "sdxl")
    unet.save_pretrained(folder / "unet-xl")
    _lora(unet, folder / "lora-xl", "pytorch_lora_weights.safetensors")
    ControlNetModel.from_unet(unet, conditioning_embedding_out_channels=(4, 4, 4, 4)).save_pretrained(
        folder / "canny-xl"
    )
    StableDiffusionXLImg2ImgPipeline(unet=unet, requires_aesthetics_score=False, **parts).save_pretrained(
        folder / "sdxl-img2img"
    )


def _pixart(folder: Path) -> None:
    transformer = PixArtTransformer2DModel(
        sample_size=8,
        num_layers=2,
        patch_size=2,
        attention_head_dim=8,
        num_attention_heads=3,
        caption_channels=WIDTH,
        in_channels=4,
        cross_attention_dim=24,
        out_channels=8,
        attention_bias=True,
        activation_fn="gelu-approximate",
        num_embeds_ada_norm=1000,
        norm_type="ada_norm_single",
        norm_elementwise_affine=False,
        norm_eps=1e-6,
    ).eval()
    pipe = PixArtAlphaPipeline(
        tokenizer=t5_tokenizer(),
        text_encoder=t5_encoder(),
        vae=vae(),
        transformer=transformer,
        scheduler=DPMSolverMultistepScheduler(),
    )
    pipe.save_pretrained(folder / "pixart")


def _flux(folder: Path, tokenizer: CLIPTokenizer) -> None:
    transformer = FluxTransformer2DModel(
        patch_size=1,
        in_channels=16,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=WIDTH,
        pooled_projection_dim=WIDTH,
        axes_dims_rope=(4, 4, 8),
        guidance_embeds=True,
    ).eval()
    parts = {
        "scheduler": FlowMatchEulerDiscreteScheduler(),
        "vae": vae(),
        "text_encoder": text_encoder(),
        "tokenizer": tokenizer,
        "text_encoder_2": t5_encoder(),
        "tokenizer_2": t5_tokenizer(),
        "transformer": transformer,
        "image_encoder": None,
        "feature_extractor": None,
    }
    parts["vae"].register_to_config(shift_factor=0.1, scaling_factor=0.3)
    FluxPipeline(**parts).save_pretrained(folder / "flux")
    FluxKontextPipeline(**parts).save_pretrained(folder / "kontext")


# Adapters -----------------------------------------------------------------------------------------------------------


def _lora(unet: UNet2DConditionModel, folder: Path, name: str) -> None:
    model = deepcopy(unet)
    model.add_adapter(LoraConfig(r=2, lora_alpha=2, init_lora_weights=False, target_modules=["to_q", "to_v"]))
    weights = {f"unet.{key}": value for key, value in get_peft_model_state_dict(model).items()}
    folder.mkdir(exist_ok=True)
    save_file(weights, folder / name)


def _ip_adapter(unet: UNet2DConditionModel, folder: Path) -> None:
    """An adapter of the first kind: a projection of the image embedding, and keys and values for each attention."""
    (folder / "models" / "image_encoder").mkdir(parents=True)
    encoder = CLIPVisionModelWithProjection(
        CLIPVisionConfig(
            hidden_size=WIDTH,
            projection_dim=WIDTH,
            intermediate_size=37,
            num_hidden_layers=1,
            num_attention_heads=4,
            image_size=224,
            patch_size=32,
        )
    )
    encoder.save_pretrained(folder / "models" / "image_encoder")
    CLIPImageProcessor().save_pretrained(folder / "models" / "image_encoder")
    tokens = 4
    weights: dict[str, torch.Tensor] = {
        "image_proj.proj.weight": torch.randn(tokens * WIDTH, WIDTH),
        "image_proj.proj.bias": torch.zeros(tokens * WIDTH),
        "image_proj.norm.weight": torch.ones(WIDTH),
        "image_proj.norm.bias": torch.zeros(WIDTH),
    }
    number = 1
    for name in unet.attn_processors:
        if name.endswith("attn2.processor"):
            attention = unet.get_submodule(name.removesuffix(".processor"))
            for kind in ("k", "v"):
                weights[f"ip_adapter.{number}.to_{kind}_ip.weight"] = torch.randn(attention.inner_dim, WIDTH)
            number += 2
    save_file(weights, folder / "models" / "ip-adapter.safetensors")
