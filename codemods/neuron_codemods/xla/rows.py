"""From the rows of the table of names to changes, for names that need no more than their row."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import Change, Edit
from neuron_codemods.model import Outcome
from neuron_codemods.module import Module
from neuron_codemods.xla import uses
from neuron_codemods.xla.uses import Use
from neuron_codemods.xla.writing import Words


def changes(module: Module, code: str, done: frozenset[ast.AST] = frozenset()) -> Iterator[Change]:
    """What the table says about each use of the names of one rule; an imported name is marked once."""
    marked: set[ast.AST] = set()
    for use in uses.of_rule(module, code):
        if use.node in done:
            continue
        change = renamed(module, use)
        if change is not None:
            yield change
            continue
        node = _import_of(use) or use.node
        if node not in marked:
            marked.add(node)
            yield Change(Outcome.MANUAL, node, use.row.message)


def renamed(module: Module, use: Use) -> Change | None:
    """The change of a name that has a native one which means the same."""
    native = use.row.native
    if use.row.outcome is Outcome.MANUAL or "." not in native or not module.is_placed(use.node):
        return None
    words = Words(module, use.node)
    text = words.dotted(native) if native.startswith("torch.") else words.name(native)
    edit = Edit.replace(module.source.span(use.node), text)
    return Change(use.row.outcome, use.node, use.row.message, (edit, *use.erases), tuple(words.requires))


def _import_of(use: Use) -> ast.AST | None:
    """The import of the very name, where a use is not through its module."""
    if not isinstance(use.node, ast.Name):
        return None
    binding = use.erases[-1].binding if use.erases else None
    return binding.node if binding is not None else None
