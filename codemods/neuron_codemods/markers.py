"""The comments this tool writes and reads: markers for what a person must do, and suppressions."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from neuron_codemods.module import Module
from neuron_codemods.source import Source, Token
from neuron_codemods.statements import first_line_statement, start_of

_MARKER = re.compile(r"#\s*(?P<kind>TODO|NOTE)\(neuron-migrate (?P<code>NM\d{3})\): (?P<message>.*)")
_ADDRESS = re.compile(r" ?: https?://\S+$")
_LISTED = re.compile(r" \([\w., ]*\)")
_SUPPRESSION = re.compile(r"#\s*neuron-migrate:\s*(?P<what>ignore-file|ignore)\s*(?:\[(?P<codes>[^\]]*)\])?")


@dataclass(frozen=True)
class Marker:
    """A comment that this tool left in an earlier run."""

    code: str
    message: str
    line: int
    token: Token
    is_manual: bool


@dataclass(eq=False)
class Suppression:
    """A comment with which a person keeps rules away from a statement, or from the file."""

    codes: tuple[str, ...]
    """Prefixes of codes; none means all."""
    token: Token
    whole_file: bool
    first: int = 0
    last: int = 0
    used: bool = False

    def covers(self, code: str, line: int) -> bool:
        inside = self.whole_file or self.first <= line <= self.last
        return inside and (not self.codes or any(code.startswith(prefix) for prefix in self.codes))


def format_marker(code: str, message: str, url: str, *, manual: bool = True) -> str:
    """The one comment line for a finding."""
    kind = "TODO" if manual else "NOTE"
    text = " ".join(message.split())
    line = (
        f"# {kind}(neuron-migrate {code}): {text.rstrip('.')}: {url}"
        if url
        else f"# {kind}(neuron-migrate {code}): {text}"
    )
    # ``coding:`` in the first two lines of a file would be read as the name of its encoding.
    return re.sub(r"coding(?=[:=])", "coding ", line)


@dataclass(frozen=True)
class Matched:
    """What the comment of an earlier run says."""

    code: str
    message: str
    is_manual: bool


def said(message: str) -> str:
    """What a message or a marker says, without the address behind it and the names that it lists in parentheses."""
    text = _LISTED.sub("", _ADDRESS.sub("", " ".join(message.split())).rstrip("."))
    return re.sub(r"coding(?=[:=])", "coding ", text)


def match(comment: str) -> Matched | None:
    """What a comment says, if this tool wrote it."""
    found = _MARKER.match(comment)
    return Matched(found["code"], found["message"], found["kind"] == "TODO") if found else None


def markers(source: Source) -> Iterator[Marker]:
    """The markers in a text, in order."""
    if "neuron-migrate" not in source.text:
        return
    for token in source.comments:
        found = match(token.text)
        if found is not None:
            yield Marker(found.code, found.message, source.position(token.start).line, token, found.is_manual)


def suppressions(module: Module) -> list[Suppression]:
    """The suppressions in a text; one on a line of its own is about the statement below it."""
    found: list[Suppression] = []
    if "neuron-migrate" not in module.source.text:
        return found
    starts, owners = _owners(module)
    for token in module.source.comments:
        suppression = suppression_in(token)
        if suppression is None:
            continue
        suppression.first, suppression.last = _lines(module, token, starts, owners)
        found.append(suppression)
    return found


def suppression_in(comment: Token) -> Suppression | None:
    """The suppression in a comment, without the lines that it covers."""
    found = _SUPPRESSION.search(comment.text)
    if found is None:
        return None
    codes = tuple(code.strip() for code in (found["codes"] or "").split(",") if code.strip())
    return Suppression(codes, comment, found["what"] == "ignore-file")


def _lines(module: Module, token: Token, starts: list[int], owners: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """The lines of the statement that a comment belongs to."""
    source = module.source
    line = source.position(token.start).line
    own_line = not source.lines[line - 1][: token.start - source.line_starts[line - 1]].strip()
    if own_line:
        following = bisect_right(starts, line)
        line = starts[following] if following < len(starts) else line
    return owners.get(line, (line, line))


def _owners(module: Module) -> tuple[list[int], dict[int, tuple[int, int]]]:
    """The lines that start statements, and for each line those of the innermost header it is in."""
    owners: dict[int, tuple[int, int]] = {}
    for node in module.names.statements:
        last = header_end(node)
        owners.update(dict.fromkeys(range(node.lineno, last + 1), (node.lineno, last)))
    return sorted({node.lineno for node in module.names.statements}), owners


def header_end(statement: ast.stmt) -> int:
    """The last line of a statement, or of the header of a compound one."""
    body = getattr(statement, "cases" if isinstance(statement, ast.Match) else "body", None)
    if not isinstance(body, list):
        return statement.end_lineno or statement.lineno
    inner = (ast.stmt, ast.ExceptHandler, ast.match_case)
    head = (
        node for child in ast.iter_child_nodes(statement) if not isinstance(child, inner) for node in ast.walk(child)
    )
    ends = (getattr(node, "end_lineno", None) or 0 for node in head)
    first = getattr(body[0], "lineno", 0)  # a case has no place
    return max(statement.lineno, first - 1, *ends)


def _is_comment(source: Source, line: int) -> bool:
    return bool(line) and source.lines[line - 1].lstrip().startswith("#")


def marked_above(module: Module, statement: ast.stmt) -> list[Marker]:
    """The markers in the comment lines directly above the line of a statement."""
    source = module.source
    first = first_line_statement(module, statement)
    line = source.position(start_of(source, first)).line - 1
    found: list[Marker] = []
    by_line = {marker.line: marker for marker in markers(source)} if _is_comment(source, line) else {}
    while by_line and line and source.lines[line - 1].lstrip().startswith("#"):
        if line in by_line:
            found.append(by_line[line])
        line -= 1
    return found


def is_beside(module: Module, marker: Marker, statement: ast.stmt) -> bool:
    """Whether a marker may be left for a statement: an earlier run wrote others between them, or moved a value."""
    index = bisect_right(module.statement_starts, marker.token.start)
    block = module.block(module.names.statements[min(index, len(module.names.statements) - 1)])
    return any(above in block for above in (statement, *module.ancestors(statement)))
