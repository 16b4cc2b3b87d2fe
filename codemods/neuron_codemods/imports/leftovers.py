"""Imports that only the old code needed: what takes the last use of a name away takes its import as well."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate

from neuron_codemods.edits import Edit, apply
from neuron_codemods.imports.naming import others, why_wanted
from neuron_codemods.imports.sites import is_suppressed
from neuron_codemods.model import SourceError
from neuron_codemods.module import Module
from neuron_codemods.scopes import Binding, Function

_WORD = re.compile(r"[^\W\d]\w*")
_BESIDE = re.compile(
    r"(?:\A|(?<=[\r\n]))[ \t]*(?:from[ \t]+[\w.]+[ \t]+import[ \t]*(?:\([^)]*\)|[^\r\n;]*)|import[ \t][^\r\n;]*)"
    r"|#[^\r\n]*"
)
"""Imports and comments, by and large."""


def left_over(module: Module, edits: Sequence[Edit], decided: Collection[Binding]) -> list[Binding]:
    """The imports that something used and that nothing uses any more once the edits are made.

    Of the ``decided`` ones the rules have said already what becomes of them.
    """
    candidates = [binding for binding in _candidates(module, edits) if binding not in decided]
    if not candidates:
        return []
    text = apply(module.source.text, edits)
    words = set(_WORD.findall(_BESIDE.sub("", text)))
    if words.issuperset(binding.name for binding in candidates):
        return []  # as nearly always, and parsing takes longer than all of this
    try:
        changed = Module(text, module.path, module.project)
    except SourceError:
        return []  # who applies the edits tells of it
    return [binding for binding in candidates if binding.name not in changed.names.references]


def _candidates(module: Module, edits: Sequence[Edit]) -> Iterator[Binding]:
    """The imports whose uses all lie in what is edited."""
    stretches = sorted((edit.start, edit.end) for edit in edits if edit.start < edit.end)
    starts = [start for start, _ in stretches]
    furthest = list(accumulate((end for _, end in stretches), max))

    def is_edited(node: ast.Name) -> bool:
        start, end = module.source.span(node)
        before = bisect_right(starts, start)
        return bool(before) and end <= furthest[before - 1]

    neuron = set(module.neuron_bindings)  # of which the rules know what becomes of them
    for statement in module.names.imports:
        if not isinstance(module.parent(statement), (ast.Module, Function)) or _is_kept(module, statement):
            continue
        scope = module.scope(statement)
        for alias in statement.names:
            name = alias.asname or alias.name.partition(".")[0]
            uses = module.names.references.get(name, ())
            if uses and alias.asname != alias.name and all(is_edited(use.node) for use in uses):
                bindings = (each for each in scope.bindings.get(name, ()) if each.node is alias)
                yield from (each for each in bindings if each not in neuron and _can_go(module, each))


def _can_go(module: Module, binding: Binding) -> bool:
    return why_wanted(module, binding) is None and all(other.is_import for other in others(binding))


def _is_kept(module: Module, statement: ast.stmt) -> bool:
    """Whether a comment says that an import is there for more than its uses."""
    start, end = module.source.span(statement)
    text = module.source.text[start : module.source.line_end(end)]
    return "noqa" in text or is_suppressed(module, statement)
