"""Whole statements and lines: inserting, removing and unwrapping them as edits of the text."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Collection, Iterable, Iterator, Sequence

from neuron_codemods.edits import Edit
from neuron_codemods.module import Module, once
from neuron_codemods.source import MARKER, Source

_OLD_WORDS = re.compile(
    r"compil|\bdevices?\b|\bexport|\btrac(?:e|ing)|neuron|\bxla\b|static|shapes?\b|\bsav(?:e|es|ing)\b", re.IGNORECASE
)
"""What comments speak of that are about the compilation ahead of time and what it leaves, and no more."""
_AHEAD = " \t\f\\\r\n"
"""What may stand before the first statement of a line, a backslash alone on the line above included."""
_FOR_PROGRAMS = re.compile(r"#\s*(?:%%|In\s*\[|COMMAND|type:|fmt:|noqa|pylint:|isort:|pragma:|neuron-migrate:|!|-\*-)")
_SUPPRESSION = re.compile(r"\s*#\s*neuron-migrate:\s*ignore(?!-file)")


def is_marker(line: str) -> bool:
    """Whether a line is a comment that this tool left in an earlier run."""
    return MARKER.match(line.lstrip()) is not None


def first_line_statement(module: Module, statement: ast.stmt) -> ast.stmt:
    """The statement itself if it starts its line, or else the statement around it that does."""
    known, passed = _first_on_their_lines(module), []
    while statement not in known:
        passed.append(statement)
        before = None
        if not _starts_line(module.source, start_of(module.source, statement)):
            above = next((node for node in module.ancestors(statement) if isinstance(node, ast.stmt)), None)
            before = _previous_on_line(module, statement) or above
        if before is None:
            known[statement] = statement
        else:
            statement = before
    known.update(dict.fromkeys(passed, known[statement]))
    return known[statement]


@once
def _first_on_their_lines(_: Module) -> dict[ast.stmt, ast.stmt]:
    """The first statements on the lines of others, as far as somebody has asked: a line may hold thousands."""
    return {}


def _starts_line(source: Source, start: int) -> bool:
    """Whether a statement starts its line, and that line is not the continuation of another."""
    line_start = source.line_start(start)
    if source.text[line_start:start].strip(_AHEAD):
        return False
    above = source.text[source.line_start(line_start - 1) : line_start] if line_start else ""
    if not above.rstrip("\r\n").endswith("\\"):
        return True
    tokens = source.tokens_between(line_start - len(above), line_start)
    return bool(tokens) and tokens[-1].kind == tokenize.COMMENT


def _previous_on_line(module: Module, statement: ast.stmt) -> ast.stmt | None:
    block, index = module.block(statement), module.index(statement)
    if not index:
        return None
    previous = block[index - 1]
    return previous if _share_line(module.source, previous, statement) else None


_SEMICOLON = re.compile(r"([ \t\f]|\\[\r\n]+)*;([ \t\f]|\\[\r\n]+)*")


def _share_line(source: Source, statement: ast.stmt, following: ast.stmt) -> bool:
    """Whether nothing but a semicolon parts two statements: no line break that is not continued."""
    return _SEMICOLON.fullmatch(source.text, source.span(statement)[1], start_of(source, following)) is not None


def start_of(source: Source, statement: ast.stmt) -> int:
    """Where a statement starts, its decorators included."""
    decorators = getattr(statement, "decorator_list", None)
    if decorators:
        start, _ = source.span(decorators[0])
        return source.text.rindex("@", 0, start)
    return source.span(statement)[0]


def insert_before(module: Module, statement: ast.stmt, lines: Sequence[str]) -> Edit:
    """Lines above a statement and the markers that it has, at its indentation.

    A statement keeps the suppression above it, which would else be about the lines.
    """
    source = module.source
    statement = first_line_statement(module, statement)
    offset = source.line_start(start_of(source, statement))
    indentation = source.indentation(offset)
    is_code = not lines[0].startswith("#")
    while offset:
        above = source.text[source.line_start(offset - 1) : offset]
        if not (is_marker(above) or (is_code and _SUPPRESSION.match(above))):
            break
        offset = source.line_start(offset - 1)
    newline = source.newline(offset)
    return Edit.insert(offset, "".join(f"{indentation}{line}{newline}" if line else newline for line in lines))


def insert_right_before(module: Module, statement: ast.stmt, lines: Sequence[str]) -> Edit:
    """Code that runs directly before a statement: above it, or on its line where it does not start that.

    What belongs before an ``elif`` stands above its ``if``.
    """
    while module.is_elif(statement):
        statement = module.parent(statement)  # type: ignore[assignment]
    shares = first_line_statement(module, statement) is not statement
    parts = _simple_statements(lines) if shares else []
    if parts:
        return Edit.insert(start_of(module.source, statement), "".join(f"{part}; " for part in parts))
    return insert_before(module, statement, lines)


def insert_after(
    module: Module, statement: ast.stmt, lines: Sequence[str], unwrapped: Collection[ast.stmt] = ()
) -> list[Edit]:
    """Lines below a statement, at the indentation of the statement that starts its line.

    Where another statement follows on the same line, or the block is written behind its header (``if x: a = f()``),
    they follow on that line, or the line is broken where they cannot. Below the last statement of a block that is
    ``unwrapped`` they are indented as that will be.
    """
    source = module.source
    block = module.block(statement)
    following = block[module.index(statement) + 1 :]
    shares = shares_line(module, statement)
    first = first_line_statement(module, statement)
    end = source.span(statement)[1]
    if shares or first not in block:
        parts = _simple_statements(lines)
        if parts:
            return [Edit.insert(end, "".join(f"; {part}" for part in parts))]
        return _broken(module, block, end, start_of(source, following[0]) if shares else end, lines)
    offset = source.line_end(max(end - 1, 0))
    indentation = source.indentation(start_of(source, first))
    for above in module.ancestors(first):
        if isinstance(above, ast.stmt) and above in unwrapped and source.span(above)[1] <= offset:
            inner, outer = (source.indentation(start_of(source, item)) for item in (_first_inside(above), above))
            indentation = indentation.removesuffix(inner.removeprefix(outer))
    newline = source.newline(source.span(statement)[0])
    text = "".join(f"{indentation}{line}{newline}" if line else newline for line in lines)
    if offset == len(source.text) and not source.text.endswith(("\n", "\r")):
        text = newline + text[: -len(newline)]
    return [Edit.insert(offset, text)]


def _simple_statements(lines: Sequence[str]) -> list[str]:
    """The statements in some lines, each on one; nothing if one of them has a block of its own."""
    text = "\n".join(lines)
    statements = ast.parse(text).body
    if any(hasattr(statement, "body") for statement in statements):
        return []
    return [re.sub(r"\s*\n\s*", " ", ast.get_source_segment(text, statement) or "") for statement in statements]


def _broken(module: Module, block: list[ast.stmt], start: int, end: int, lines: Sequence[str]) -> list[Edit]:
    """Lines in place of the semicolon between two statements, or behind the last; a block goes below its header."""
    source = module.source
    begin = start_of(source, block[0])
    first = first_line_statement(module, block[0])
    below = source.newline(begin) + source.indentation(start_of(source, first))
    edits = []
    if first is not block[0]:
        below += source.indentation_step
        edits.append(Edit.replace((source.text.rindex(":", 0, begin) + 1, begin), below))
    closing = below if start < end else ""

    def between(text: str) -> str:
        known = text.removesuffix(below) if text.startswith(below) else ""
        return known + "".join(below + line for line in lines if line) + closing

    return [*edits, Edit(start, end, between)]


def _first_inside(statement: ast.stmt) -> ast.stmt:
    """The first statement of the block of a compound statement."""
    body: list[ast.stmt] = statement.body  # type: ignore[attr-defined]
    return body[0]


def shares_line(module: Module, statement: ast.stmt) -> bool:
    """Whether another statement of its block follows behind a semicolon."""
    following = module.block(statement)[module.index(statement) + 1 :]
    return bool(following) and _share_line(module.source, statement, following[0])


def remove(module: Module, statements: Iterable[ast.stmt], commented: Collection[ast.stmt] = ()) -> list[Edit]:
    """Take statements out of their blocks; a block that would be empty gets a ``pass``.

    The comment lines above go with those in ``commented``.
    """
    gone = dict.fromkeys(statements)
    blocks = {id(block): block for block in map(module.block, gone)}
    edits = []
    for block in blocks.values():
        at_top = isinstance(module.parent(block[0]), ast.Module)
        if not at_top and all(statement in gone for statement in block):
            *others, last = block
            edits += [Edit.delete(_stretch(module, [other], last, commented)) for other in others]
            edits.append(Edit.replace((start_of(module.source, last), module.source.span(last)[1]), "pass"))
            continue
        edits += [Edit.delete(stretch) for stretch in _stretches(module, block, gone, commented)]
    return edits


def _stretches(
    module: Module, block: list[ast.stmt], gone: Collection[ast.stmt], commented: Collection[ast.stmt]
) -> Iterator[tuple[int, int]]:
    """The stretches that go from a block: lines that follow each other are one, with a blank line around them."""
    source = module.source
    lines: tuple[int, int] | None = None
    is_first = False
    for run, following in _runs(source, block, gone):
        start, end = _stretch(module, run, following, commented)
        if source.line_start(start) != start or source.line_end(max(end - 1, start)) != end:
            yield start, end
            continue
        if lines is not None and lines[1] == start:
            lines = lines[0], end
            continue
        if lines is not None:
            yield _with_surroundings(source, *lines, is_first)
        lines = start, end
        is_first = run[0] is block[0] and not isinstance(module.parent(run[0]), ast.Module)
    if lines is not None:
        yield _with_surroundings(source, *lines, is_first)


def _runs(
    source: Source, block: list[ast.stmt], gone: Collection[ast.stmt]
) -> Iterator[tuple[list[ast.stmt], ast.stmt | None]]:
    """The statements that go, those on one line together, each with the statement that stays behind it there."""
    run: list[ast.stmt] = []
    for statement, following in zip(block, [*block[1:], None], strict=True):
        shares = following is not None and _share_line(source, statement, following)
        if statement in gone:
            run.append(statement)
        if run and not (shares and following in gone):
            yield run, following if shares else None
            run = []


def _stretch(
    module: Module, run: list[ast.stmt], following: ast.stmt | None, commented: Collection[ast.stmt]
) -> tuple[int, int]:
    """The stretch that goes with statements on one line: their lines, or their part of a line and the semicolons."""
    source = module.source
    start, end = start_of(source, run[0]), source.span(run[-1])[1]
    if following is not None and _share_line(source, run[-1], following):
        return start, start_of(source, following)
    line_start = source.line_start(start)
    before = source.text[line_start:start].rstrip(_AHEAD)
    if before:  # another statement and its semicolon
        return line_start + len(before.removesuffix(";")), end
    if run[0] in commented:
        line_start = _above_comments(source, line_start)
    return line_start, source.line_end(max(end - 1, start))


def _above_comments(source: Source, start: int) -> int:
    """The start of the comment lines directly above a line, or of the line itself."""
    index = source.position(start).line - 1
    while index and source.lines[index - 1].lstrip().startswith("#"):
        index -= 1
    return source.line_starts[index]


def _with_surroundings(source: Source, start: int, end: int, is_first: bool) -> tuple[int, int]:
    """Lines that go, with the comment above that is about nothing else, and with a blank line too many."""
    if _ends_paragraph(source, start, end):
        above = _above_comments(source, start)
        comments = source.text[above:start].splitlines()
        indentation = source.indentation(start)
        if comments and all(line.startswith(f"{indentation}#") for line in comments) and _is_outdated(comments):
            start = above
    return _with_blank_lines(source, start, end, is_first)


def _ends_paragraph(source: Source, start: int, end: int) -> bool:
    """Whether a blank line, a line further left or the end of the text follows on some lines."""
    below = source.text[end : source.line_end(end)]
    return not below.strip() or len(source.indentation(end)) < len(source.indentation(start))


def _is_outdated(comments: Sequence[str]) -> bool:
    """Whether comment lines speak of what no native script does, and are neither code nor meant for a program."""
    texts = [line.strip().lstrip("#").strip() for line in comments]
    if any(_FOR_PROGRAMS.match(line.strip()) or _is_code(text) for line, text in zip(comments, texts, strict=True)):
        return False
    return _OLD_WORDS.search(" ".join(texts)) is not None


def _is_code(text: str) -> bool:
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return False
    return not all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Name) for node in body)


def _with_blank_lines(source: Source, start: int, end: int, is_first: bool) -> tuple[int, int]:
    """Lines that go, with one blank line after them if a blank one or the head of their block stands before them.

    At the top of the text all blank lines go with them.
    """
    index = source.position(start).line - 1
    below = source.position(end).line - 1
    last = below
    while last < len(source.lines) and not source.lines[last].strip():
        last += 1
        if index:
            break
    above = source.lines[index - 1].strip() if index else ""
    if last > below and (not above or (is_first and above.endswith(":"))):
        return start, source.line_starts[last]
    return start, end


def unwrap(
    module: Module, statement: ast.With | ast.For | ast.If, branch: str = "body", others: Iterable[Edit] = ()
) -> Edit:
    """Put one block of a compound statement in its place, one step to the left; comments stay.

    ``others`` are edits around it: with the last line of the block goes its end, which lies behind the statement.
    """
    start, end = module.source.span(statement)
    indentation = module.source.indentation(start)
    end = max([end, *(edit.end for edit in others if start <= edit.start < end)])
    return Edit(start, end, lambda text: _unwrapped(text, indentation, branch))


def _unwrapped(text: str, indentation: str, branch: str) -> str:
    text = f"if 1:\n{indentation}{text}" if indentation else text
    source = Source(text)
    statement = source.tree.body[0].body[0] if indentation else source.tree.body[0]  # type: ignore[attr-defined]
    block: list[ast.stmt] = getattr(statement, branch)
    body_start = start_of(source, block[0])
    last_line = text[: source.line_end(source.span(block[-1])[1] - 1)]
    body_end = len(last_line.rstrip("\r\n"))
    behind = text[max(body_end, source.span(statement)[1]) :]
    colon = [token for token in source.tokens_between(0, body_start) if token.text == ":"][-1]
    line, newline, body = _split_line(text[colon.end : body_end])
    if source.line_start(body_start) <= colon.start:
        return text[body_start:body_end] + behind
    comment = line.strip()
    body = body[blank.end() :] if (blank := _BLANK.match(body)) else body
    kept = f"{comment}{newline}{indentation}" if comment else ""
    return kept + _dedent(body, indentation) + behind


_BLANK = re.compile(r"([ \t\f]*(\r\n|\r|\n))+")


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
    inside = string_lines(source)
    result = []
    for number, line in enumerate(source.lines[1:], start=2):
        if number in inside:
            result.append(line)
        elif line.lstrip("\f").startswith(step):
            result.append(indentation + line.lstrip("\f")[len(step) :])
        elif line.strip():
            result.append(indentation + line.lstrip(" \t"))
        else:
            result.append(line)
    return "".join(result)[len(indentation) :]


def string_lines(source: Source) -> set[int]:
    """The numbers, from 1, of the lines that start inside of a string."""
    lines: set[int] = set()
    inside = {part for node in ast.walk(source.tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Constant) and (node in inside or not isinstance(node.value, (str, bytes))):
            continue  # before Python 3.12 what is inside of an f-string has no place of its own
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            lines.update(range(node.lineno + 1, (node.end_lineno or node.lineno) + 1))
    for token in source.tokens:
        if token.kind == tokenize.STRING:
            first = source.position(token.start).line
            last = source.position(max(token.end - 1, token.start)).line
            lines.update(range(first + 1, last + 1))
    return lines
