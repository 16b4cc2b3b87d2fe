"""Whether a file was written for transformers 4 or TRL 0, told from what it still spells the old way.

Nothing but its spelling tells the age of a script. A default that changed is told of, and an answer that has another
shape is asked for in the old one, only where something else is old for certain.
"""

from __future__ import annotations

import ast

from neuron_codemods.module import Module, once

STILL_TAKEN = frozenset(
    ("gradient_checkpointing gradient_checkpointing_kwargs torch_dtype low_cpu_mem_usage truncation_mode tp_plan ")  # noqa: SIM905
    .split()
)
"""Old spellings that are still taken, or were until lately: a script of today may have them."""


@once
def is_older(module: Module) -> bool:
    """Whether a file spells something in a way that the libraries of today refuse."""
    from neuron_codemods.renames import argument_keywords, loading_keywords, moved_names, trainer_parameters

    for rule in (argument_keywords, trainer_parameters, loading_keywords, moved_names):
        for change in rule.check(module):
            node = change.node
            if not (isinstance(node, ast.keyword) and node.arg in STILL_TAKEN):
                return True
    return False
