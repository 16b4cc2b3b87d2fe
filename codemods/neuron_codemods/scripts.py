"""What the launch line of a script needs to know about the script: which flags it reads, and what it trains."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuron_codemods.module import Module


@dataclass(frozen=True)
class Script:
    """A Python file as one that is launched."""

    parses: bool = False
    """Whether it reads training arguments from its command line."""
    flags: frozenset[str] = frozenset()
    """The flags that it reads by itself, without dashes."""
    adapters: bool = False
    """Whether it trains adapters."""
    tunes: bool = False
    """Whether the training arguments that it reads are an ``SFTConfig``."""


def script(module: Module) -> Script:
    """What a Python file is as one that is launched."""
    from neuron_codemods.training.parallel import uses_lora
    from neuron_codemods.values import SFT_CONFIG, all_arguments

    natives = (module.native(call.func) or "" for call in module.calls)
    parses = any(native.rpartition(".")[2] in ("HfArgumentParser", "TrlParser") for native in natives)
    tunes = parses and any(made.is_parsed and made.native == SFT_CONFIG for made in all_arguments(module))
    return Script(parses, frozenset(_flags(module)), uses_lora(module), tunes)


def _flags(module: Module) -> Iterator[str]:
    """The flags of ``add_argument`` calls, and the fields of data classes, also the one that a rule adds (NM150)."""
    for call in module.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument":
            for argument in call.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value.lstrip("-").replace("-", "_")
    if any(node.attr == "overwrite_output_dir" for node in module.names.attributes):
        yield "overwrite_output_dir"
    for node in module.names.statements:
        if isinstance(node, ast.ClassDef) and node.decorator_list:
            for statement in node.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    yield statement.target.id
