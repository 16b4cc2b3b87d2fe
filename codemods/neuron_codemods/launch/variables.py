"""Takes environment variables of the old stack out of scripts, each by its row in the table.

What only torch_xla, the old compiler wrapper or Optimum Neuron read goes; what the runtime and the network read stays;
`XLA_USE_BF16` goes, because `--bf16` says the same with weights in float32. Of `NEURON_CC_FLAGS` only the options of
the old wrapper go.

https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/reference/env-vars.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Any

from neuron_codemods.data.launch import Row, rows
from neuron_codemods.edits import Edit
from neuron_codemods.kinds.shell import Assignment, Shell
from neuron_codemods.launch.lines import is_of_neuron
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.project import Project
from neuron_codemods.texts import Change

RULE = Rule(
    code="NM404",
    name="environment-variable",
    summary="Environment variables of the old stack.",
    url="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/reference/env-vars.html",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
    kind="shell",
)

_WRAPPER_OPTION = re.compile(
    r"--(?:cache_dir|cache-dir)(?:=|\s+)(?:\\?\"[^\"]*\"|'[^']*'|[^\s\"']+)|--retry_failed_compilation(?![\w-])"
)


def row_of(name: str) -> Row | None:
    """The row of a variable; some names are patterns."""
    table = rows("variable")
    return table.get(name) or next((row for key, row in table.items() if "*" in key and fnmatch(name, key)), None)


def check(shell: Shell, project: Project) -> Iterator[Change]:
    if not is_of_neuron(shell, project):
        return
    for assignment in shell.assignments:
        row = row_of(assignment.name)
        if row is not None:
            yield from _change(shell, assignment, row)
    for node in shell.walk():
        if node.type == "unset_command":
            yield from _unset(shell, node)
        elif node.type == "declaration_command":
            yield from _exported(shell, node)


def _change(shell: Shell, assignment: Assignment, row: Row) -> Iterator[Change]:
    span = (assignment.start, assignment.end)
    name = assignment.name
    if row.action == "keep":
        return
    if row.action in ("manual", "container"):
        yield Change(Outcome.MANUAL, span, f"{name}: {row.reason}")
    elif row.action == "flags":
        yield from _flags(shell, assignment, row)
    elif row.action == "rename":
        yield from _renamed(assignment, row, Outcome.REWRITTEN)
    elif row.action == "cache":
        value = assignment.value.raw.strip("\"'")
        if value.startswith("s3:") or re.search(rf"\$\{{?{name}\b", shell.text):
            yield Change(Outcome.MANUAL, span, f"{name} is called {row.native} now. {row.reason}")
        else:
            yield from _renamed(assignment, row, Outcome.REVIEW)
    elif _is_used(shell, assignment) and row.name not in _FOLDED:
        yield Change(Outcome.MANUAL, span, f"{name} goes, but it is used below. {row.reason}")
    else:
        edit = _taken_out(shell, assignment)
        if edit is None:
            yield Change(Outcome.MANUAL, span, f"{name} goes. {row.reason}")
            return
        on = assignment.value.value not in ("0", "", "false", "False")
        review = row.action == "bf16" and on and "--bf16" not in shell.text
        yield Change(Outcome.REVIEW if review else Outcome.REWRITTEN, span, f"{name} goes. {row.reason}", (edit,))


_FOLDED = ("NEURON_EXTRACT_GRAPHS_ONLY", "NEURON_PARALLEL_COMPILE")
"""Their uses are another rule's."""


def _is_used(shell: Shell, assignment: Assignment) -> bool:
    """Whether a variable is expanded anywhere but in its own assignments."""
    own = [(other.start, other.end) for other in shell.assigned(assignment.name)]
    found = re.finditer(rf"\$(?:{assignment.name}\b|\{{{assignment.name}\b)", shell.text)
    return any(not any(start <= match.start() < end for start, end in own) for match in found)


def _renamed(assignment: Assignment, row: Row, outcome: Outcome) -> Iterator[Change]:
    start = assignment.start
    edit = Edit.replace((start, start + len(assignment.name)), row.native)
    message = f"{assignment.name} is called {row.native}. {row.reason}".strip()
    yield Change(outcome, (start, assignment.end), message, (edit,))


def _flags(shell: Shell, assignment: Assignment, row: Row) -> Iterator[Change]:
    value = assignment.value
    found = list(_WRAPPER_OPTION.finditer(shell.text, value.start, value.end))
    if not found:
        return
    left = _WRAPPER_OPTION.sub("", value.raw).strip("\"' ")
    span = (assignment.start, assignment.end)
    message = f"Options of the old compiler wrapper go. {row.reason}"
    if left in ("", f"${assignment.name}", f"${{{assignment.name}}}"):
        edit = _taken_out(shell, assignment)
        edits: tuple[Edit, ...] = (edit,) if edit is not None else ()
    else:
        edits = tuple(Edit.delete(_with_space(shell, match, value.end)) for match in found)
    yield Change(Outcome.REVIEW if edits else Outcome.MANUAL, span, message, edits)


def _with_space(shell: Shell, match: re.Match[str], end: int) -> tuple[int, int]:
    """An option with the white space before it, or behind it at the start of the value."""
    start, stop = match.span()
    before = start
    while shell.text[before - 1] in " \t":
        before -= 1
    if before < start and shell.text[before - 1] not in "\"'":
        return before, stop
    while stop < end and shell.text[stop] in " \t":
        stop += 1
    return start, stop


def _taken_out(shell: Shell, assignment: Assignment) -> Edit | None:
    """Take an assignment out of its statement, or the statement away."""
    node = assignment.node
    parent = node.parent
    if parent.type == "command":
        following = next(
            (child for child in parent.children if child.start_byte >= node.end_byte and child.is_named), None
        )
        if following is None:
            return None
        return Edit.delete((assignment.start, shell.span(following)[0]))
    if parent.type == "declaration_command":
        others = [child for child in parent.named_children if child != node]
        if not [child for child in others if not shell.raw(child).startswith("-")]:
            return shell.remove(parent)
        if not all(_goes(shell, child) for child in others):
            return Edit.delete((shell.span(node.prev_sibling)[1], assignment.end))
        return shell.remove(parent)
    if parent.type == "variable_assignments":
        following = node.next_named_sibling
        if following is not None:
            return Edit.delete((assignment.start, shell.span(following)[0]))
        return Edit.delete((shell.span(node.prev_sibling)[1], assignment.end))
    return shell.remove(node)


def _goes(shell: Shell, node: Any) -> bool:
    if node.type != "variable_assignment":
        return False
    row = row_of(shell.raw(node.child_by_field_name("name")))
    return row is not None and row.action in ("drop", "bf16")


def _unset(shell: Shell, node: Any) -> Iterator[Change]:
    names = [shell.raw(child) for child in node.named_children if child.type == "variable_name"]
    found = [row for row in map(row_of, names) if row is not None and row.action in ("drop", "bf16", "container")]
    if found and len(found) == len(names):
        edit = shell.remove(node)
        if edit is not None:
            yield Change(
                Outcome.REWRITTEN, shell.span(node), f"{', '.join(names)}: nothing reads it any more.", (edit,)
            )


def _exported(shell: Shell, node: Any) -> Iterator[Change]:
    """``export NAME`` of a variable that goes."""
    named = [child for child in node.named_children if not shell.raw(child).startswith("-")]
    rows_of = [row_of(shell.raw(child)) for child in named if child.type == "variable_name"]
    if (
        named
        and len(rows_of) == len(named)
        and all(row is not None and row.action in ("drop", "bf16") for row in rows_of)
    ):
        edit = shell.remove(node)
        if edit is not None:
            yield Change(Outcome.REWRITTEN, shell.span(node), "Nothing reads it any more.", (edit,))


CASES = (
    Case(
        "what goes and what stays",
        """export NEURON_FUSE_SOFTMAX=1
export NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS=3
export NEURON_CC_FLAGS="--model-type transformer --retry_failed_compilation --cache_dir=/tmp/cache"
export MALLOC_ARENA_MAX=64

XLA_USE_BF16=1 torchrun train.py --bf16
""",
        """export NEURON_CC_FLAGS="--model-type transformer"
export MALLOC_ARENA_MAX=64

torchrun train.py --bf16
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.REVIEW, Outcome.REWRITTEN),
    ),
    Case(
        "one of several",
        "# Neuron\nexport FI_PROVIDER=efa XLA_USE_BF16=1 MALLOC_ARENA_MAX=64\n",
        "# Neuron\nexport FI_PROVIDER=efa MALLOC_ARENA_MAX=64\n",
        (Outcome.REVIEW,),
    ),
    Case(
        "the only statement of a block",
        'if [ "$FUSE" = 1 ]; then\n    export NEURON_FUSE_SOFTMAX=1\nfi\n',
        'if [ "$FUSE" = 1 ]; then\n    :\nfi\n',
        (Outcome.REWRITTEN,),
    ),
    Case("what the runtime reads", "export NEURON_RT_LOG_LEVEL=INFO\nexport NEURON_CC_FLAGS=-O1\n"),
    Case("another variable", "# Neuron\nexport MY_XLA_USE_BF16=1\n"),
    Case("another machine", "PJRT_DEVICE=TPU XLA_USE_BF16=1 python train.py\n"),
    Case("a comment", "# export XLA_USE_BF16=1\n"),
)
