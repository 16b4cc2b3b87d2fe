"""The byte strings without which a file cannot concern this tool.

A file that holds none of them is never decoded, let alone parsed. This module imports nothing, so that looking costs
what reading the bytes costs.
"""

from __future__ import annotations

ROOT = b"euron"
"""In every import of Optimum Neuron, every name of it and every marker: most files are told by this one search."""

NEEDLES: tuple[bytes, ...] = (
    *(b"optimum", b"Neuron", b"neuron-migrate", b"torch_neuron", b"neuronx_distributed", b"transformers_neuronx"),
    *(b"huggingface-neuronx", b"-training-neuronx", b"-inference-neuronx"),
)
"""An import; a name taken from another file of the project; a marker or a suppression; packages only for Neuron;
images of containers."""

FLAGS = (
    *("zero_1", "skip_cache_push", "neuron_cc_optlevel", "kv_size_multiplier", "use_xser"),
    *("pipeline_parallel_num_microbatches", "num_local_ranks_per_step", "disable_embedding_parallelization"),
)
"""Flags that no other program has, by which files of arguments are known."""

ASKED_FOR: dict[str, tuple[bytes, ...]] = {
    "NM6": (b"torch_xla",),
    "NM7": (b"transformers", b"trl", b"datasets", b"huggingface_hub", b"peft", b"accelerate"),
}
"""By the codes of rules that must be selected for such files: what Python files hold that only these rules look at."""


def asked_for(select: tuple[str, ...]) -> tuple[bytes, ...]:
    """The further byte strings that Python files are looked at for, where rules are selected by these codes."""
    return tuple(
        needle
        for room, needles in ASKED_FOR.items()
        if any(code.startswith(room) for code in select)
        for needle in needles
    )


def concerns(data: bytes, further: tuple[bytes, ...] = ()) -> bool:
    """Whether a file with these bytes may hold something to migrate or a marker to report."""
    return (ROOT in data and any(needle in data for needle in NEEDLES)) or any(needle in data for needle in further)
