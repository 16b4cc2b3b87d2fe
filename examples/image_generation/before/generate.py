"""Draw pictures for a list of prompts with Stable Diffusion XL, then a variation of each."""

import argparse
import os

import torch
from diffusers import DPMSolverMultistepScheduler
from optimum.neuron import NeuronStableDiffusionXLImg2ImgPipeline, NeuronStableDiffusionXLPipeline

compiler_args = {"auto_cast": "matmul", "auto_cast_type": "bf16"}


def load(args):
    input_shapes = {"batch_size": 1, "height": args.size, "width": args.size, "num_images_per_prompt": 2}
    pipe = NeuronStableDiffusionXLPipeline.from_pretrained(
        args.model_id,
        export=True,
        dynamic_batch_size=False,
        inline_weights_to_neff=True,
        lora_model_ids=args.lora_id,
        lora_weight_names="pytorch_lora_weights.safetensors",
        lora_adapter_names="style",
        lora_scales=0.8,
        **compiler_args,
        **input_shapes,
    )
    pipe.save_pretrained("sdxl_neuron/")
    pipe = NeuronStableDiffusionXLPipeline.from_pretrained("sdxl_neuron/", device_ids=[0, 1])
    pipe.scheduler = DPMSolverMultistepScheduler.from_config(pipe.scheduler.config)
    return pipe


def draw(args, pipe, prompt, seed):
    generator = torch.Generator("cpu").manual_seed(seed)
    return pipe(prompt, num_inference_steps=args.steps, generator=generator).images


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
    variations = NeuronStableDiffusionXLImg2ImgPipeline.from_pipe(pipe)
    for number, prompt in enumerate(args.prompts):
        first, second = draw(args, pipe, prompt, seed=number)
        first.save(os.path.join(args.output_dir, f"{number}.png"))
        second.save(os.path.join(args.output_dir, f"{number}b.png"))
        picture = first.convert("L").convert("RGB").resize((args.size, args.size))
        again = variations(prompt, image=picture, num_inference_steps=args.steps, strength=0.6).images[0]
        again.save(os.path.join(args.output_dir, f"{number}_again.png"))


if __name__ == "__main__":
    main()
