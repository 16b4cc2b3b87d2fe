"""From a row of the table of renames to the change of one keyword."""

from __future__ import annotations

from neuron_codemods.data.renames import Rename
from neuron_codemods.edits import Change
from neuron_codemods.given import Given, flag_to_value, into_mapping
from neuron_codemods.imports import local_name
from neuron_codemods.model import Outcome

_TOGETHER = {
    "accelerator_config": ("dispatch_batches", "split_batches"),
    "fsdp_config": ("fsdp_min_num_params", "fsdp_transformer_layer_cls_to_wrap"),
}


def change(given: Given, row: Rename) -> Change | None:
    """What becomes of a keyword; None where nothing does or a rule of its own knows."""
    if row.action == "rename":
        return _renamed(given, row)
    if row.action == "value":
        name, _, text = row.new.partition("=")
        return flag_to_value(name, text)(given)
    if row.action == "key":
        name, _, key = row.new.partition(":")
        return into_mapping(name, *_TOGETHER[name], key=key)(given)
    if row.action == "object":
        return _into_object(given, row)
    if row.action not in ("drop", "manual"):
        return None
    if row.is_inert(given.known):
        return given.change(Outcome.REWRITTEN, _goes(given, row), given.remove())
    if row.action == "drop":
        return given.change(Outcome.REVIEW, _goes(given, row), given.remove())
    return given.change(Outcome.MANUAL, f"{given.name}: {row.message}")


def _goes(given: Given, row: Rename) -> str:
    if row.inert == "*" or (row.action == "drop" and not row.is_inert(given.known)):
        return f"{given.name} goes. {row.message}"
    return f"{given.name}={given.text} goes: it changed nothing."


def _renamed(given: Given, row: Rename) -> Change:
    old, new = given.name, row.new
    note = f" {row.message}" if row.message else ""
    other = given.made.find(new)
    if other is None:
        return given.change(Outcome.REWRITTEN, f"{old} is called {new}.{note}", given.rename(new))
    if given.known is None:
        return given.change(Outcome.REWRITTEN, f"{old}=None goes: {new} is given as well.", given.remove())
    if old.startswith("per_gpu"):
        message = f"{old} and {new} were both given: set {new} to the one that is meant. {old} used to win."
        return given.change(Outcome.MANUAL, message)
    return given.change(Outcome.REVIEW, f"{old} goes: {new} is given as well.", given.remove())


def _into_object(given: Given, row: Rename) -> Change:
    name, _, native = row.new.partition(":")
    if row.is_inert(given.known):
        return given.change(Outcome.REWRITTEN, _goes(given, row), given.remove())
    if given.has(name):
        return given.change(Outcome.MANUAL, f"Put {given.name} into {name}.")
    text = f"{local_name(given.module, native)}({given.name}={given.text})"
    edits = (given.rename(name), given.replace(text))
    message = f"{given.name} is an argument of {native.rpartition('.')[2]}."
    return given.change(Outcome.REWRITTEN, message, *edits, requires=(native,))
