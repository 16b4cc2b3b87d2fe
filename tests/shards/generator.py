"""Writes checkpoints as Optimum Neuron did, from what is known of the saving side; the reader is not used.

Each function does to a tensor what model parallelism did to it, rank by rank, with plain torch operations on the whole
tensor. ``test_generator.py`` compares the results with trees that the real releases wrote.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

State = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A run: how it was spread, and which release saved it."""

    layout: str
    tp: int = 1
    pp: int = 1
    multiplier: int | None = None
    fuse_qkv: bool = False
    xser: bool = True
    adapter: str | None = None

    @property
    def in_json(self) -> bool:
        return self.layout.startswith("json")


@dataclass
class Model:
    """What the saving side has to know of a model."""

    kind: str
    state: State
    """Parameters by name, in the order of the model; no second names of tied ones."""

    config: dict[str, Any]
    second_names: dict[str, str] = field(default_factory=dict)
    buffers: State = field(default_factory=dict)

    @property
    def heads(self) -> int:
        return int(self.config.get("num_attention_heads") or self.config["num_heads"])

    @property
    def kv_heads(self) -> int:
        return int(self.config.get("num_key_value_heads") or self.heads)

    @property
    def layers(self) -> int:
        return int(self.config.get("num_hidden_layers") or self.config.get("num_layers") or 0)


# --- files


class TensorReference:
    """What xser leaves in the place of a tensor."""

    def __init__(self, tid: int) -> None:
        self.tid = tid


@contextlib.contextmanager
def torch_xla() -> Iterator[None]:
    names = ("torch_xla", "torch_xla.utils", "torch_xla.utils.serialization")
    before = {name: sys.modules.get(name) for name in names}
    for name in names:
        sys.modules[name] = types.ModuleType(name)
    TensorReference.__module__ = names[-1]
    sys.modules[names[-1]].TensorReference = TensorReference  # type: ignore[attr-defined]
    try:
        yield
    finally:
        TensorReference.__module__ = __name__
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def save(content: Any, path: Path, *, xser: bool, info: bool, experts: bool = True) -> None:
    """As torch.save, or with every tensor in a file of its own, numbered in the order of the walk.

    Args:
        info: whether dtypes and shapes are written beside them, by neuronx_distributed 0.7 and later.
        experts: whether those tell of experts; they do later than 0.7.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if not xser:
        torch.save(content, path)
        return
    told: dict[int, Any] = {}
    folder = path.with_name(f"{path.name}.tensors")
    folder.mkdir()

    def referenced(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            tid = len(told)
            told[tid] = {"dtype": value.dtype, "shape": value.shape}
            if experts:
                told[tid]["expert_model_parallel"] = False
            torch.save(value, folder / f"tensor_{tid}.pt")
            return TensorReference(tid)
        if isinstance(value, dict):
            return type(value)((name, referenced(inner)) for name, inner in value.items())
        return value

    with torch_xla():
        torch.save(referenced(content), path)
    if info:
        torch.save(told, path.with_name(f"{path.name}.info.pt"))


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=4), encoding="utf-8")


# --- what happens to a tensor


def rows(value: Any, rank: int, size: int) -> Any:
    return value.chunk(size, 0)[rank].clone()


def columns(value: Any, rank: int, size: int) -> Any:
    return value.chunk(size, 1)[rank].clone()


def query_order(heads: int, kv_heads: int, multiplier: int) -> list[int]:
    """Query heads in the order of the multiplied key/value heads, which come as blocks of all of them."""
    group = heads // kv_heads
    share = group // multiplier
    return [
        head * group + copy * share + number
        for copy in range(multiplier)
        for head in range(kv_heads)
        for number in range(share)
    ]


def reordered(value: Any, order: list[int], heads: int, dim: int) -> Any:
    parts = value.chunk(heads, dim)
    return torch.cat([parts[head] for head in order], dim)


# --- the JSON kind, 0.2 to 0.4.5

LINEARS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def attention_form(model: Model, case: Case) -> str:
    heads, kv_heads, tp = model.heads, model.kv_heads, case.tp
    if kv_heads < tp or kv_heads % tp:
        return "multiplied"
    if case.fuse_qkv and heads == kv_heads:
        return "fused"
    return "plain"


def multiplier_of(model: Model, case: Case) -> int:
    return case.multiplier or case.tp // model.kv_heads


Part = tuple[str, Callable[[int], Any], dict[str, Any]]


def cut(dim: int | None, size: int, stride: int = 1) -> dict[str, Any]:
    if dim is None:
        return {"tensor_model_parallel": False}
    return {
        "tensor_model_parallel": True,
        "partition_dim": dim,
        "partition_stride": stride,
        "num_partitions": size,
    }


def layer_of(name: str) -> int | None:
    match = re.search(r"\.(?:layers|layer|h|block)\.(\d+)\.", name)
    return int(match[1]) if match else None


def stage_of(name: str, model: Model, pp: int) -> int:
    """Layers are divided evenly, what is left over goes to the last stages; the embedding is first, the rest last."""
    layer = layer_of(name)
    if layer is None:
        return 0 if "embed" in name or "wte" in name or "shared" in name else pp - 1
    sizes = [model.layers // pp + (stage >= pp - model.layers % pp) for stage in range(pp)]
    stage = 0
    while layer >= sum(sizes[: stage + 1]):
        stage += 1
    return stage


def parts_in_json(model: Model, case: Case) -> list[Part]:
    """Names in a shard, what a rank has, and what the metadata say."""
    tp, form = case.tp, attention_form(model, case)
    state = model.state
    parts: list[Part] = []
    order = query_order(model.heads, model.kv_heads, multiplier_of(model, case)) if form == "multiplied" else []
    for name, value in state.items():
        module, _, last = name.rpartition(".")
        owner, _, linear = module.rpartition(".")
        if linear == "q_proj" and form != "plain":
            parts += _attention_in_json(owner, last, state, model, case, form, order)
        elif linear in ("k_proj", "v_proj") and form != "plain":
            continue
        elif linear == "gate_proj":
            names = [f"{owner}.{one}.{last}" for one in ("gate_proj", "up_proj")]
            parts.append((f"{owner}.gate_up_proj.{last}", _fused([state[one] for one in names], tp), cut(0, tp, 2)))
        elif linear == "up_proj":
            continue
        elif linear in ("q_proj", "k_proj", "v_proj"):
            parts.append((name, _rows(value, tp), cut(0, tp)))
        elif linear == "o_proj" and last == "weight":
            ordered = reordered(value, order, model.heads, 1) if order else value
            parts.append((name, _columns(ordered, tp), cut(1, tp)))
        elif linear == "down_proj" and last == "weight":
            parts.append((name, _columns(value, tp), cut(1, tp)))
        elif linear in ("embed_tokens", "lm_head") and model.kind != "granite":
            parts.append((name, _rows(value, tp), cut(0, tp)))
        else:
            parts.append((name, _same(value), cut(None, tp)))
    return parts


def _attention_in_json(
    owner: str, last: str, state: State, model: Model, case: Case, form: str, order: list[int]
) -> list[Part]:
    tp = case.tp
    query, key, value = (state[f"{owner}.{one}.{last}"] for one in ("q_proj", "k_proj", "v_proj"))
    if form == "fused":
        return [(f"{owner}.qkv_proj.{last}", _fused([query, key, value], tp), cut(0, tp, 3))]
    times = multiplier_of(model, case)
    query = reordered(query, order, model.heads, 0)
    key, value = (torch.cat([one] * times) for one in (key, value))
    if case.fuse_qkv:
        return [(f"{owner}.qkv_proj.{last}_qkv", _fused([query, key, value], tp), cut(None, tp))]
    return [
        (f"{owner}.qkv_proj.{last}_{letter}", _rows(one, tp), cut(0, tp))
        for letter, one in zip("qkv", (query, key, value), strict=True)
    ]


def _rows(value: Any, tp: int) -> Callable[[int], Any]:
    return lambda rank: rows(value, rank, tp)


def _columns(value: Any, tp: int) -> Callable[[int], Any]:
    return lambda rank: columns(value, rank, tp)


def _same(value: Any) -> Callable[[int], Any]:
    return lambda _: value.clone()


def _fused(values: list[Any], tp: int) -> Callable[[int], Any]:
    return lambda rank: torch.cat([rows(value, rank, tp) for value in values])


def specs(model: Model, case: Case, prefix: str = "", peft_type: str | None = None, only: Any = None) -> list[Any]:
    """What the metadata of each stage say of the transformed modules; ``only`` chooses the layers of a stage."""
    form = attention_form(model, case)
    found = []
    for layer in range(model.layers):
        base = f"{prefix}model.layers.{layer}"
        attention: list[Any] = []
        linears: list[Any] = []
        head_rows = model.state[f"model.layers.{layer}.self_attn.q_proj.weight"].shape[0] // model.heads
        kv_rows = head_rows * model.kv_heads
        inner = model.state[f"model.layers.{layer}.mlp.gate_proj.weight"].shape[0]
        biased = f"model.layers.{layer}.self_attn.q_proj.bias" in model.state
        last: dict[str, Any] = {"tp_size": case.tp}
        if case.layout != "json0":
            last["peft_type"] = peft_type
        if form == "multiplied":
            times = multiplier_of(model, case)
            attention = [
                [
                    "GQAQKVColumnParallelLinearSpec",
                    {
                        "gqa_qkv_projection_name": "qkv_proj",
                        "query_projection_name": "q_proj",
                        "key_projection_name": "k_proj",
                        "value_projection_name": "v_proj",
                        "output_projection_name": "o_proj",
                        "num_attention_heads": model.heads,
                        "num_key_value_heads": model.kv_heads,
                        "kv_size_multiplier": times,
                        "q_output_size_per_partition": model.heads * head_rows // case.tp,
                        "kv_output_size_per_partition": kv_rows * times // case.tp,
                        "fuse_qkv": case.fuse_qkv,
                        "bias": biased,
                        **last,
                    },
                ]
            ]
        elif form == "fused":
            attention = [
                _fused_spec("qkv_proj", LINEARS[:3], [model.heads * head_rows, kv_rows, kv_rows], biased, last)
            ]
        linears = [_fused_spec("gate_up_proj", LINEARS[4:6], [inner, inner], False, last)]
        own = only is None or only(layer)
        found.append({"module_fully_qualified_name": f"{base}.self_attn", "specs": attention if own else []})
        found.append({"module_fully_qualified_name": f"{base}.mlp", "specs": linears if own else []})
    return found


def _fused_spec(name: str, linears: tuple[str, ...], dims: list[int], bias: bool, last: dict[str, Any]) -> list[Any]:
    fields = {
        "fused_linear_name": name,
        "linear_names": list(linears),
        "bias": bias,
        "fuse_axis": 0,
        "original_dims": dims,
    }
    return ["FusedLinearsSpec", {**fields, **last}]


def write_json_model(model: Model, case: Case, folder: Path) -> None:
    parts = parts_in_json(model, case)
    garbage = torch.Generator().manual_seed(5)
    for stage in range(case.pp):

        def own(name: str, stage: int = stage) -> bool:
            return stage_of(name, model, case.pp) == stage

        for rank in range(case.tp):
            content = {}
            for name, local, _ in parts:
                value = local(rank)
                if not own(name):  # memory that nobody initialised
                    value = torch.full_like(value, 1e34) * torch.randn(value.shape, generator=garbage).to(value.dtype)
                content[name] = value
            if model.second_names:
                content |= {second: content[first] for second, first in model.second_names.items()}
            path = folder / "shards" / "model" / f"dp_rank_00_tp_rank_{rank:02d}_pp_rank_{stage:02d}.pt"
            save(content, path, xser=case.xser, info=True)
        told = {
            "parameters": {name: what for name, _, what in parts if own(name)},
            "model_weight_transformation_specs": specs(
                model, case, only=lambda layer, own=own: own(f"model.layers.{layer}.")
            ),
        }
        write_json(folder / "shards" / f"mp_metadata_pp_rank_{stage}.json", told)
    finish(folder / "shards")
    config = dict(model.config)
    if model.kind == "granite":
        config["model_type"] = "llama"
    if case.pp > 1:
        config["use_cache"] = False
    write_json(folder / "config.json", config)
    write_json(folder / "trn_config.json", {"tensor_parallel_size": case.tp, "pipeline_parallel_size": case.pp})


def finish(folder: Path) -> None:
    (folder / "checkpoint").write_text("1", encoding="utf-8")
    (folder / "done").write_text("1", encoding="utf-8")


# --- the pickled kinds, up to 0.1.0

COLUMN = re.compile(
    r"(self_attn\.[qkv]_proj|mlp\.(gate|up)_proj"
    r"|attention\.self\.(query|key|value)|intermediate\.dense"
    r"|attention\.[qkv]_proj|mlp\.c_fc"
    r"|query_key_value|dense_h_to_4h"
    r"|Attention\.[qkv]|DenseReluDense\.wi(_\d)?)\.(weight|bias)$"
)
ROW = re.compile(
    r"(self_attn\.o_proj|mlp\.down_proj|output\.dense|attention\.out_proj|mlp\.c_proj"
    r"|attention\.dense|dense_4h_to_h|Attention\.o|DenseReluDense\.wo)\.weight$"
)
VOCABULARY = re.compile(
    r"(embed_tokens|word_embeddings|model\.lm_head|^lm_head|cls\.predictions\.decoder|lm_head\.decoder)\.(weight|bias)$"
    r"|^cls\.predictions\.bias$|^lm_head\.bias$"
)
UNDIVIDED = ("gpt_neo", "gpt_neox", "t5")
MULTIPLYING = ("tpxser_gqa", "pt", "pt_fq")


def cut_before_0_2(name: str, model: Model, case: Case) -> int | None:
    vocabulary = int(model.config["vocab_size"])
    if VOCABULARY.search(name):
        if model.kind in UNDIVIDED or vocabulary % case.tp:
            return None
        if case.pp > 1 and "embed" in name:
            return None
        return 0
    if COLUMN.search(name):
        return 0
    return 1 if ROW.search(name) else None


def parts_before_0_2(model: Model, case: Case, *, with_seconds: bool) -> tuple[list[Part], dict[str, Any]]:
    """Names in a shard, what a rank has, what the metadata say; and what they say of multiplied heads."""
    tp = case.tp
    spread = model.kind in ("llama", "mistral") and model.kv_heads < tp
    multiplied = spread and case.layout in MULTIPLYING
    times = multiplier_of(model, case) if multiplied else 1
    order = query_order(model.heads, model.kv_heads, times) if multiplied else []
    names: dict[str, str] = {}
    outputs: set[str] = set()
    parts: list[Part] = []
    everything = dict(model.state)
    if with_seconds:
        everything |= {second: model.state[first] for second, first in model.second_names.items()}
    for name, value in everything.items():
        module, _, last = name.rpartition(".")
        owner, _, linear = module.rpartition(".")
        dim = cut_before_0_2(name, model, case)
        if spread and linear in ("k_proj", "v_proj") and not multiplied:
            parts.append((name, _one_head(value, model.kv_heads, tp), _told(None)))
        elif multiplied and linear in ("q_proj", "k_proj", "v_proj"):
            fused = case.layout == "pt_fq"
            names[name] = f"{owner}.qkv_proj.{last}_{'qkv' if fused else linear[0]}"
            if fused and linear == "q_proj":
                values = [everything[f"{owner}.{one}.{last}"] for one in LINEARS[:3]]
                values = [
                    reordered(values[0], order, model.heads, 0),
                    *(torch.cat([one] * times) for one in values[1:]),
                ]
                parts.append((names[name], _fused(values, tp), _told(None)))
            elif not fused:
                one = reordered(value, order, model.heads, 0) if linear == "q_proj" else torch.cat([value] * times)
                parts.append((names[name], _rows(one, tp), _told(0)))
        elif multiplied and linear == "o_proj" and last == "weight":
            outputs.add(name)
            parts.append((name, _columns(reordered(value, order, model.heads, 1), tp), _told(1)))
        elif dim == 0:
            parts.append((name, _rows(value, tp), _told(0)))
        elif dim == 1:
            parts.append((name, _columns(value, tp), _told(1)))
        else:
            parts.append((name, _same(value), _told(None)))
    about: dict[str, Any] = {
        "original_names_to_gqa_qkv_names": names,
        "output_projections_names": outputs,
        "num_attention_heads": model.heads if multiplied else None,
        "num_key_value_heads": model.kv_heads if multiplied else None,
        "kv_size_multiplier": times if multiplied else None,
    }
    if case.layout == "pt_fq":
        q_proj = next((value for name, value in model.state.items() if name.endswith("q_proj.weight")), None)
        size = None if q_proj is None else q_proj.shape[0]
        about["fuse_qkv"] = True if multiplied else None
        about["q_output_size_per_partition"] = size // tp if multiplied and size else None
        kv_size = None if size is None else size // model.heads * model.kv_heads * times // tp
        about["kv_output_size_per_partition"] = kv_size if multiplied else None
    return parts, about


def _told(dim: int | None) -> dict[str, Any]:
    return {"kind": "tied" if dim is None else "sharded", "partition_dim": dim}


def _one_head(value: Any, kv_heads: int, tp: int) -> Callable[[int], Any]:
    return lambda rank: value.chunk(kv_heads, 0)[kv_heads * rank // tp].clone()


def write_before_0_2(
    model: Model,
    case: Case,
    folder: Path,
    *,
    lies: bool = False,
    optimizer: Callable[[int, int], Any] = lambda rank, stage: None,
) -> None:
    """
    Args:
        lies: parameters that were initialised anew are said to be the same on all ranks.
        optimizer: makes what a rank of a stage puts into its file, up to 0.0.21.
    """
    parts, about = parts_before_0_2(model, case, with_seconds=True)
    for stage in range(case.pp):

        def own(name: str, stage: int = stage) -> bool:
            return case.pp == 1 or stage_of(name, model, case.pp) == stage

        told = {}
        for name, _, what in parts:
            if name not in model.second_names:
                original = name if own(name) else name.replace("qkv_proj.weight_qkv", "q_proj.weight")
                told[original] = what if own(name) else _told(None)
        if lies:
            told = {name: _told(None) for name in told}
        own_about = {
            **about,
            "original_names_to_gqa_qkv_names": {
                one: other for one, other in about["original_names_to_gqa_qkv_names"].items() if own(one)
            },
            "output_projections_names": {name for name in about["output_projections_names"] if own(name)},
        }
        for rank in range(case.tp):
            content = {name: local(rank) for name, local, _ in parts if own(name)}
            content |= {name: value.clone() for name, value in model.buffers.items() if own(name)}
            _write_rank_before_0_2(case, folder, rank, stage, content, told, own_about, optimizer(rank, stage))
        if case.layout in ("pt", "pt_fq"):
            metadata = {"sharded_metadata": told, "gqa_qkv_metadata": own_about}
            path = folder / "shards" / f"mp_metadata_pp_rank_{stage}.pt"
            torch.save(metadata, path)
    if case.layout in ("pt", "pt_fq"):
        finish(folder / "shards")
    if case.pp == 1:
        write_json(folder / "config.json", saved_config(model, case))


def saved_config(model: Model, case: Case) -> dict[str, Any]:
    config = dict(model.config)
    size = int(config["vocab_size"])
    if case.layout in ("flat", "ppflat"):
        return config
    if model.kind in UNDIVIDED:
        config["vocab_size"] = size * case.tp
    elif size % case.tp == 0 and case.layout == "dir":
        config["vocab_size"] = size // case.tp  # 0.0.15
    elif case.layout not in ("flat", "ppflat"):
        config["vocab_size"] = size // case.tp * case.tp  # 0.0.16 to 0.1.0
    return config


def _write_rank_before_0_2(
    case: Case, folder: Path, rank: int, stage: int, content: State, told: Any, about: dict[str, Any], optimizer: Any
) -> None:
    if case.layout in ("pt", "pt_fq"):
        path = folder / "shards" / "model" / f"dp_rank_00_tp_rank_{rank:02d}_pp_rank_{stage:02d}.pt"
        save(content, path, xser=case.xser, info=True, experts=case.layout == "pt_fq")
        return
    whole: dict[str, Any] = {"model": content, "sharded_metadata": told}
    name = {
        "flat": f"tp_rank_{rank:02d}",
        "ppflat": f"tp_rank_{rank:02d}_pp_rank{stage:02d}.pt",
        "dir": f"tp_rank_{rank:02d}_pp_rank_{stage:02d}/checkpoint.pt",
    }.get(case.layout, f"tp_rank_{rank:02d}_pp_rank_{stage:02d}")
    if case.layout == "flat":
        whole["tp_rank"] = rank
    if optimizer is not None:
        whole["optimizer_state_dict"] = optimizer
    if case.layout == "tpxser_gqa":
        whole["gqa_qkv_metadata"] = about
    xser = case.layout.startswith("tpxser")
    save(whole, folder / "tensor_parallel_shards" / name, xser=xser, info=case.layout == "tpxser_gqa", experts=False)


# --- the state of the optimizer


@dataclass
class Optimizer:
    """Decaying parameters have the first numbers, each rank those of its stage."""

    moments: dict[str, State]
    """For each entry of the state, its tensors by parameter."""

    dp: int = 1
    """Data-parallel ranks, over which ZeRO-1 cuts."""

    zero: bool = False
    masters: State | None = None
    """Weights in fp32 by parameter, if ZeRO-1 is to save them."""

    step: float = 3.0
    group: dict[str, Any] = field(default_factory=dict)
    """What else the groups of parameters say."""

    def saved_by(self, model: Model, case: Case, rank: int, stage: int, data: int = 0) -> dict[str, Any]:
        def local(state: State) -> State:
            some = replace(model, state=state, second_names={})
            parts = parts_in_json(some, case) if case.in_json else parts_before_0_2(some, case, with_seconds=False)[0]
            own = [part for part in parts if case.pp == 1 or stage_of(part[0], model, case.pp) == stage]
            return {name: of(rank) for name, of, _ in own}

        moments = {key: local(state) for key, state in self.moments.items()}
        some = next(iter(moments.values()))
        flat = [name for name, value in some.items() if value.dim() == 1 or "bias" in name]
        order = [*(name for name in some if name not in flat), *flat]
        first = len(order) - len(flat)
        groups = [
            {**self.group, "weight_decay": 0.1, "params": list(range(first))},
            {**self.group, "weight_decay": 0.0, "params": list(range(first, len(order)))},
        ]
        state = {
            number: {
                "step": torch.tensor(self.step),
                **{key: _over_data_ranks(values[name], data, self.dp) for key, values in moments.items()},
            }
            for number, name in enumerate(order)
        }
        if not self.zero:
            return {"state": state, "param_groups": groups}
        shapes = {number: tuple(some[name].shape) for number, name in enumerate(order)}
        content = {"state": {}, "param_groups": groups, "base_state": state, "shape_info": shapes}
        if self.masters is not None:
            own = local(self.masters)
            content["sharded_master_weights"] = {
                number: _over_data_ranks(own[name], data, self.dp) for number, name in enumerate(order)
            }
        return content


def write_optimizer(model: Model, case: Case, optimizer: Optimizer, folder: Path) -> None:
    """Beside a model that was written; from 0.0.22 on."""
    for stage in range(case.pp):
        for rank in range(case.tp):
            for data in range(optimizer.dp):
                name = f"dp_rank_{data:02d}_tp_rank_{rank:02d}_pp_rank_{stage:02d}.pt"
                content = optimizer.saved_by(model, case, rank, stage, data)
                save(content, folder / "shards" / "optim" / name, xser=case.xser, info=True)


def _over_data_ranks(value: Any, rank: int, size: int) -> Any:
    added = -value.shape[0] % size
    return torch.cat([value, value.new_zeros(added, *value.shape[1:])]).chunk(size)[rank].clone()


# --- adapters


def adapter_state(model: Model, case: Case, targets: tuple[str, ...], rank: int = 4) -> State:
    """An adapter for these linears; of linears that are fused, all, and with the same A."""
    dice = torch.Generator().manual_seed(len(targets))
    fused = []
    if case.in_json:
        fused.append(("gate_proj", "up_proj"))
        if attention_form(model, case) != "plain":
            fused.append(("q_proj", "k_proj", "v_proj"))
    state: State = {}
    shared: dict[str, Any] = {}
    for name, value in model.state.items():
        module, _, last = name.rpartition(".")
        owner, _, linear = module.rpartition(".")
        group = next((group for group in fused if linear in group), (linear,))
        if last != "weight" or not set(group) & set(targets):
            continue
        key = f"{owner}.{group[0]}"
        if key not in shared:
            shared[key] = torch.randn(rank, value.shape[1], generator=dice)
        prefix = f"base_model.model.{module}"
        state[f"{prefix}.lora_A.weight"] = shared[key].clone()
        state[f"{prefix}.lora_B.weight"] = torch.randn(value.shape[0], rank, generator=dice)
    return state


def adapter_config(targets: tuple[str, ...], base: str) -> dict[str, Any]:
    return {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "r": 4,
        "lora_alpha": 8,
        "lora_dropout": 0.0,
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": True,
        "init_lora_weights": True,
        "target_modules": list(targets),
        "base_model_name_or_path": base,
    }


def write_adapter(model: Model, case: Case, adapter: State, folder: Path, name: str = "default") -> None:
    """The shards of an adapter; ``adapter_config.json`` is written beside them by the caller."""
    if case.in_json:
        parts, told, about = _adapter_in_json(model, case, adapter, name)
    else:
        parts, told, about = _adapter_before_0_2(model, case, adapter)
    for stage in range(case.pp):

        def own(key: str, stage: int = stage) -> bool:
            return case.pp == 1 or stage_of(f".{key}", model, case.pp) == stage

        for rank in range(case.tp):
            content = {}
            for key, local in parts:
                value = local(rank)
                content[key] = value if own(key) else torch.full_like(value, float("nan"))
            path = folder / "adapter_shards" / "model" / f"dp_rank_00_tp_rank_{rank:02d}_pp_rank_{stage:02d}.pt"
            save(content, path, xser=case.xser, info=True)
        shards = folder / "adapter_shards"
        if case.in_json:
            metadata = {
                "parameters": {key: what for key, what in told.items() if own(key)},
                "model_weight_transformation_specs": specs(
                    model,
                    case,
                    "base_model.model.",
                    "lora",
                    only=lambda layer, own=own: own(f"model.layers.{layer}."),
                ),
            }
            write_json(shards / f"mp_metadata_pp_rank_{stage}.json", metadata)
        else:
            metadata = {"sharded_metadata": told, "gqa_qkv_metadata": about}
            torch.save(metadata, shards / f"mp_metadata_pp_rank_{stage}.pt")
    finish(folder / "adapter_shards")


Parts = list[tuple[str, Callable[[int], Any]]]


def _adapter_in_json(model: Model, case: Case, adapter: State, name: str) -> tuple[Parts, dict[str, Any], Any]:
    tp = case.tp
    form = attention_form(model, case)
    times = multiplier_of(model, case) if form == "multiplied" else 1
    order = query_order(model.heads, model.kv_heads, times) if form == "multiplied" else []
    parts: Parts = []
    told: dict[str, Any] = {}

    def add(module: str, kind: str, tail: str, local: Callable[[int], Any], what: dict[str, Any]) -> None:
        parts.append((f"{module}.{kind}.{tail}", local))
        told[f"{module}.{kind}.{name}.{tail}"] = what

    for full, _, what in parts_in_json(model, case):
        module, _, last = full.rpartition(".")
        owner, _, linear = module.rpartition(".")
        prefix = f"base_model.model.{module}"
        members = {"gate_up_proj": LINEARS[4:6], "qkv_proj": LINEARS[:3]}.get(linear, (linear,))
        keys = [f"base_model.model.{owner}.{one}" for one in members]
        if f"{keys[0]}.lora_A.weight" not in adapter:
            told[f"base_model.model.{full}"] = what
            continue
        told[f"{prefix}.base_layer.{last}"] = what
        if last in ("weight_k", "weight_v"):
            continue
        shared = adapter[f"{keys[0]}.lora_A.weight"]
        values = [adapter[f"{key}.lora_B.weight"] for key in keys]
        if linear in ("o_proj", "down_proj"):
            if linear == "o_proj" and order:
                shared = reordered(shared, order, model.heads, 1)
            add(prefix, "lora_A", "weight", _columns(shared, tp), cut(1, tp))
            add(prefix, "lora_B", "weight", _same(values[0]), cut(None, tp))
        elif linear == "qkv_proj" and form == "multiplied":
            values = [reordered(values[0], order, model.heads, 0), *(torch.cat([one] * times) for one in values[1:])]
            add(prefix, "lora_A", "weight", _same(shared), cut(None, tp))
            if case.fuse_qkv:
                add(prefix, "lora_B", "weight_qkv", _fused(values, tp), cut(None, tp))
            else:
                for letter, one in zip("qkv", values, strict=True):
                    add(prefix, "lora_B", f"weight_{letter}", _rows(one, tp), cut(0, tp))
        else:
            add(prefix, "lora_A", "weight", _same(shared), cut(None, tp))
            add(prefix, "lora_B", "weight", _fused(values, tp), cut(0, tp))
    return parts, told, None


def _adapter_before_0_2(model: Model, case: Case, adapter: State) -> tuple[Parts, dict[str, Any], Any]:
    parts: Parts = []
    told: dict[str, Any] = {}
    extra: Parts = []
    base, about = parts_before_0_2(model, case, with_seconds=True)
    for full, local, what in base:
        module, _, last = full.rpartition(".")
        linear = module.rpartition(".")[2]
        prefix = f"base_model.model.{module}"
        if linear in ("embed_tokens", "lm_head"):
            extra.append((f"base_model.model.{full}", local))
        if f"{prefix}.lora_A.weight" not in adapter:
            if full not in model.second_names:
                told[f"base_model.model.{full}"] = what
            continue
        told[f"{prefix}.base_layer.{last}"] = what
        one, other = adapter[f"{prefix}.lora_A.weight"], adapter[f"{prefix}.lora_B.weight"]
        row = ROW.search(full) is not None
        parts.append((f"{prefix}.lora_A.weight", _columns(one, case.tp) if row else _same(one)))
        parts.append((f"{prefix}.lora_B.weight", _same(other) if row else _rows(other, case.tp)))
        told[f"{prefix}.lora_A.weight"] = _told(1 if row else None)
        told[f"{prefix}.lora_B.weight"] = _told(None if row else 0)
    return [*parts, *extra], told, about


# --- exported decoders


def write_decoder(model: Model, tp: int, folder: Path, *, fused: bool) -> None:
    """A decoder that was exported from a local folder: a file of weights for each core."""
    from safetensors.torch import save_file

    heads, kv_heads = model.heads, model.kv_heads
    repeats = 1
    if heads != kv_heads and (kv_heads < tp or kv_heads % tp):
        repeats = tp // kv_heads if tp % kv_heads == 0 else heads // kv_heads
    for rank in range(tp):
        content: State = {"rank_util.rank": torch.tensor([rank], dtype=torch.int32)}
        for name, value in {**model.state, **{b: model.state[a] for b, a in model.second_names.items()}}.items():
            short = name.removeprefix("model.").replace("q_norm", "q_layernorm").replace("k_norm", "k_layernorm")
            module, _, last = short.rpartition(".")
            owner, _, linear = module.rpartition(".")
            if linear in ("k_proj", "v_proj"):
                value = torch.cat([one for one in value.chunk(kv_heads, 0) for _ in range(repeats)])
            if linear in ("q_proj", "k_proj", "v_proj"):
                content[f"{owner}.qkv_proj.{linear}.{last}"] = rows(value, rank, tp)
            elif linear == "o_proj":
                content[f"{owner}.o_proj.o_proj.{last}"] = columns(value, rank, tp)
            elif linear in ("gate_proj", "up_proj"):
                content[short] = rows(value, rank, tp)
            elif linear in ("down_proj", "embed_tokens"):
                content[short] = columns(value, rank, tp)
            elif linear == "lm_head":
                each = -(-value.shape[0] // tp)
                padded = torch.nn.functional.pad(value, (0, 0, 0, each * tp - value.shape[0]))
                content[short] = rows(padded, rank, tp)
            else:
                content[short] = value.clone()
        if fused:
            for key in [key for key in content if key.endswith("q_proj.weight")]:
                owner = key.removesuffix("q_proj.weight")
                content[f"{owner}Wqkv.weight"] = torch.cat(
                    [content.pop(f"{owner}{one}.weight") for one in LINEARS[:3]]
                )
        for layer in range(model.layers):
            content[f"layers.{layer}.self_attn.rank_util.rank"] = torch.tensor([rank], dtype=torch.int32)
        path = folder / "checkpoint" / "weights" / f"tp{rank}_sharded_checkpoint.safetensors"
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file({key: value.contiguous() for key, value in content.items()}, path)
    write_json(folder / "config.json", model.config)
    write_json(folder / "neuron_config.json", {"tp_degree": tp, "fused_qkv": fused, "torch_dtype": "float32"})
