"""Tiny models of each kind that Optimum Neuron trained."""

from __future__ import annotations

import functools
import re
from typing import Any

from .generator import Model

VOCABULARY = 64


def _settings(kind: str, kv_heads: int) -> tuple[str, dict[str, Any]]:
    plain = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 8, "vocab_size": VOCABULARY}
    decoder = {**plain, "intermediate_size": 48, "num_key_value_heads": kv_heads, "head_dim": 4}
    encoder = {**plain, "intermediate_size": 48, "max_position_embeddings": 40}
    return {
        "llama": ("LlamaForCausalLM", decoder),
        "llama_tied": ("LlamaForCausalLM", {**decoder, "tie_word_embeddings": True}),
        "llama_biased": ("LlamaForCausalLM", {**decoder, "attention_bias": True}),
        "qwen3": ("Qwen3ForCausalLM", {**decoder, "tie_word_embeddings": True}),
        "llama_twelve": ("LlamaForCausalLM", {**decoder, "num_attention_heads": 12, "hidden_size": 48}),
        "llama_odd": ("LlamaForCausalLM", {**decoder, "vocab_size": 61}),
        "qwen3_wide": ("Qwen3ForCausalLM", {**decoder, "head_dim": 8}),
        "granite": (
            "GraniteForCausalLM",
            {
                **decoder,
                "embedding_multiplier": 3.0,
                "logits_scaling": 2.0,
                "residual_multiplier": 0.5,
                "attention_multiplier": 0.25,
            },
        ),
        "mistral": ("MistralForCausalLM", decoder),
        "bert": ("BertForMaskedLM", encoder),
        "roberta": ("RobertaForMaskedLM", {**encoder, "pad_token_id": 1}),
        "gpt_neo": (
            "GPTNeoForCausalLM",
            {
                "hidden_size": 32,
                "num_layers": 2,
                "num_heads": 8,
                "attention_types": [[["global"], 2]],
                "vocab_size": VOCABULARY,
                "intermediate_size": 64,
                "max_position_embeddings": 40,
                "bos_token_id": 1,
                "eos_token_id": 2,
            },
        ),
        "gpt_neox": ("GPTNeoXForCausalLM", {**plain, "intermediate_size": 64, "tie_word_embeddings": False}),
        "t5": (
            "T5ForConditionalGeneration",
            {
                "vocab_size": VOCABULARY,
                "d_model": 32,
                "d_kv": 4,
                "d_ff": 48,
                "num_layers": 2,
                "num_heads": 8,
                "decoder_start_token_id": 0,
            },
        ),
    }[kind]


@functools.cache
def built(kind: str, kv_heads: int = 8) -> Any:
    """A model of transformers whose tensors all differ."""
    import torch
    import transformers

    name, settings = _settings(kind, kv_heads)
    model_class = getattr(transformers, name)
    model = model_class(model_class.config_class(**settings))
    dice = torch.Generator().manual_seed(kv_heads)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=dice) / 4)
    return model.eval()


@functools.cache
def described(kind: str, kv_heads: int = 8) -> Model:
    """The same for the generator, with a config as an old release of transformers wrote it."""
    import torch

    model = built(kind, kv_heads)
    ties = dict(model.all_tied_weights_keys)
    state = {name: value.detach() for name, value in model.named_parameters() if name not in ties}
    config = {
        **model.config.to_dict(),
        "architectures": [type(model).__name__],
        "torch_dtype": "float32",
    }
    config.pop("dtype", None)
    buffers = {}
    if kind == "llama":
        buffers = {f"model.layers.{n}.self_attn.rotary_emb.inv_freq": torch.ones(2) for n in range(2)}
    short = re.sub("_(tied|biased|twelve|odd|wide)$", "", kind)
    return Model(short, state, config, ties, buffers)
