"""Environment variables of the XLA stack, and what they are to TorchNeuron.

Sources: the release's own table (https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/reference/env-vars.html),
the runtime's (.../neuron-runtime/api/nrt-env-var-reference.html) and announcements of what ended. Not verified on
hardware.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum


class State(str, Enum):
    KEPT = "still read"
    REVIEW = "still read, but not as before"
    REPLACED = "replaced"
    DROPPED = "means nothing now"


@dataclass(frozen=True)
class Variable:
    pattern: str
    state: State
    advice: str = ""


_CACHE = "Set TORCH_NEURONX_NEFF_CACHE_DIR to a folder that outlives the run (the default lies in /tmp)."
_PRECOMPILE = "Remove it: there is no graph extraction any more. A few steps of the script itself warm the cache."
_DROP = "Remove it from the launch script."

VARIABLES = (
    Variable(
        "NEURON_CC_FLAGS",
        State.REVIEW,
        "Check each flag: --auto-cast is none by default now, and --cache_dir and --retry_failed_compilation belonged "
        "to libneuronxla (TORCH_NEURONX_NEFF_CACHE_DIR sets the cache).",
    ),
    Variable("NEURON_COMPILE_CACHE_URL", State.REPLACED, _CACHE + " It takes a folder, not s3://."),
    Variable("CUSTOM_CACHE_REPO", State.DROPPED, "The Hub cache of Optimum Neuron has no successor. " + _CACHE),
    Variable("NEURON_EXTRACT_GRAPHS_ONLY", State.DROPPED, _PRECOMPILE),
    Variable("NEURON_PARALLEL_COMPILE*", State.DROPPED, _PRECOMPILE),
    Variable("NEURON_IGNORE_TRAINING_SCRIPT_ERROR_AND_COMPILE", State.DROPPED, _PRECOMPILE),
    Variable(
        "XLA_USE_BF16",
        State.REPLACED,
        "Use bf16=True with float32 weights, or dtype=torch.bfloat16 with NEURON_RT_STOCHASTIC_ROUNDING_EN=1.",
    ),
    Variable(
        "XLA_DOWNCAST_BF16",
        State.REPLACED,
        "Use bf16=True with float32 weights, or dtype=torch.bfloat16 with NEURON_RT_STOCHASTIC_ROUNDING_EN=1.",
    ),
    Variable("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", State.DROPPED, _DROP + " It ended with SDK 2.31."),
    Variable(
        "ALLREDUCE_GRADIENTS_BUCKET_SIZE_MB",
        State.REPLACED,
        "Use ddp_bucket_cap_mb of the training arguments, or COLLECTIVE_BUCKETSIZE_IN_MB.",
    ),
    Variable(
        "BUCKET_CAP_MB",
        State.REPLACED,
        "Use ddp_bucket_cap_mb of the training arguments, or COLLECTIVE_BUCKETSIZE_IN_MB.",
    ),
    *(
        Variable(name, State.DROPPED, _DROP)
        for name in (
            *("NEURON_FUSE_SOFTMAX", "NEURON_CUSTOM_SILU", "NEURON_TRANSFER_WITH_STATIC_RING_OPS"),
            *("NEURON_TRANSFER_ALL_PARAMETERS_WITH_STATIC_RING", "NEURON_NUM_RECENT_MODELS_TO_KEEP"),
            *("NEURONCORE_NUM_DEVICES", "NEURON_DUMP_HLO_SNAPSHOT", "PJRT_DEVICE"),
        )
    ),
    Variable("NEURON_RT_VIRTUAL_CORE_SIZE", State.REPLACED, "Set NEURON_LOGICAL_NC_CONFIG instead."),
    Variable("USE_TORCH_XLA", State.KEPT, "It keeps transformers from taking torch_xla; uninstalling that is better."),
    Variable("TORCH_XLA_*", State.DROPPED, _DROP),
    Variable("XLA_*", State.DROPPED, _DROP),
    Variable(
        "NEURON_RT_NUM_CORES",
        State.REVIEW,
        "One process has one core now; with several processes remove the variable.",
    ),
    Variable("NEURON_LOGICAL_NC_CONFIG", State.KEPT),
    Variable("NEURON_RT_*", State.KEPT),
    Variable("NEURON_LAUNCH_BLOCKING", State.KEPT),
    Variable("NEURON_COMPILER_OPT_LEVEL", State.KEPT),
    Variable("TORCH_NEURONX_*", State.KEPT),
    Variable("MALLOC_ARENA_MAX", State.KEPT),
)


def judged(environment: Mapping[str, str]) -> Iterator[tuple[str, Variable]]:
    """The variables that are set and in the table, each with the first row that names it."""
    for name in sorted(environment):
        for variable in VARIABLES:
            if fnmatch.fnmatchcase(name, variable.pattern):
                yield name, variable
                break
