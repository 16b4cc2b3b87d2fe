"""True positions for the expressions inside f-strings.

Before Python 3.12 ``ast`` gives the parts of an f-string made-up positions, so an edit there would land elsewhere.
libcst knows where they stand; this module copies its knowledge into the tree. On 3.12 and later it has nothing to do.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

from neuron_codemods.source import Source, Text, parse_expression

NEWLINE = "\n"
_NEWLINE = re.compile(r"\r\n|\r")
_CHARACTER = re.compile(r"\r\n|.", re.DOTALL)
NEEDED = sys.version_info < (3, 12)


def correct_positions(source: Source, string: ast.JoinedStr) -> bool:
    """Give every name in an f-string its true position; False when that could not be done."""
    import libcst

    start, end = source.span(string)
    # Every newline as one line feed, so that libcst writes what it read; ``places`` leads back.
    places = [match.start() for match in _CHARACTER.finditer(source.text, start, end)] + [end]
    values = list(_formatted(string))
    try:
        expression = libcst.parse_expression(f"({_NEWLINE.sub(NEWLINE, source.segment(string))})")
    except libcst.ParserSyntaxError:
        return False
    parts = list(_expressions(expression.with_changes(lpar=(), rpar=()), 0))
    trees = [tree for text, _ in parts if (tree := parse_expression(f"({text})")) is not None]
    if [ast.dump(tree) for tree in trees] != [ast.dump(value) for value in values]:
        return False
    for value, tree, (text, offset) in zip(values, trees, parts, strict=True):
        _shift(source, value, tree, text, places[offset:])
    return True


def nested(string: ast.JoinedStr) -> Iterator[ast.JoinedStr]:
    """The f-strings in the expressions of an f-string."""
    for node in ast.walk(string):
        if isinstance(node, ast.FormattedValue):
            yield from (inner for inner in ast.walk(node.value) if isinstance(inner, ast.JoinedStr))


def _formatted(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions of an f-string in the order in which they are written."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FormattedValue):
            yield child.value
            if child.format_spec is not None:
                yield from _formatted(child.format_spec)


def _expressions(node: object, offset: int) -> Iterator[tuple[str, int]]:
    import libcst

    module = libcst.Module(body=[])
    if isinstance(node, libcst.ConcatenatedString):
        yield from _expressions(node.left, offset)
        offset += len(module.code_for_node(node.left)) + len(module.code_for_node(node.whitespace_between))
        yield from _expressions(node.right, offset)
    elif isinstance(node, libcst.FormattedString):
        yield from _parts(node.parts, offset + len(node.start))


def _parts(parts: object, offset: int) -> Iterator[tuple[str, int]]:
    import libcst

    module = libcst.Module(body=[])
    for part in parts:  # type: ignore[attr-defined]
        if isinstance(part, libcst.FormattedStringExpression):
            inner = offset + 1 + len(module.code_for_node(part.whitespace_before_expression))
            text = module.code_for_node(part.expression)
            yield text, inner
            if part.format_spec is not None:
                whole = module.code_for_node(part)
                spec = "".join(module.code_for_node(piece) for piece in part.format_spec)
                yield from _parts(part.format_spec, offset + len(whole) - 1 - len(spec))
        offset += len(module.code_for_node(part))


def _shift(source: Source, old: ast.expr, fresh: ast.expr, text: str, places: list[int]) -> None:
    """Give the nodes of ``old`` the places of their equals in ``fresh``, parsed from ``(text)``."""
    inner = Text(f"({text})")
    for before, after in zip(ast.walk(old), ast.walk(fresh), strict=True):
        if hasattr(before, "lineno"):
            first, last = inner.span(after)
            place(source, before, places[first - 1], places[last - 1])


def place(source: Source, node: ast.AST, start: int, end: int) -> None:
    """Give a node the position of a stretch of the text."""
    for prefix, place in (("", start), ("end_", end)):
        position = source.position(place)
        line = source.lines[position.line - 1]
        setattr(node, f"{prefix}lineno", position.line)
        column = len(line[: position.column - 1].encode("utf-8", "surrogatepass"))
        setattr(node, f"{prefix}col_offset", column)
