"""Answers prompts with a decoder that is compiled for a batch of two and 256 positions."""

import argparse
import json
from pathlib import Path

import torch
from neuron_shim import configure, neuron_device
from transformers import AutoModelForCausalLM, AutoTokenizer

configure()


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_id", default="Qwen/Qwen3-0.6B")
    parser.add_argument("--prompts", type=Path, default=Path("prompts.txt"), help="one prompt a line")
    parser.add_argument("--answers", type=Path, default=Path("answers.json"))
    parser.add_argument("--max_new_tokens", type=int, default=64)
    return parser.parse_args()


def load_model(model_id):
    return AutoModelForCausalLM.from_pretrained(
        model_id,
        device_map=neuron_device(),
        dtype=torch.bfloat16,
    )


def batches(prompts, size):
    for start in range(0, len(prompts), size):
        batch = prompts[start : start + size]
        # A short last batch is filled up, and cut again below.
        yield batch, batch + [batch[-1]] * (size - len(batch))


def answer(model, tokenizer, prompts, max_new_tokens):
    tokens = tokenizer(prompts, return_tensors="pt", padding=True)
    with torch.inference_mode():
        outputs = model.generate(
            **tokens,
            max_new_tokens=max_new_tokens,
            do_sample=False,
            cache_implementation="static",
            max_cache_len=256,
        )
    return tokenizer.batch_decode(outputs[:, tokens.input_ids.shape[1] :], skip_special_tokens=True)


def main():
    args = parse_args()
    model = load_model(args.model_id)
    tokenizer = AutoTokenizer.from_pretrained(args.model_id, padding_side="left")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    prompts = args.prompts.read_text(encoding="utf-8").splitlines()
    answers = {}
    for batch, filled in batches(prompts, 2):
        answers.update(zip(batch, answer(model, tokenizer, filled, args.max_new_tokens)))
    args.answers.write_text(json.dumps(answers, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
