"""Which releases of Optimum Neuron a file can have been written for, told from the names and keywords it uses."""

from __future__ import annotations

import ast
from enum import Enum

from neuron_codemods.data import RELEASES, keywords, members, release_key
from neuron_codemods.module import Module, once
from neuron_codemods.renaming import attributes, imported
from neuron_codemods.values import ARGUMENT_CLASSES, SFT_CONFIG, SFT_TRAINER, TRAINER_CLASSES, is_neuron

Release = tuple[int, ...]


class Era(Enum):
    """The generation of defaults that a file relied on."""

    OLD = "0.0.1 to 0.3.0"
    NEW = "0.4.0 to 0.4.5"
    EITHER = "any release"


@once
def era(module: Module) -> Era:
    """The generation of defaults that a module relied on."""
    first, last = bounds(module)
    if last < (0, 4, 0):
        return Era.OLD
    return Era.NEW if first >= (0, 4, 0) else Era.EITHER


@once
def bounds(module: Module) -> tuple[Release, Release]:
    """The first and the last release that had everything a module uses."""
    ranges = [(symbol.first, symbol.last) for _, symbol in imported(module)]
    ranges += [(symbol.first, symbol.last) for _, _, symbol in attributes(module)]
    for call in module.calls:
        native = module.native(call.func)
        if native and is_neuron(module, call.func):
            ranges += _keyword_ranges(call, native)
    for attribute in module.names.attributes:
        ranges += _member_ranges(module, attribute)
    first = max((release_key(start) for start, _ in ranges), default=release_key(RELEASES[0]))
    last = min((release_key(end) for _, end in ranges), default=release_key(RELEASES[-1]))
    return first, last


def _keyword_ranges(call: ast.Call, native: str) -> list[tuple[str, str]]:
    owners: tuple[str, ...] = ()
    if native in ARGUMENT_CLASSES:
        owners = ("training_arguments", "sft_config") if native == SFT_CONFIG else ("training_arguments",)
    elif native in TRAINER_CLASSES:
        owners = ("trainer", "sft_trainer") if native == SFT_TRAINER else ("trainer",)
    ranges = []
    for item in call.keywords:
        for owner in owners:
            for row in keywords(owner).get(item.arg or "", ()):
                # A row of action "keep" is about a default; the keyword itself is older.
                if row.action != "keep":
                    ranges.append((row.first, row.last))
    if native in TRAINER_CLASSES and any(item.arg == "compute_metrics" for item in call.keywords):
        ranges.append((RELEASES[0], "0.3.0"))
    return ranges


def _member_ranges(module: Module, attribute: ast.Attribute) -> list[tuple[str, str]]:
    """Methods that only some releases of the trainer had, called on what a trainer class made."""
    if attribute.attr not in ("evaluate", "predict") or not isinstance(attribute.value, ast.Name):
        return []
    binding = module.binding(attribute.value)
    if binding is None or not isinstance(binding.value, ast.Call) or not is_neuron(module, binding.value.func):
        return []
    return [(row.first, row.last) for row in members("trainer").get(attribute.attr, ())]
