"""Marks the names of Optimum Neuron's training side that have no native counterpart.

Pipeline schedules, weight transformation machinery and compile caches have no place in an eager backend. An unused
import goes; a used one stays under a marker that says what to do.

https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renaming import without_native

RULE = Rule(
    code="NM102",
    name="no-native-training-name",
    summary="A name of the training side that has no native counterpart.",
    url="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html",
    outcomes=(Outcome.MANUAL, Outcome.REWRITTEN),
)

CATEGORIES = frozenset({"distributed", "model-training", "peft", "trainer", "training-args", "utils"})


OTHERS = frozenset(
    {
        *("is_precompilation", "make_optimizer_constructor_lazy", "MixedPrecisionConfig"),
        "consolidate_model_parallel_checkpoints_to_unified_checkpoint",
        "consolidate_tensor_parallel_checkpoints_to_unified_checkpoint",
    }
)
"""Names whose uses have rules of their own."""


def check(module: Module) -> Iterator[Change]:
    yield from without_native(module, CATEGORIES, OTHERS)


CASES = (
    Case(
        "an unused helper goes",
        "import os\nfrom optimum.neuron.trainers import NeuronCacheCallback\n\nprint(os.name)\n",
        "import os\n\nprint(os.name)\n",
        (Outcome.REWRITTEN,),
    ),
    Case("nothing of the kind", "import torch\n\nprint(torch.optimum_value)\n"),
    Case("a comment that speaks of it", "# from optimum.neuron.trainers import NeuronCacheCallback\nx = 1\n"),
)
