"""The generator writes what the real releases wrote: names, order, numbers of tensors, bits and metadata."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from . import generator
from .generator import Case, Model

ALL = os.environ.get("NEURON_SHARDS", "")


def model_of(folder: Path, *, float32: bool = True) -> Model:
    """An original, in the order of the model, as the old code loaded it."""
    import torch
    import transformers
    from safetensors.torch import load_file

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    tensors = load_file(folder / "model.safetensors")
    model_class = getattr(transformers, config["architectures"][0])
    with torch.device("meta"):
        model = model_class(transformers.AutoConfig.from_pretrained(folder))
    ties = dict(model.all_tied_weights_keys)
    state = {name: tensors[name] for name, _ in model.named_parameters() if name not in ties}
    if float32:
        state = {name: value.float() for name, value in state.items()}
    return Model(config["model_type"], state, config, ties)


class Loaded:
    """A file of a real or generated tree, with its tensors."""

    def __init__(self, path: Path) -> None:
        import torch

        with generator.torch_xla(), torch.serialization.safe_globals([generator.TensorReference, set]):
            content = torch.load(path, weights_only=True)
        self.content = self._resolved(content, path)

    def _resolved(self, value: Any, path: Path) -> Any:
        import torch

        if isinstance(value, generator.TensorReference):
            tensor = torch.load(path.with_name(f"{path.name}.tensors") / f"tensor_{value.tid}.pt", weights_only=True)
            return value.tid, tensor
        if isinstance(value, dict):
            return {name: self._resolved(inner, path) for name, inner in value.items()}
        return value


def same(one: Any, other: Any) -> bool:
    import torch

    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and torch.equal(one, other)
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, tuple) and not isinstance(one, torch.Size):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def differences(real: Path, made: Path, folder: str) -> list[str]:
    """Files that only one has or that hold something else; what the wheel wrote beside them is left aside."""
    names = {str(path.relative_to(real)) for path in (real / folder).rglob("*") if path.is_file()}
    ours = {str(path.relative_to(made)) for path in (made / folder).rglob("*") if path.is_file()}
    found = sorted(f"only in one: {name}" for name in names ^ ours if not name.endswith("/checkpoint"))
    for name in sorted(names & ours):
        if "/tensor_" in name or name.endswith(("/done", "/checkpoint")):
            continue
        if name.endswith(".json"):
            told = [json.loads((root / name).read_text(encoding="utf-8")) for root in (real, made)]
            equal = told[0] == told[1]
        else:
            equal = same(Loaded(real / name).content, Loaded(made / name).content)
        if not equal:
            found.append(name)
    return found


def test_full_model_of_0_4(kept: Path, tmp_path: Path) -> None:
    generator.write_json_model(model_of(kept / "tiny" / "llama_tied"), Case("json", tp=4), tmp_path)
    assert differences(kept / "real" / "t_tp4", tmp_path, "shards") == []


def test_full_model_of_0_1(kept: Path, tmp_path: Path) -> None:
    generator.write_before_0_2(model_of(kept / "tiny" / "llama_tied"), Case("pt_fq", tp=4), tmp_path)
    assert differences(kept / "realo" / "t010_tp4", tmp_path, "shards") == []


def test_adapter_of_0_4(kept: Path, tmp_path: Path) -> None:
    """Its base is not kept here: only the shapes of that matter."""
    from safetensors.torch import load_file

    config = {
        "architectures": ["LlamaForCausalLM"],
        "num_attention_heads": 16,
        "num_key_value_heads": 4,
        "num_hidden_layers": 4,
        "vocab_size": 128,
    }
    adapter = load_file(kept / "tiny" / "lora_all" / "adapter_model.safetensors")
    case = Case("json", tp=8, multiplier=2, fuse_qkv=True, xser=False)
    generator.write_adapter(Model("llama", _shapes(adapter), config), case, adapter, tmp_path)
    real = kept / "real" / "F_tp8_kv2_fuse_noxser" / "adapter_default"
    assert differences(real, tmp_path, "adapter_shards") == []


def _shapes(adapter: dict[str, Any]) -> dict[str, Any]:
    """A base model for an adapter of all its linears."""
    import torch

    state = {"model.embed_tokens.weight": torch.zeros(128, 64)}
    for layer in range(4):
        for name in (
            *(f"self_attn.{one}" for one in generator.LINEARS[:4]),
            *(f"mlp.{one}" for one in generator.LINEARS[4:]),
        ):
            prefix = f"base_model.model.model.layers.{layer}.{name}"
            rows, columns = adapter[f"{prefix}.lora_B.weight"].shape[0], adapter[f"{prefix}.lora_A.weight"].shape[1]
            state[f"model.layers.{layer}.{name}.weight"] = torch.zeros(rows, columns)
        for name in ("input_layernorm", "post_attention_layernorm"):
            state[f"model.layers.{layer}.{name}.weight"] = torch.zeros(64)
    return {**state, "model.norm.weight": torch.zeros(64), "lm_head.weight": torch.zeros(128, 64)}


REAL = {
    "real/g_tp2": Case("json", tp=2),
    "real/g_tp2_noxser": Case("json", tp=2, xser=False),
    "real/g_tp8_kv4_fuse": Case("json", tp=8, multiplier=4, fuse_qkv=True, xser=False),
    "real/gr_tp8": Case("json", tp=8),
    "real/q_tp4": Case("json", tp=4),
    "realo/g010_tp2": Case("pt_fq", tp=2),
    "realo/g022_tp2": Case("pt", tp=2),
    "realo/g020_tp2": Case("tpxser", tp=2),
    "realo/g017_tp2": Case("dir", tp=2, xser=False),
}


@pytest.mark.skipif(not ALL, reason="NEURON_SHARDS names no folder with the fixtures")
@pytest.mark.parametrize("name", REAL)
def test_all_others(name: str, tmp_path: Path) -> None:
    case = REAL[name]
    rows = (line.split("\t") for line in Path(ALL, "INDEX.tsv").read_text(encoding="utf-8").splitlines())
    original = next(row[1] for row in rows if row[0] == name)
    model = model_of(Path(ALL, original))
    (generator.write_json_model if case.in_json else generator.write_before_0_2)(model, case, tmp_path)
    folder = "shards" if (Path(ALL, name) / "shards").exists() else "tensor_parallel_shards"
    assert differences(Path(ALL, name), tmp_path, folder) == []
