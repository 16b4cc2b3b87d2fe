"""Statements that have to run before the one that holds an expression, and the expression's new text.

Collectives of ``torch.distributed`` work in place where those of torch_xla returned a value. What takes the place of
one in ``accuracy = round(xm.mesh_reduce("a", x, mean), 2)`` is two statements above, and an expression.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile

from neuron_codemods.edits import Edit
from neuron_codemods.module import Module
from neuron_codemods.source import Source, parse_module
from neuron_codemods.xla.writing import is_alone

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)
_CONDITIONAL = (
    ast.Lambda,
    ast.IfExp,
    ast.BoolOp,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.Await,
)


@dataclass(frozen=True)
class Parts:
    """The texts of the arguments of a call, after all changes inside of them."""

    positional: tuple[str, ...]
    named: dict[str, str]

    def get(self, index: int, name: str) -> str | None:
        return self.positional[index] if index < len(self.positional) else self.named.get(name)


Build = Callable[[Parts], tuple[list[str], str]]
"""From the texts of the arguments to the lines above and the new text of the call."""


def can_hoist(module: Module, call: ast.Call) -> bool:
    """Whether lines can run before the statement of a call without changing when the call happens."""
    statement = module.statement(call)
    if not isinstance(statement, _SIMPLE) or not is_alone(module, statement):
        return False
    around = takewhile(lambda above: above is not statement, module.ancestors(call))
    if any(isinstance(above, _CONDITIONAL) for above in around):
        return False
    return not any(isinstance(item, ast.Starred) for item in call.args) and all(item.arg for item in call.keywords)


def hoist(module: Module, call: ast.Call, build: Build) -> Edit:
    """Write lines above the statement of a call, and other text in the place of the call.

    Where the statement gives the result a name and the new text is that name, the lines are all that is written.
    """
    statement = module.statement(call)
    path = _path(module, statement, call)
    source = module.source
    start, end = source.span(statement)
    between = source.newline(start) + source.indentation(start)

    header = f"if 1:{between}" if source.indentation(start) else ""

    def apply(text: str) -> str:
        # Lines that an inner call has put above are indented, so they are read as a block.
        whole = header + text
        inner = Source(whole)
        block = inner.tree.body[0].body if header else inner.tree.body  # type: ignore[attr-defined]
        last = block[-1]
        node = _at(last, path)
        lines, replacement = build(_parts(inner, node))
        (first, stop), (node_start, node_end) = inner.span(last), inner.span(node)
        result = whole[first:node_start] + replacement + whole[node_end:stop]
        written = [*lines] if _is_no_more(last, node, replacement) else [*lines, result]
        return whole[len(header) : first] + between.join(written) + whole[stop:]

    return Edit(start, end, apply)


def target_name(module: Module, call: ast.Call) -> str | None:
    """The variable that a statement gives the result of this call, if it does nothing else."""
    statement = module.parent(call)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return target.id if isinstance(target, ast.Name) else None
    return None


def _is_no_more(statement: ast.stmt, node: ast.Call, replacement: str) -> bool:
    if isinstance(statement, ast.Expr) and statement.value is node:
        return replacement.isidentifier() or not replacement
    if isinstance(statement, ast.Assign) and statement.value is node and len(statement.targets) == 1:
        target = statement.targets[0]
        return isinstance(target, ast.Name) and target.id == replacement
    return False


def _path(module: Module, statement: ast.stmt, node: ast.AST) -> list[tuple[str, int | None]]:
    path: list[tuple[str, int | None]] = []
    while node is not statement:
        above = module.parent(node)
        assert above is not None
        path.insert(0, _step(above, node))
        node = above
    return path


def _step(above: ast.AST, node: ast.AST) -> tuple[str, int | None]:
    return next(
        (name, value.index(node) if isinstance(value, list) else None)
        for name, value in ast.iter_fields(above)
        if value is node or (isinstance(value, list) and node in value)
    )


def _at(statement: ast.stmt, path: list[tuple[str, int | None]]) -> ast.Call:
    node: ast.AST = statement
    for name, index in path:
        value = getattr(node, name)
        node = value if index is None else value[index]
    assert isinstance(node, ast.Call)
    return node


def _parts(source: Source, call: ast.Call) -> Parts:
    return Parts(
        tuple(_alone(source, argument) for argument in call.args),
        {item.arg: _alone(source, item.value) for item in call.keywords if item.arg is not None},
    )


def _alone(source: Source, node: ast.expr) -> str:
    """The text of an argument as it can stand anywhere: its lines may have broken only inside of the call."""
    text = source.segment(node)
    return text if parse_module(text) is not None or isinstance(node, ast.Starred) else f"({text})"
