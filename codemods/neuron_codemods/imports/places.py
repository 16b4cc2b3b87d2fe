"""Where new text needs an import, and where one may stand."""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from neuron_codemods import statements
from neuron_codemods.edits import AnyEdit, CallEdit, Change, Edit, InsertLines
from neuron_codemods.module import Module


@dataclass(frozen=True)
class Use:
    """A place from which on new text uses a name that must be imported."""

    offset: int
    node: ast.AST
    """What stands there, or around it."""


def outside_functions(module: Module, uses: Iterable[Use]) -> list[Use]:
    """The places at which the file itself, and not one of its functions, needs a new import."""
    return [use for use in uses if module.function(use.node) is None]


def uses_in(module: Module, change: Change) -> list[Use]:
    """Where the new text of a change stands: where its edits write any, or at its node if they only rename."""
    found = [use for edit in change.edits for use in _written(module, edit)]
    return found or [Use(end_of_lines(module, change.node), change.node)]


def _written(module: Module, edit: AnyEdit) -> Iterator[Use]:
    source = module.source
    if isinstance(edit, Edit):
        if not edit.deletes:
            yield Use(edit.start, module.around(edit.start))
    elif isinstance(edit, CallEdit):
        if edit.values or edit.added:
            yield Use(source.span(edit.call)[0], edit.call)
    elif isinstance(edit, InsertLines):
        if edit.after:
            shares = statements.shares_line(module, edit.statement)
            yield Use(
                source.span(edit.statement)[1] if shares else end_of_lines(module, edit.statement), edit.statement
            )
        else:
            first = statements.first_line_statement(module, edit.statement)
            yield Use(source.line_start(statements.start_of(source, first)), edit.statement)


def end_of_lines(module: Module, node: ast.AST) -> int:
    """The end of the lines of a statement: new imports may stand in or below it."""
    return module.source.line_end(max(module.source.span(module.statement(node))[1] - 1, 0))


def last_import(module: Module, before: Collection[Use] = ()) -> ast.stmt | None:
    """The last import of the section at the top of a file: before its first function, class or main guard.

    With places ``before``, only imports that are made before all of them count.
    """
    found: ast.stmt | None = None
    first_use = first_offset(before)
    holders = {above for use in before for above in module.ancestors(use.node)}
    for statement in module.source.tree.body:
        if statement in holders or end_of_lines(module, statement) > first_use:  # on the line of a use, or below it
            break
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            break
        if isinstance(statement, (ast.Import, ast.ImportFrom)) or only_imports(statement):
            found = statement
    return found


def first_import(module: Module, before: Collection[Use] = (), *, of_library: bool = True) -> ast.stmt | None:
    """The first import of the file itself, wherever it stands, if it is made before some places.

    Those from the standard library are passed over where it need not be ``of_library``.
    """
    imports = (node for node in module.source.tree.body if isinstance(node, (ast.Import, ast.ImportFrom)))
    first = next(
        (node for node in imports if not (_is_of_future(node) or (not of_library and is_of_library(node)))), None
    )
    return None if first is None or end_of_lines(module, first) > first_offset(before) else first


def first_offset(uses: Collection[Use]) -> float:
    """Where the first of some places is; without any, behind everything."""
    return min((use.offset for use in uses), default=math.inf)


def guard(module: Module, statement: ast.stmt) -> ast.Try | ast.If | None:
    """The ``try`` that handles the failure of an import, or the ``if`` that decides on it."""
    above = module.parent(statement)
    if isinstance(above, (ast.Try, ast.If)) and module.block(statement) is above.body:
        return above if isinstance(above, ast.If) or above.handlers else None
    return None


def is_for_types(module: Module, statement: ast.stmt) -> bool:
    """Whether an import is made for type checkers only."""
    above = module.parent(statement)
    return isinstance(above, ast.If) and module.resolve(above.test) == "typing.TYPE_CHECKING"


def optional_import(module: Module) -> ast.stmt | None:
    """The last import from Optimum Neuron that is run, if one guard or one function holds all of them."""
    imports = {binding.statement for binding in module.neuron_bindings if not is_for_types(module, binding.statement)}
    holders = {guard(module, statement) or _only_function(module, statement) for statement in imports}
    if len(holders) != 1 or None in holders:
        return None
    return max(imports, key=lambda statement: statement.lineno)


def _only_function(module: Module, statement: ast.stmt) -> ast.AST | None:
    above = module.parent(statement)
    return above if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)) else None


def only_imports(statement: ast.stmt) -> bool:
    """A ``try`` or ``if`` that is there for an import: an ``if`` that also runs something is not."""
    return (
        isinstance(statement, (ast.Try, ast.If))
        and any(isinstance(inner, (ast.Import, ast.ImportFrom)) for inner in statement.body)
        and not (isinstance(statement, ast.If) and any(isinstance(inner, ast.Expr) for inner in statement.body))
    )


def is_of_library(statement: ast.stmt) -> bool:
    """Whether a statement only imports from the standard library."""
    if isinstance(statement, ast.ImportFrom):
        names = [statement.module or "."] if not statement.level else ["."]
    else:
        names = [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else ["."]
    return all(name.partition(".")[0] in sys.stdlib_module_names for name in names)


def _is_of_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def insert_at_top(module: Module, lines: Sequence[str]) -> list[Edit]:
    """Lines at the top of a file without imports: below its docstring, above its first statement."""
    body = module.source.tree.body
    head = 1 if ast.get_docstring(module.source.tree, clean=False) is not None else 0
    while head < len(body) and _is_of_future(body[head]):
        head += 1
    if head:
        return statements.insert_after(module, body[head - 1], ["", *lines])
    return [statements.insert_before(module, body[0], [*lines, ""])]
