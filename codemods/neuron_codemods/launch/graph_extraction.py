"""Folds conditions on `NEURON_EXTRACT_GRAPHS_ONLY` to the branch that trains.

`neuron_parallel_compile` set the variable, and scripts made few steps where it was set. Nothing sets it any more, so
the branch for an unset variable takes the place of the condition.

https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from neuron_codemods.edits import Edit
from neuron_codemods.kinds.shell import Shell
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.project import Project
from neuron_codemods.texts import Change

RULE = Rule(
    code="NM403",
    name="graph-extraction",
    summary="Conditions on NEURON_EXTRACT_GRAPHS_ONLY become the branch that trains.",
    url="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html",
    outcomes=(Outcome.REWRITTEN, Outcome.MANUAL),
    kind="shell",
)

_NAMES = r"NEURON_(?:EXTRACT_GRAPHS_ONLY|PARALLEL_COMPILE)"
_VARIABLE = rf"\"?x?\$(?:{_NAMES}|\{{{_NAMES}(?::?-(?P<default>[\w]*))?\}})\"?"
_COMPARED = re.compile(rf"{_VARIABLE}\s*(?P<operator>==?|!=|-eq|-ne|-gt)\s*[\"']?x?(?P<value>\w*)[\"']?")
_TESTED = re.compile(rf"(?:(?P<not>!)\s*)?(?:(?P<operator>-[nz])\s+)?{_VARIABLE}")
_NEVER = "NEURON_EXTRACT_GRAPHS_ONLY is never set now."
_MENTIONED = re.compile(rf"\$\{{?{_NAMES}\b")


def check(shell: Shell, project: Project) -> Iterator[Change]:
    if not re.search(_NAMES, shell.text):
        return
    seen: set[int] = set()
    for node in shell.walk():
        if node.type == "if_statement":
            yield from _folded(shell, node, seen)
        elif node.type == "list":
            yield from _short(shell, node, seen)
    for match in _MENTIONED.finditer(shell.text):
        inside = any(start <= match.start() < end for start, end in _spans(shell, seen))
        if not inside and not _in_comment(shell, match.start()):
            message = "Nothing sets this variable any more: take the branch that trains."
            yield Change(Outcome.MANUAL, match.span(), message)


def _spans(shell: Shell, starts: set[int]) -> list[tuple[int, int]]:
    return [shell.span(node) for node in shell.walk() if shell.at(node.start_byte) in starts and node.type in _FOLDED]


_FOLDED = ("if_statement", "list")


def _in_comment(shell: Shell, offset: int) -> bool:
    return any(token.start <= offset < token.end for token in shell.comments())


def _truth(text: str) -> bool | None:
    """What a test says where the variable is not set; None where it asks for something else too."""
    inner = re.fullmatch(
        r"(?P<not>!\s*)?(?:\[\[\s+(?P<a>.*?)\s+\]\]|\[\s+(?P<b>.*?)\s+\]|test\s+(?P<c>.*))", text, re.S
    )
    if inner is None:
        return None
    test = inner["a"] or inner["b"] or inner["c"] or ""
    compared, tested = _COMPARED.fullmatch(test), _TESTED.fullmatch(test)
    if compared is not None:
        value = compared["default"] or ""
        operator = compared["operator"]
        if operator.startswith("-"):
            result = {"-eq": (value or "0") == compared["value"], "-gt": False}.get(
                operator, (value or "0") != compared["value"]
            )
        else:
            result = (value == compared["value"]) == (operator != "!=")
    elif tested is not None:
        result = (bool(tested["default"]) == (tested["operator"] != "-z")) != bool(tested["not"])
    else:
        return None
    return result != bool(inner["not"])


def _alternative(text: str) -> str | None:
    """A test without the alternative that is never true: ``[[ $V == 1 || -n $D ]]`` is ``[[ -n $D ]]``."""
    test = re.fullmatch(r"\[\[(?P<before>\s+)(?P<test>.*?)(?P<behind>\s+)\]\]", text, re.S)
    parts = re.split(r"\s+\|\|\s+", test["test"]) if test is not None else []
    left = [part for part in parts if _truth(f"[[ {part} ]]") is not False]
    if test is None or not left or len(left) == len(parts) or any(map(_MENTIONED.search, left)):
        return None
    if any(re.search(r"&&|[()]", part) for part in parts):
        return None
    return f"[[{test['before']}{' || '.join(left)}{test['behind']}]]"


def _folded(shell: Shell, node: Any, seen: set[int]) -> Iterator[Change]:
    start, end = shell.span(node)
    then = next(child for child in node.children if child.type == "then")
    first = node.children[1]
    condition = shell.text[shell.span(first)[0] : shell.span(then)[0]].rstrip().removesuffix(";").rstrip()
    if not _MENTIONED.search(condition):
        return
    truth = _truth(condition)
    shorter = _alternative(condition)
    if shorter is not None:
        seen.add(start)
        place = shell.span(first)[0]
        span = (place, place + len(condition))
        yield Change(Outcome.REWRITTEN, span, _NEVER, (Edit.replace(span, shorter),))
        return
    clauses = [child for child in node.children if child.type in ("elif_clause", "else_clause")]
    if truth is None or (not truth and any(child.type == "elif_clause" for child in clauses)):
        return
    message = "NEURON_EXTRACT_GRAPHS_ONLY is never set now: the branch that trains takes the place of the condition."
    body = _body(shell, node, then, clauses) if truth else _else_body(shell, clauses)
    if body is None or not body.strip():
        edit = shell.remove(node)
    else:
        whole = body.strip("\r\n").strip() if _has_text(shell, node) else _dedented(body, shell.indentation(start))
        edit = Edit.replace((start, end), whole)
    if edit is not None:
        seen.add(start)
        yield Change(Outcome.REWRITTEN, (start, end), message, (edit,))


def _body(shell: Shell, node: Any, then: Any, clauses: list[Any]) -> str:
    stop = clauses[0] if clauses else node.children[-1]
    return shell.text[shell.span(then)[1] : shell.span(stop)[0]]


def _else_body(shell: Shell, clauses: list[Any]) -> str | None:
    if not clauses:
        return None
    clause = clauses[0]
    return shell.text[shell.span(clause.children[0])[1] : shell.span(clause)[1]]


def _has_text(shell: Shell, node: Any) -> bool:
    """Whether lines in a branch are the text of a string or a file, which keeps its indentation."""
    return any(
        child.type == "heredoc_redirect"
        or (child.type in ("string", "raw_string") and child.start_point[0] != child.end_point[0])
        for child in shell.walk(node)
    )


def _dedented(body: str, indentation: str) -> str:
    """The lines of a branch at the indentation of its condition."""
    lines = body.strip("\r\n").rstrip().splitlines(keepends=True)
    if len(lines) == 1:
        return lines[0].strip().removesuffix(";").rstrip()
    filled = [line for line in lines if line.strip()]
    step = min(len(line) - len(line.lstrip(" \t")) for line in filled)
    moved = [indentation + line[step:] if line.strip() else line for line in lines]
    return "".join(moved)[len(indentation) :]


def _short(shell: Shell, node: Any, seen: set[int]) -> Iterator[Change]:
    """``[ "$NEURON_EXTRACT_GRAPHS_ONLY" = 1 ] && MAX_STEPS=10``."""
    named = [child for child in node.children if child.is_named]
    operator = next((child.type for child in node.children if not child.is_named), "")
    start, end = shell.span(node)
    if len(named) != 2 or named[0].type not in ("test_command", "command") or start in seen:
        return
    condition = shell.raw(named[0])
    truth = _truth(condition) if _MENTIONED.search(condition) else None
    if truth is None or operator not in ("&&", "||"):
        return
    if truth and operator == "&&":
        edit: Edit | None = Edit.delete((start, shell.span(named[1])[0]))
    elif truth:
        edit = shell.remove(node)
    else:
        edit = _false(shell, named[0])
    if edit is not None:
        seen.add(start)
        yield Change(Outcome.REWRITTEN, (start, end), _NEVER, (edit,))


def _false(shell: Shell, node: Any) -> Edit | None:
    """Take away a condition that does not hold, with all that only follows where it does."""
    while node.parent is not None and node.parent.type == "list":
        named = [child for child in node.parent.children if child.is_named]
        operator = next(child.type for child in node.parent.children if not child.is_named)
        if operator == "||":
            return Edit.delete((shell.span(node)[0], shell.span(named[1])[0]))
        node = node.parent
    return shell.remove(node)


CASES = (
    Case(
        "a condition with two branches",
        """if [ "$NEURON_EXTRACT_GRAPHS_ONLY" = "1" ]; then
    MAX_STEPS=5
else
    MAX_STEPS=-1  # all
fi
""",
        "MAX_STEPS=-1  # all\n",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "a condition with one branch",
        """STEPS=-1
if [[ "${NEURON_EXTRACT_GRAPHS_ONLY:-0}" == "1" ]]; then
  STEPS=5
fi
python train.py
""",
        "STEPS=-1\npython train.py\n",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "before another condition",
        'if [ "$NEURON_EXTRACT_GRAPHS_ONLY" = "1" ] || [ -n "$DEBUG" ]; then S=5; fi\n',
        'if [ -n "$DEBUG" ]; then S=5; fi\n',
        (Outcome.REWRITTEN,),
    ),
    Case(
        "as one of two alternatives",
        'if [[ "${NEURON_EXTRACT_GRAPHS_ONLY:-0}" == "1" || $MODE == compile ]]; then S=5; fi\n',
        "if [[ $MODE == compile ]]; then S=5; fi\n",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "together with another condition",
        'if [ "$NEURON_EXTRACT_GRAPHS_ONLY" = 1 -a "$A" = 1 ]; then S=5; fi\n',
        "# TODO(neuron-migrate NM403): Nothing sets this variable any more: take the branch that trains: "
        "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html\n"
        'if [ "$NEURON_EXTRACT_GRAPHS_ONLY" = 1 -a "$A" = 1 ]; then S=5; fi\n',
        (Outcome.MANUAL,),
    ),
    Case("a condition on a file", "if [ -f neuron.json ]; then S=5; fi\n"),
    Case("another condition", 'if [ "$DEBUG" = "1" ]; then S=5; fi\n'),
    Case("a comment", "# NEURON_EXTRACT_GRAPHS_ONLY is gone\nS=5\n"),
    Case("another variable", 'if [ "$NEURON_EXTRACT_GRAPHS" = 1 ]; then S=5; fi\n'),
)
