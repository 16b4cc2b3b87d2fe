"""Every combination that can exist, as cases for the generator."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from .generator import Case

# Key/value heads (6 of 12 query heads, else of 8), ranks, and the multipliers that fit them on so many.
GROUPED = (
    (2, 4, (None, 2, 4)),
    (2, 8, (None, 4)),
    (4, 8, (None, 2)),
    (1, 2, (None,)),
    (1, 4, (None,)),
    (1, 8, (None,)),
    (6, 4, (2,)),
    (6, 8, ()),
)
DECODER_TARGETS = {
    "all": ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
    "attention": ("q_proj", "k_proj", "v_proj", "o_proj"),
    "query_value": ("q_proj", "v_proj"),
    "output": ("o_proj",),
    "mlp": ("gate_proj", "up_proj", "down_proj"),
    "down": ("down_proj",),
}
TARGETS = {
    **DECODER_TARGETS,
    "bert": ("query", "value", "dense"),
    "roberta": ("query", "value", "dense"),
    "gpt_neo": ("q_proj", "v_proj", "out_proj", "c_fc", "c_proj"),
    "gpt_neox": ("query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"),
    "t5": ("q", "v", "o", "wi", "wo"),
}


class Run(NamedTuple):
    kind: str
    kv_heads: int
    case: Case

    def __str__(self) -> str:
        case = self.case
        words = [self.kind, f"kv{self.kv_heads}", case.layout, f"tp{case.tp}", f"pp{case.pp}"]
        words += [f"m{case.multiplier}"] if case.multiplier else []
        words += ["fused"] if case.fuse_qkv else []
        words += ["xser" if case.xser else "plain"]
        words += [case.adapter] if case.adapter else []
        return "-".join(words)


def spreads(kv_heads: int) -> Iterator[tuple[int, int | None]]:
    """Ranks and multipliers."""
    for tp in (1, 2, 4, 8):
        multipliers = [some for heads, size, some in GROUPED if (heads, size) == (kv_heads, tp)]
        if multipliers:
            yield from ((tp, one) for one in multipliers[0])
        elif kv_heads >= tp:
            yield tp, None


def in_json() -> Iterator[Run]:
    kinds = (
        *(("llama", heads) for heads in (8, 4, 2, 1)),
        *(
            ("llama_tied", 4),
            ("llama_biased", 2),
            ("llama_biased", 8),
            ("llama_twelve", 6),
            ("qwen3", 2),
            ("qwen3", 8),
        ),
        *(("qwen3_wide", 2), ("qwen3_wide", 8), ("granite", 2), ("granite", 8)),
    )
    for kind, kv_heads in kinds:
        for tp, multiplier in spreads(kv_heads):
            for pp in (1, 2):
                if pp == 2 and kind in ("llama_tied", "qwen3"):
                    continue  # ties across stages are refused
                for fuse, xser in itertools.product((False, True), repeat=2):
                    yield Run(kind, kv_heads, Case("json", tp, pp, multiplier, fuse, xser))
                    if kind in ("llama", "llama_tied") and pp == 1:  # all that 0.2.0 had
                        yield Run(kind, kv_heads, Case("json0", tp, pp, multiplier, fuse, xser))


def before_0_2() -> Iterator[Run]:
    decoders = (*(("llama", heads) for heads in (8, 4, 2, 1)), ("llama_tied", 8), ("llama_odd", 8), ("mistral", 4))
    decoders += (("llama_biased", 2),)
    others = tuple((kind, 8) for kind in ("bert", "roberta", "gpt_neo", "gpt_neox", "t5"))
    for layout in ("flat", "ppflat", "dir", "tpxser", "tpxser_gqa", "pt", "pt_fq"):
        for kind, kv_heads in (*decoders, *others):
            for tp, multiplier in spreads(kv_heads):
                multiplied = layout in ("tpxser_gqa", "pt", "pt_fq")
                if (multiplier and not multiplied) or (layout in ("flat", "ppflat") and tp > kv_heads):
                    continue
                for pp in (1, 2) if kind in ("llama", "mistral") and layout not in ("flat", "ppflat") else (1,):
                    # Before 0.0.22 the release decided.
                    for xser in (False, True) if layout.startswith("pt") else (layout.startswith("tpxser"),):
                        yield Run(kind, kv_heads, Case(layout, tp, pp, multiplier, False, xser))


def adapters() -> Iterator[Run]:
    kinds = (*(("llama", heads) for heads in (8, 4, 2, 1)), ("llama_tied", 4), ("qwen3", 2), ("qwen3_wide", 2))
    for kind, kv_heads in (*kinds, ("granite", 2), ("llama_twelve", 6)):
        for tp, multiplier in spreads(kv_heads):
            for name in DECODER_TARGETS if kind == "llama" else ("all", "query_value"):
                for pp, fuse, xser in itertools.product((1, 2), (False, True), (False, True)):
                    yield Run(kind, kv_heads, Case("json", tp, pp, multiplier, fuse, xser, name))
    for layout in ("pt", "pt_fq"):  # refused there where key/value heads are multiplied
        for tp in (1, 2, 4):
            for name in DECODER_TARGETS:
                yield Run("llama", 4, Case(layout, tp, xser=False, adapter=name))
            yield Run("mistral", 4, Case(layout, tp, xser=False, adapter="all"))
        for tp in (1, 2, 4, 8):
            for kind in ("bert", "roberta", "gpt_neo", "gpt_neox", "t5"):
                yield Run(kind, 8, Case(layout, tp, xser=False, adapter=kind))
