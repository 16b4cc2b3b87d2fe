"""Models that were exported for inference: with weights that can be had, and without."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.export import export_checkpoint

from . import generator, models
from .tensors import contents, differing


def told(source: Path) -> str:
    with pytest.raises(ExportError) as caught:
        export_checkpoint(source, source.with_name("model"))
    assert not source.with_name("model").exists()
    print(caught.value)
    return str(caught.value)


# --- decoders


@pytest.mark.parametrize("fused", [False, True], ids=["apart", "fused"])
@pytest.mark.parametrize(
    ("kind", "kv_heads", "tp"),
    [
        *(("llama", 8, 1), ("llama", 8, 4), ("llama", 4, 8), ("llama", 2, 8), ("llama", 2, 2)),
        *(("qwen3", 2, 4), ("granite", 2, 2), ("llama_tied", 4, 2)),
    ],
)
def test_decoder(kind: str, kv_heads: int, tp: int, fused: bool, tmp_path: Path) -> None:
    model = models.described(kind, kv_heads)
    generator.write_decoder(model, tp, tmp_path / "source", fused=fused)
    report = export_checkpoint(tmp_path / "source", tmp_path / "model")
    assert report is not None
    assert report.layout == "a decoder exported by Optimum Neuron 0.2 to 0.4 for inference"
    assert differing(contents(tmp_path / "model"), model.state) == []


def test_decoder_with_a_padded_vocabulary(tmp_path: Path) -> None:
    import dataclasses

    import torch

    model = models.described("llama")
    state = {
        name: torch.randn(61, 32) if name in ("model.embed_tokens.weight", "lm_head.weight") else value
        for name, value in model.state.items()
    }
    odd = dataclasses.replace(model, state=state, config={**model.config, "vocab_size": 61})
    generator.write_decoder(odd, 4, tmp_path / "source", fused=True)
    export_checkpoint(tmp_path / "source", tmp_path / "model")
    assert differing(contents(tmp_path / "model"), state) == []


def test_decoder_with_padded_heads(tmp_path: Path) -> None:
    """6 query heads and 2 key/value heads on 4 cores: a pad behind each group of 3 (read in gqa.py, never run)."""
    import torch
    from safetensors.torch import save_file
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=64,
        hidden_size=24,
        intermediate_size=48,
        num_hidden_layers=1,
        num_attention_heads=6,
        num_key_value_heads=2,
        head_dim=4,
    )
    model = LlamaForCausalLM(config)
    state = {name: value.detach() for name, value in model.named_parameters()}
    zeros = torch.zeros(4, 24)
    prefix = "model.layers.0.self_attn"
    query = state[f"{prefix}.q_proj.weight"].chunk(6)
    output = state[f"{prefix}.o_proj.weight"].chunk(6, 1)
    query = torch.cat([*query[:3], zeros, *query[3:], zeros])
    output = torch.cat([*output[:3], zeros.T, *output[3:], zeros.T], 1)
    key, value = (
        torch.cat([one for one in state[f"{prefix}.{letter}_proj.weight"].chunk(2) for _ in range(2)])
        for letter in "kv"
    )
    folder = tmp_path / "source" / "checkpoint" / "weights"
    folder.mkdir(parents=True)
    for rank in range(4):
        local = {name: part.chunk(4)[rank] for name, part in (("q", query), ("k", key), ("v", value))}
        content = {
            "embed_tokens.weight": state["model.embed_tokens.weight"].chunk(4, 1)[rank],
            "lm_head.weight": state["lm_head.weight"].chunk(4)[rank],
            "norm.weight": state["model.norm.weight"],
            **{f"layers.0.self_attn.qkv_proj.{name}_proj.weight": part for name, part in local.items()},
            "layers.0.self_attn.o_proj.o_proj.weight": output.chunk(4, 1)[rank],
            "layers.0.mlp.gate_proj.weight": state["model.layers.0.mlp.gate_proj.weight"].chunk(4)[rank],
            "layers.0.mlp.up_proj.weight": state["model.layers.0.mlp.up_proj.weight"].chunk(4)[rank],
            "layers.0.mlp.down_proj.weight": state["model.layers.0.mlp.down_proj.weight"].chunk(4, 1)[rank],
            "layers.0.input_layernorm.weight": state["model.layers.0.input_layernorm.weight"],
            "layers.0.post_attention_layernorm.weight": state["model.layers.0.post_attention_layernorm.weight"],
        }
        save_file(
            {name: part.clone() for name, part in content.items()}, folder / f"tp{rank}_sharded_checkpoint.safetensors"
        )
    written = {**config.to_dict(), "architectures": ["LlamaForCausalLM"]}
    generator.write_json(tmp_path / "source" / "config.json", written)
    export_checkpoint(tmp_path / "source", tmp_path / "model")
    assert differing(contents(tmp_path / "model"), state) == []


def test_decoder_of_the_hub(tmp_path: Path) -> None:
    generator.write_json(tmp_path / "source" / "config.json", models.described("llama").config)
    named = {"checkpoint_id": "meta-llama/Llama-3.1-8B", "checkpoint_revision": "0e9e39f", "tp_degree": 8}
    generator.write_json(tmp_path / "source" / "neuron_config.json", named)
    (tmp_path / "source" / "model.pt").write_bytes(b"")
    assert told(tmp_path / "source") == (
        f"{tmp_path / 'source'} holds a compiled graph and no weights; they are those of meta-llama/Llama-3.1-8B at "
        f"revision 0e9e39f: load that."
    )


def test_missing_core(tmp_path: Path) -> None:
    generator.write_decoder(models.described("llama"), 4, tmp_path / "source", fused=True)
    (tmp_path / "source" / "checkpoint" / "weights" / "tp3_sharded_checkpoint.safetensors").unlink()
    assert "The file of tensor-parallel rank 3, stage 0, is missing" in told(tmp_path / "source")


# --- transformers-neuronx


def test_split_checkpoint(tmp_path: Path) -> None:
    import torch

    model = models.described("llama")
    folder = tmp_path / "source" / "checkpoint" / "pytorch_model.bin"
    folder.mkdir(parents=True)
    names = {name: f"p{number}.{name}" for number, name in enumerate(model.state)}
    for name, value in model.state.items():
        torch.save(value, folder / names[name])
    generator.write_json(folder / "key_to_filename.json", names)
    generator.write_json(tmp_path / "source" / "config.json", {**model.config, "neuron": {"num_cores": 2}})
    export_checkpoint(tmp_path / "source", tmp_path / "model")
    assert differing(contents(tmp_path / "model"), model.state) == []
    config = json.loads((tmp_path / "model" / "config.json").read_text(encoding="utf-8"))
    assert "neuron" not in config


def test_saved_checkpoint(tmp_path: Path) -> None:
    model = models.built("llama")
    model.save_pretrained(tmp_path / "source" / "checkpoint")
    (tmp_path / "source" / "compiled").mkdir()
    generator.write_json(tmp_path / "source" / "config.json", {**model.config.to_dict(), "neuron": {}})
    export_checkpoint(tmp_path / "source", tmp_path / "model")
    assert differing(contents(tmp_path / "model"), models.described("llama").state) == []


def test_pickled_checkpoint(tmp_path: Path) -> None:
    import torch

    model = models.described("llama")
    (tmp_path / "source" / "checkpoint").mkdir(parents=True)
    torch.save(model.state, tmp_path / "source" / "checkpoint" / "pytorch_model.bin")
    generator.write_json(tmp_path / "source" / "config.json", model.config)
    export_checkpoint(tmp_path / "source", tmp_path / "model")
    assert differing(contents(tmp_path / "model"), model.state) == []


def test_compiled_graphs_of_the_hub(tmp_path: Path) -> None:
    (tmp_path / "source" / "compiled").mkdir(parents=True)
    neuron = {"checkpoint_id": "gpt2", "checkpoint_revision": None}
    generator.write_json(tmp_path / "source" / "config.json", {"neuron": neuron})
    assert told(tmp_path / "source").endswith(
        "holds compiled graphs and no weights; they are those of gpt2: load that."
    )


# --- traced models


def traced(path: Path, weights: dict[str, Any]) -> None:
    """A TorchScript file as the separated weights are kept: parameters whose names have arrows for dots."""
    import torch

    class Weights(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for name, value in weights.items():
                self.register_parameter(name, torch.nn.Parameter(value.clone()))

    class Traced(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = Weights()

        def forward(self, value: torch.Tensor) -> torch.Tensor:
            return value + 1

    path.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.script(Traced()), str(path))


def test_traced_model_with_its_weights(tmp_path: Path) -> None:
    model = models.described("bert")
    arrows = {f"model->{name.replace('.', '->')}": value for name, value in model.state.items()}
    traced(tmp_path / "source" / "model.neuron", arrows)
    config = {**model.config, "neuron": {"inline_weights_to_neff": False}}
    generator.write_json(tmp_path / "source" / "config.json", config)
    report = export_checkpoint(tmp_path / "source", tmp_path / "model")
    assert report is not None
    assert differing(contents(tmp_path / "model"), model.state) == []
    assert any("compare the outputs" in note for note in report.notes)


def test_traced_model_whose_weights_are_inside(tmp_path: Path) -> None:
    traced(tmp_path / "source" / "model.neuron", {})
    neuron = {"inline_weights_to_neff": True, "model_id": "bert-base-uncased"}
    generator.write_json(tmp_path / "source" / "config.json", {**models.described("bert").config, "neuron": neuron})
    assert told(tmp_path / "source") == (
        f"The weights of {tmp_path / 'source' / 'model.neuron'} are constants inside the compiled program, and cannot "
        f"be taken out: load bert-base-uncased."
    )


def test_traced_model_that_holds_itself(tmp_path: Path) -> None:
    import pickle
    import zipfile

    endless: dict[str, Any] = {}
    endless["self"] = endless
    (tmp_path / "source").mkdir()
    with zipfile.ZipFile(tmp_path / "source" / "model.neuron", "w") as archive:
        archive.writestr("model/data.pkl", pickle.dumps(endless, protocol=2))
    assert "are constants inside the compiled program" in told(tmp_path / "source")


def test_pipeline_in_parts(tmp_path: Path) -> None:
    traced(tmp_path / "source" / "unet" / "model.neuron", {})
    traced(tmp_path / "source" / "vae_decoder" / "model.neuron", {})
    generator.write_json(tmp_path / "source" / "model_index.json", {"_name_or_path": "stabilityai/sdxl"})
    assert (
        "was compiled in parts (unet, vae_decoder), which are not put together again: load stabilityai/sdxl"
        in told(tmp_path / "source")
    )
