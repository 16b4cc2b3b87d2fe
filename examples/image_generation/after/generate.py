"""Draw pictures for a list of prompts with Stable Diffusion XL, then a variation of each."""

import argparse
import os

import torch
from diffusers import (
    DPMSolverMultistepScheduler,
    StableDiffusionXLImg2ImgPipeline,
    StableDiffusionXLPipeline,
)
from neuron_shim import compile_static, configure, neuron_device

configure()


def load(args):
    pipe = StableDiffusionXLPipeline.from_pretrained(
        args.model_id,
        dtype=torch.bfloat16,
    )
    pipe.load_lora_weights(
        args.lora_id,
        weight_name="pytorch_lora_weights.safetensors",
        adapter_name="style",
    )
    pipe.set_adapters(["style"], adapter_weights=[0.8])
    pipe.fuse_lora()
    pipe.unload_lora_weights()
    pipe.to(neuron_device())
    pipe.unet = compile_static(pipe.unet)
    pipe.vae.decoder = compile_static(pipe.vae.decoder)
    pipe.scheduler = DPMSolverMultistepScheduler.from_config(pipe.scheduler.config)
    return pipe


def draw(args, pipe, prompt, seed):
    generator = torch.Generator("cpu").manual_seed(seed)
    return pipe(
        prompt,
        num_inference_steps=args.steps,
        generator=generator,
        height=args.size,
        width=args.size,
        num_images_per_prompt=2,
    ).images


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_id", default="stabilityai/stable-diffusion-xl-base-1.0")
    parser.add_argument("--lora_id", default="latent-consistency/lcm-lora-sdxl")
    parser.add_argument("--prompts", nargs="+", default=["a lighthouse in a storm, oil painting"])
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--output_dir", default="pictures")
    args = parser.parse_args()
    os.makedirs(args.output_dir, exist_ok=True)

    pipe = load(args)
    variations = StableDiffusionXLImg2ImgPipeline.from_pipe(pipe, dtype=torch.bfloat16)
    for number, prompt in enumerate(args.prompts):
        first, second = draw(args, pipe, prompt, seed=number)
        first.save(os.path.join(args.output_dir, f"{number}.png"))
        second.save(os.path.join(args.output_dir, f"{number}b.png"))
        picture = first.convert("L").convert("RGB").resize((args.size, args.size))
        again = variations(
            prompt,
            image=picture,
            num_inference_steps=args.steps,
            strength=0.6,
            num_images_per_prompt=2,
        ).images[0]
        again.save(os.path.join(args.output_dir, f"{number}_again.png"))


if __name__ == "__main__":
    main()
