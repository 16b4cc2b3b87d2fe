"""``if os.path.exists(folder):`` around the export of a compiled model: both branches load the same model now."""

from __future__ import annotations

import ast
from collections.abc import Callable

from neuron_codemods.edits import AnyEdit, RemoveStatement, Unwrap
from neuron_codemods.module import Module

IsFolder = Callable[[ast.expr], bool]
"""Tells whether an expression names the folder of a compiled model."""

_FUNCTIONS = frozenset({"os.path.exists", "os.path.isdir"})
_METHODS = frozenset({"exists", "is_dir"})


def unguarded(module: Module, exported: ast.Call, loaded: ast.Call, is_folder: IsFolder) -> tuple[AnyEdit, ...]:
    """The edits that leave only the export, where an ``if`` chose between it and the load of its folder.

    There are none where no such ``if`` is found, or where a branch does anything else that would be lost.
    """
    first, second = module.statement(exported), module.statement(loaded)
    guard = module.parent(second)
    if isinstance(guard, ast.If) and (is_there := _is_there(module, guard.test, is_folder)) is not None:
        there, absent = ("body", "orelse") if is_there else ("orelse", "body")
        if getattr(guard, there) != [second] or module.is_elif(guard):
            return ()
        if first in getattr(guard, absent) and _is_same(module, first, second, exported, loaded):
            return (Unwrap(guard, absent),)
        block = module.block(guard)
        if not getattr(guard, absent) and _is_returned(second, loaded) and first in block[block.index(guard) :]:
            return (RemoveStatement(guard),)
        return ()
    guard = module.parent(first)
    if not isinstance(guard, ast.If) or guard.orelse or _is_there(module, guard.test, is_folder) is not False:
        return ()
    block = module.block(guard)
    after = block[block.index(guard) + 1 :]
    if second in after[:1] and _is_same(module, first, second, exported, loaded):
        return Unwrap(guard), RemoveStatement(second)
    return ()


def emptied(module: Module, exported: ast.Call) -> ast.If | None:
    """The ``if`` that asks for a folder and does nothing but to export a model and to save it there."""
    statement = module.statement(exported)
    guard = module.parent(statement)
    if not isinstance(guard, ast.If) or guard.orelse or module.is_elif(guard):
        return None
    if _is_there(module, guard.test, lambda _: True) is None:
        return None
    others = [other for other in guard.body if other is not statement]
    return guard if all(map(is_save, others)) else None


def is_save(statement: ast.stmt) -> bool:
    """Whether a statement saves a model and does nothing else: ``model.save_pretrained(folder)``."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "save_pretrained"


def _is_there(module: Module, test: ast.expr, is_folder: IsFolder) -> bool | None:
    """Whether a test that holds says that the folder exists, or that it does not; None for any other test."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _is_there(module, test.operand, is_folder)
        return None if inner is None else not inner
    if not isinstance(test, ast.Call):
        return None
    function = test.func
    if module.resolve(function) in _FUNCTIONS and len(test.args) == 1:
        return True if is_folder(test.args[0]) else None
    if isinstance(function, ast.Attribute) and function.attr in _METHODS and not test.args:
        path = function.value
        if isinstance(path, ast.Call) and module.resolve(path.func) == "pathlib.Path" and len(path.args) == 1:
            path = path.args[0]
        return True if is_folder(path) else None
    return None


def _is_same(module: Module, first: ast.stmt, second: ast.stmt, exported: ast.Call, loaded: ast.Call) -> bool:
    """Whether two statements do the same with what they load: return it, or give it one name."""
    if _is_returned(first, exported) and _is_returned(second, loaded):
        return True
    names = [
        [module.source.segment(target) for target in statement.targets]
        for statement, call in ((first, exported), (second, loaded))
        if isinstance(statement, ast.Assign) and statement.value is call
    ]
    return len(names) == 2 and names[0] == names[1]


def _is_returned(statement: ast.stmt, call: ast.Call) -> bool:
    return isinstance(statement, ast.Return) and statement.value is call
