"""The accelerators that a script with a training loop of its own makes, and the configurations they are given."""

from __future__ import annotations

import ast

from neuron_codemods.derivation import kind_of
from neuron_codemods.module import Module, once
from neuron_codemods.values import keyword

ACCELERATOR = "accelerate.Accelerator"
PLUGINS = ("trn_config", "mp_plugin", "tp_plugin")
"""The keywords under which the releases took the parallel sizes."""


@once
def accelerators(module: Module) -> tuple[ast.Call, ...]:
    """The calls that make a ``NeuronAccelerator``, also of a class derived from it."""
    found = []
    for call in module.calls:
        kind = kind_of(module, call.func, (ACCELERATOR,))
        if kind is not None and kind.is_neuron:
            found.append(call)
    return tuple(found)


def plugins(module: Module) -> list[ast.keyword]:
    """The configurations with parallel sizes that accelerators are given."""
    return [given for call in accelerators(module) if (given := keyword(call, *PLUGINS)) is not None]
