"""Whole statements and lines: inserting, removing and unwrapping them as edits of the text."""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Collection, Iterable, Sequence

from neuron_codemods.edits import Edit
from neuron_codemods.module import Module
from neuron_codemods.source import Source

_BLOCKS = ("body", "orelse", "finalbody")


def first_line_statement(module: Module, statement: ast.stmt) -> ast.stmt:
    """The statement itself if it starts its line, or else the statement around it that does."""
    while True:
        start = start_of(module.source, statement)
        source = module.source
        if not source.text[source.line_start(start) : start].strip(" \t\f"):
            return statement
        above = next((node for node in module.ancestors(statement) if isinstance(node, ast.stmt)), None)
        previous = _previous_on_line(module, statement)
        if previous is not None:
            statement = previous
        elif above is not None:
            statement = above
        else:
            return statement


def _previous_on_line(module: Module, statement: ast.stmt) -> ast.stmt | None:
    block = module.block(statement)
    index = block.index(statement)
    if index and block[index - 1].end_lineno == statement.lineno:
        return block[index - 1]
    return None


def start_of(source: Source, statement: ast.stmt) -> int:
    """Where a statement starts, its decorators included."""
    decorators = getattr(statement, "decorator_list", None)
    if decorators:
        start, _ = source.span(decorators[0])
        return source.text.rindex("@", 0, start)
    return source.span(statement)[0]


def insert_before(module: Module, statement: ast.stmt, lines: Sequence[str]) -> Edit:
    """Lines above a statement, at its indentation."""
    source = module.source
    statement = first_line_statement(module, statement)
    offset = source.line_start(start_of(source, statement))
    indentation = source.indentation(offset)
    newline = source.newline(offset)
    return Edit.insert(offset, "".join(f"{indentation}{line}{newline}" if line else newline for line in lines))


def insert_after(module: Module, statement: ast.stmt, lines: Sequence[str]) -> Edit:
    """Lines below a statement, at the indentation of the statement that starts its line."""
    source = module.source
    block = module.block(statement)
    while statement is not block[-1]:
        following = block[block.index(statement) + 1]
        if following.lineno != statement.end_lineno:
            break
        statement = following
    first = first_line_statement(module, statement)
    if first is not statement and first not in block:
        statement = first
    offset = source.line_end(max(source.span(statement)[1] - 1, 0))
    indentation = source.indentation(start_of(source, first))
    newline = source.newline(source.span(statement)[0])
    text = "".join(f"{indentation}{line}{newline}" if line else newline for line in lines)
    if offset == len(source.text) and not source.text.endswith(("\n", "\r")):
        text = newline + text[: -len(newline)]
    return Edit.insert(offset, text)


def remove(module: Module, statements: Iterable[ast.stmt], commented: Collection[ast.stmt] = ()) -> list[Edit]:
    """Take statements out of their blocks; a block that would be empty gets a ``pass``.

    The comment lines above go with those in ``commented``.
    """
    gone = list(dict.fromkeys(statements))
    edits = []
    for statement in gone:
        block = module.block(statement)
        left = [other for other in block if other not in gone]
        if not left and statement is block[-1] and not isinstance(module.parent(statement), ast.Module):
            edits.append(Edit.replace(module.source.span(statement), "pass"))
        else:
            edits.append(Edit.delete(_whole(module, statement, statement in commented)))
    return edits


def _whole(module: Module, statement: ast.stmt, with_comments: bool) -> tuple[int, int]:
    """The stretch that goes with a statement: its lines, or its part of a line and one semicolon."""
    source = module.source
    start, end = start_of(source, statement), source.span(statement)[1]
    line_start = source.line_start(start)
    line_end = source.line_end(max(end - 1, start))
    tokens = [token for token in source.tokens_between(end, line_end) if token.kind != tokenize.COMMENT]
    before = source.text[line_start:start]
    if not before.strip(" \t\f") and not tokens:
        if with_comments:
            line_start = _above_comments(source, line_start)
        return _with_blank_lines(source, line_start, line_end)
    if tokens and tokens[0].text == ";":
        following = tokens[1].start if len(tokens) > 1 else tokens[0].end
        if len(tokens) > 1 or not before.strip(" \t\f"):
            return start, following
    if before.rstrip().endswith(";"):
        return line_start + before.rstrip().rindex(";"), end
    return start, end


def _above_comments(source: Source, start: int) -> int:
    """The start of the comment lines directly above a line, or of the line itself."""
    index = source.position(start).line - 1
    while index and source.lines[index - 1].lstrip().startswith("#"):
        index -= 1
    return source.line_starts[index]


def _with_blank_lines(source: Source, start: int, end: int) -> tuple[int, int]:
    """Lines that go, with one blank line after them if a blank one stands before them, or all at the top."""
    index = source.position(start).line - 1
    below = source.position(end).line - 1
    last = below
    while last < len(source.lines) and not source.lines[last].strip():
        last += 1
        if index:
            break
    if last > below and (not index or not source.lines[index - 1].strip()):
        return start, source.line_starts[last]
    return start, end


def unwrap(module: Module, statement: ast.With | ast.For | ast.If, branch: str = "body") -> Edit:
    """Put one block of a compound statement in its place, one step to the left; comments stay."""
    start, end = module.source.span(statement)
    indentation = module.source.indentation(start)
    return Edit(start, end, lambda text: _unwrapped(text, indentation, branch))


def _unwrapped(text: str, indentation: str, branch: str) -> str:
    source = Source(text)
    block: list[ast.stmt] = getattr(source.tree.body[0], branch)
    body_start = start_of(source, block[0])
    last_line = text[: source.line_end(source.span(block[-1])[1] - 1)]
    body_end = len(last_line.rstrip("\r\n"))
    colon = [token for token in source.tokens_between(0, body_start) if token.text == ":"][-1]
    line, newline, body = _split_line(text[colon.end : body_end])
    if source.line_start(body_start) <= colon.start:
        return text[body_start:body_end]
    comment = line.strip()
    kept = f"{comment}{newline}{indentation}" if comment else ""
    return kept + _dedent(body, indentation)


def _split_line(text: str) -> tuple[str, str, str]:
    for index, character in enumerate(text):
        if character in "\r\n":
            newline = "\r\n" if text.startswith("\r\n", index) else character
            return text[:index], newline, text[index + len(newline) :]
    return text, "", ""


def _dedent(body: str, indentation: str) -> str:
    """Move the lines of a block to an indentation; lines inside of a string stay as they are."""
    wrapped = f"if 1:\n{body}"
    source = Source(wrapped)
    first = source.span(source.tree.body[0].body[0])[0]  # type: ignore[attr-defined]
    step = source.indentation(first)
    inside = _string_lines(source)
    result = []
    for number, line in enumerate(source.lines[1:], start=2):
        if number in inside:
            result.append(line)
        elif line.startswith(step):
            result.append(indentation + line[len(step) :])
        elif line.strip():
            result.append(indentation + line.lstrip(" \t"))
        else:
            result.append(line)
    return "".join(result)[len(indentation) :]


def _string_lines(source: Source) -> set[int]:
    """The numbers of the lines that start inside of a string."""
    lines: set[int] = set()
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.Constant, ast.JoinedStr)) and isinstance(
            getattr(node, "value", ""), (str, bytes)
        ):
            lines.update(range(node.lineno + 1, (node.end_lineno or node.lineno) + 1))
    for token in source.tokens:
        if token.kind == tokenize.STRING:
            first = source.position(token.start).line
            last = source.position(max(token.end - 1, token.start)).line
            lines.update(range(first + 1, last + 1))
    return lines
