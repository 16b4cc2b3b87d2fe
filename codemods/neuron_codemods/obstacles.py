"""What in a file stands in the way of a change, which is then left to a person."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods import imports
from neuron_codemods.edits import AnyEdit, CallEdit, Change, RemoveStatement
from neuron_codemods.model import Outcome
from neuron_codemods.module import Module, once
from neuron_codemods.values import in_order

_TAKEN = "Call what is {name} here by another name, and run neuron-migrate again: new code needs that name."
_ASSIGNED = "Assign {name} on a line of its own, and run neuron-migrate again: what it is assigned in goes."


def unless_hindered(module: Module, change: Change) -> Change:
    """A change as it is, or what a person has to do before it can be made."""
    taken = next((name for name in change.requires if imports.is_taken(module, name)), None)
    if taken is not None:
        return Change(Outcome.MANUAL, change.node, _TAKEN.format(name=taken))
    lost = next(_lost_assignments(module, change), None)
    if lost is not None:
        return Change(Outcome.MANUAL, change.node, _ASSIGNED.format(name=lost))
    return change


def _lost_assignments(module: Module, change: Change) -> Iterator[str]:
    """The names that something needs and that are assigned (``name := value``) inside of what a change takes away."""
    if not _assigns_inside(module):
        return
    for node in (node for edit in change.edits for node in _gone(edit)):
        inside = set(ast.walk(node))
        for inner in inside:
            if isinstance(inner, ast.NamedExpr):
                name = inner.target.id
                uses = module.names.references.get(name, ())
                if any(use.node not in inside for use in uses):
                    yield name


@once
def _assigns_inside(module: Module) -> bool:
    return ":=" in module.source.text


def _gone(edit: AnyEdit) -> Iterator[ast.AST]:
    if isinstance(edit, RemoveStatement):
        yield edit.statement
    elif isinstance(edit, CallEdit):
        arguments = in_order(edit.call)
        yield from (arguments[index] for index in (*edit.removed, *(index for index, _ in edit.values)))
