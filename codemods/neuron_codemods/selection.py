"""Which of the changes that rules ask for are made: what a person suppressed is not, nor what depends on it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from neuron_codemods import markers, registry
from neuron_codemods.data import Symbol
from neuron_codemods.diffusion.compiled_pipelines import RULE as COMPILED_PIPELINES
from neuron_codemods.diffusion.loads import is_pipeline
from neuron_codemods.edits import (
    CallEdit,
    Change,
    Edit,
    EraseImport,
    RemoveStatement,
    RenameAttribute,
    RenameImport,
    RenameStar,
    Unwrap,
)
from neuron_codemods.file.held_back import RULE as HELD_BACK
from neuron_codemods.file.unused_suppressions import RULE as UNUSED_SUPPRESSION
from neuron_codemods.inference.compiled_models import RULE as COMPILED_MODELS
from neuron_codemods.inference.pipelines import RULE as PIPELINES
from neuron_codemods.model import Outcome, Rule, Settings
from neuron_codemods.module import Module
from neuron_codemods.renaming import imported, is_called_otherwise
from neuron_codemods.scopes import Binding
from neuron_codemods.training.native_names import RULE as NATIVE_NAMES
from neuron_codemods.training.native_names import accepts


@dataclass(frozen=True)
class Found:
    """A change with the rule that asked for it."""

    rule: Rule
    change: Change


def suppress(
    module: Module, found: Sequence[Found], settings: Settings
) -> tuple[list[Found], list[markers.Suppression]]:
    """What is left after the suppressions in the text, and the suppressions that did nothing."""
    comments = markers.suppressions(module)
    if not comments:
        return list(found), []
    left = []
    for item in found:
        code = item.rule.code
        covering = _covering(comments, code, _lines(module, item.change))
        if not covering:
            left.append(item)
    if not registry.is_enabled(UNUSED_SUPPRESSION.code, settings):
        return left, []
    return left, [comment for comment in comments if not comment.used and _had_its_chance(comment, settings)]


def _covering(comments: Sequence[markers.Suppression], code: str, lines: Iterable[int]) -> list[markers.Suppression]:
    """The suppressions of a rule on some lines, which have suppressed something now."""
    touched = set(lines)
    covering = [comment for comment in comments if any(comment.covers(code, line) for line in touched)]
    for comment in covering:
        comment.used = True
    return covering


def _lines(module: Module, change: Change) -> Iterator[int]:
    """The lines that a change is about, those of the statements that it changes, and those of the names it renames."""
    yield getattr(change.node, "lineno", 1)
    for edit in change.edits:
        if isinstance(edit, Edit):
            start, end = module.source.position(edit.start), module.source.position(edit.end)
            yield from range(start.line, end.line + (end.column > 1))
        elif isinstance(edit, CallEdit):
            yield edit.call.lineno
        elif isinstance(edit, RemoveStatement):
            yield from range(edit.statement.lineno, (edit.statement.end_lineno or 0) + 1)
        elif isinstance(edit, Unwrap):
            yield edit.statement.lineno
            lost = edit.statement.body if edit.branch == "orelse" else getattr(edit.statement, "orelse", [])
            yield from (line for node in lost for line in range(node.lineno, (node.end_lineno or 0) + 1))
        elif isinstance(edit, EraseImport):
            yield edit.binding.statement.lineno
            for reference in module.references(edit.binding):
                around = module.statement(reference.node)  # stays as a whole where a part of it does
                yield from range(around.lineno, (around.end_lineno or 0) + 1)
        elif isinstance(edit, RenameImport):
            yield edit.binding.statement.lineno
            yield from (reference.node.lineno for reference in module.references(edit.binding))
            others = edit.binding.scope.bindings[edit.binding.name]
            yield from (other.node.lineno for other in others if isinstance(other.node, ast.Name))
        elif isinstance(edit, RenameStar):
            yield edit.statement.lineno
        elif isinstance(edit, RenameAttribute):
            yield edit.binding.statement.lineno  # the import would change as well


def _had_its_chance(comment: markers.Suppression, settings: Settings) -> bool:
    """Whether all rules that a suppression is about have looked."""
    codes = [entry.rule.code for entry in registry.rules() if entry.rule.code not in registry.ON_DEMAND]
    about = [code for code in codes if not comment.codes or code.startswith(comment.codes)]
    return all(registry.is_enabled(code, settings) for code in about)


@dataclass(frozen=True)
class _Room:
    """Rules that make sense only together with the one that renames the classes they are about."""

    prefix: str
    names: tuple[str, ...]
    """The codes of the rules that rename."""
    accepts: Callable[[Symbol], bool]
    about: str


_ROOMS = (
    _Room("NM1", (NATIVE_NAMES.code,), accepts, "training"),
    _Room("NM2", (COMPILED_MODELS.code, PIPELINES.code), is_called_otherwise, "inference"),
    _Room("NM3", (COMPILED_PIPELINES.code,), is_pipeline, "pipelines"),
)


def hold_back(module: Module, found: Sequence[Found], left: list[Found], settings: Settings) -> list[Found]:
    """Make no change about training, inference or pipelines in a file in which a person keeps a name of it.

    ``found`` is what the rules asked for and ``left`` what the suppressions left of it. Rules that were selected one
    by one are run as they are: whoever selects knows.
    """
    for room in _ROOMS:
        left = _hold_back(module, room, found, left, settings)
    return left


def _hold_back(
    module: Module, room: _Room, found: Sequence[Found], left: list[Found], settings: Settings
) -> list[Found]:
    renamed = set(_renamed(room, left))
    kept = [binding for binding in _renamed(room, found) if binding not in renamed]
    if not settings.select and not all(registry.is_enabled(code, settings) for code in room.names):
        kept = [binding for binding, symbol in imported(module) if symbol.rename and room.accepts(symbol)]
    fewer = [item for item in left if not (item.rule.code.startswith(room.prefix) and item.change.edits)]
    if not kept or len(fewer) == len(left):
        return left
    if registry.is_enabled(HELD_BACK.code, settings):
        names = ", ".join(binding.name for binding in kept)
        message = f"Nothing about {room.about} is rewritten here, because {names} is kept: half of it would not run."
        fewer.append(Found(HELD_BACK, Change(Outcome.REVIEW, kept[0].node, message)))
    return fewer


def _renamed(room: _Room, found: Sequence[Found]) -> list[Binding]:
    """The imports of names of a room that are to be renamed."""
    return [
        edit.binding
        for item in found
        if item.rule.code in room.names
        for edit in item.change.edits
        if isinstance(edit, (RenameImport, RenameAttribute))
    ]
