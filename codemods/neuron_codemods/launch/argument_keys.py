"""What becomes of training arguments that a file names as keys: what becomes of the flags of these names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from neuron_codemods.edits import Edit
from neuron_codemods.launch.flags import UNMISTAKABLE, row_of
from neuron_codemods.model import Outcome
from neuron_codemods.project import Project
from neuron_codemods.texts import Change

_OFF = frozenset(("false", "no", "off", "0", "null", "~"))
_HYPERPARAMETERS = frozenset(("hyperparameters", "hyper_parameters"))


@dataclass(frozen=True)
class Entry:
    """A key with a scalar."""

    key: str
    value: str
    """What the scalar says, without quotes."""
    name: tuple[int, int]
    """Where the key stands, without quotes."""
    scalar: tuple[int, int]
    """Where the scalar stands."""
    start: int
    """Where the key starts, with its quote."""


Removals = Callable[[Sequence[Entry]], dict[Entry, Edit]]
"""From the entries that go to the edit that takes each out."""


def changes(
    above: str, entries: Sequence[Entry], project: Project, removals: Removals, *, in_json: bool = False
) -> Iterator[Change]:
    """One change for each of the entries under a key, or under none, that is called otherwise now, or nothing."""
    keys = frozenset(_flag(entry) for entry in entries)
    is_job = above.lower() in _HYPERPARAMETERS
    if not UNMISTAKABLE & keys or not (is_job or "output_dir" in keys):
        return
    own = frozenset(flag for module in project.modules for flag in module.script.flags)
    readers = [module.script for module in project.modules if module.script.parses]
    adapters = bool(readers) and all(script.adapters for script in readers)
    tunes = bool(readers) and all(script.tunes for script in readers)
    told = [
        (entry, *_told(entry, keys, is_job=is_job, in_json=in_json, adapters=adapters, tunes=tunes))
        for entry in entries
        if entry.key not in own
    ]
    gone = removals([entry for entry, _, _, edits in told if edits is None])
    for entry, outcome, message, edits in told:
        if message:
            taken = (gone[entry],) if edits is None else edits
            yield Change(outcome, (entry.name[0], entry.scalar[1]), message, taken, marked=not in_json)


def between_commas(entries: Sequence[Entry], gone: Sequence[Entry]) -> dict[Entry, Edit]:
    """Each goes with the comma before it; where nothing is left before it, with that behind it."""
    edits: dict[Entry, Edit] = {}
    leaving, leads = frozenset(gone), True
    for index, entry in enumerate(entries):
        leads = leads and entry in leaving
        start, end = entry.start, entry.scalar[1]
        if not leads:
            start = entries[index - 1].scalar[1]
        elif index + 1 < len(entries):
            end = entries[index + 1].start
        edits[entry] = Edit.delete((start, end))
    return edits


def _flag(entry: Entry) -> str:
    return entry.key.replace("-", "_")


def _told(
    entry: Entry, keys: Collection[str], *, is_job: bool, in_json: bool, adapters: bool, tunes: bool
) -> tuple[Outcome, str, tuple[Edit, ...] | None]:
    """The outcome, what is said of it (nothing if it stays), and the edits, or None if the entry goes."""
    row, negated = row_of(_flag(entry), tunes=tunes)
    if row is None or negated:
        return Outcome.REWRITTEN, "", ()
    key, reason = entry.key, f" {row.reason}" if row.reason else ""
    is_off = entry.value.lower() in _OFF
    if row.action == "manual" and not (row.name == "pipeline_parallel_size" and entry.value == "1"):
        return Outcome.MANUAL, f"{key} has no native form.{reason}", ()
    if row.action == "write" and not is_off:
        name, _, value = row.native.lstrip("-").partition(" ")
        if name in keys or name == "include_for_metrics":  # which takes a list
            return Outcome.MANUAL, f"{key} has no native form. Write {value} into {name} instead of it.", ()
        edits = (Edit.replace(entry.name, name), Edit.replace(entry.scalar, f'"{value}"' if in_json else value))
        return Outcome.REWRITTEN, f"{key} is written {name} now.", edits
    if row.action in ("size", "variable"):
        of_adapters = adapters and row.action == "size"
        said = f"{row.native}={1 if of_adapters else entry.value}"
        why = " (adapters cannot be sharded)" if of_adapters else ""
        task = f"set {said} in the environment of the job" if is_job else f"launch with {said}"
        return Outcome.REVIEW, f"{key} goes: {task}{why}.", None
    if row.action == "rename":
        return Outcome.REWRITTEN, f"{key} is called {row.native}.{reason}", (Edit.replace(entry.name, row.native),)
    outcome = Outcome.REVIEW if row.action == "review" and not is_off else Outcome.REWRITTEN
    return outcome, f"{key} goes.{reason}", None
