"""Takes environment variables of the old stack out of scripts, each by its row in the table.

What only torch_xla, the old compiler wrapper or Optimum Neuron read goes; what the runtime and the network read stays;
`XLA_USE_BF16` goes, because `--bf16` says the same with weights in float32. Of `NEURON_CC_FLAGS` only the options of
the old wrapper go, and the folder of its `--cache_dir` is named by a variable of its own.

https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/reference/env-vars.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from neuron_codemods.data.variables import CACHE, FLAGS, Variable, variable
from neuron_codemods.edits import Edit
from neuron_codemods.kinds.shell import Assignment, Shell, Word
from neuron_codemods.launch.environment_words import Told, told
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
    r"--(?:cache_dir|cache-dir)(?:=|\s+)(?P<folder>\\?\"[^\"]*\"|'[^']*'|[^\s\"']+)|--retry_failed_compilation(?![\w-])"
)


def check(shell: Shell, project: Project) -> Iterator[Change]:
    if not is_of_neuron(shell, project):
        return
    found: list[Assignment | Told] = [*shell.assignments, *told(shell, _is_taken_out)]
    for assignment in found:
        row = variable(assignment.name)
        if row is not None:
            yield from _change(shell, assignment, row, project.around.text or shell.text)
    for node in shell.walk():
        if node.type == "unset_command":
            yield from _unset(shell, node)
        elif node.type == "declaration_command":
            yield from _exported(shell, node)


def _change(shell: Shell, assignment: Assignment | Told, row: Variable, whole: str) -> Iterator[Change]:
    span, name = (assignment.start, assignment.end), assignment.name
    message = row.message(name)
    if row.is_kept:
        return
    if name == FLAGS:
        if assignment.value is not None:
            yield from _flags(shell, assignment, assignment.value, whole)
    elif row.is_manual:
        yield Change(Outcome.MANUAL, span, message)
    elif _is_used(shell, assignment) and row.name not in _FOLDED:
        yield Change(Outcome.MANUAL, span, f"It is used below: change that with it. {message}")
    elif row.native and assignment.value is not None and assignment.value.raw.strip("\"'").startswith("s3:"):
        yield Change(Outcome.MANUAL, span, message)
    elif row.native:
        edit = Edit.replace((assignment.start, assignment.start + len(name)), row.native)
        yield Change(Outcome(row.outcome), span, message, (edit,))
    else:
        yield _gone(shell, assignment, row, message)


def _gone(shell: Shell, assignment: Assignment | Told, row: Variable, message: str) -> Change:
    span, edit = (assignment.start, assignment.end), _taken_out(shell, assignment)
    if edit is None:
        return Change(Outcome.MANUAL, span, f"Take this out of what depends on it. {message}")
    outcome = Outcome.REWRITTEN
    if assignment.value is not None and not (row.name in _BF16 and "--bf16" in shell.text):
        outcome = row.gone(assignment.value.value)
    return Change(outcome, span, message, (edit,))


_BF16 = ("XLA_USE_BF16", "XLA_DOWNCAST_BF16")
"""What a flag of the trainer says as well."""
_FOLDED = ("NEURON_EXTRACT_GRAPHS_ONLY", "NEURON_PARALLEL_COMPILE")
"""Their uses are another rule's."""


def _is_used(shell: Shell, assignment: Assignment | Told) -> bool:
    """Whether a variable is expanded anywhere but in its own assignments."""
    if isinstance(assignment, Told):
        return False  # the command sees it, not this script
    own = [(other.start, other.end) for other in shell.assigned(assignment.name)]
    found = re.finditer(rf"\$(?:{assignment.name}\b|\{{{assignment.name}\b)", shell.text)
    return any(not any(start <= match.start() < end for start, end in own) for match in found)


def _flags(shell: Shell, assignment: Assignment | Told, value: Word, whole: str) -> Iterator[Change]:
    found = list(_WRAPPER_OPTION.finditer(shell.text, value.start, value.end))
    if not found:
        return
    left = _left(value.raw)
    span = (assignment.start, assignment.end)
    folder = next((match["folder"] for match in found if match["folder"]), "")
    around = assignment.node.parent.type if isinstance(assignment, Assignment) else "command"
    named = re.fullmatch(r"[\w./~-]+", folder) and not re.search(_CACHES, whole) and around != _SEVERAL
    message = f"Options of the old compiler wrapper go.{f' {_FOLDER}' if folder else ''}"
    cache = f"{CACHE}={folder}" if named else ""
    if not left:
        exported = around in ("declaration_command", "command")
        edit = Edit.replace(span, cache if exported else f"export {cache}") if named else _taken_out(shell, assignment)
        edits: tuple[Edit, ...] = (edit,) if edit is not None else ()
    else:
        edits = tuple(Edit.delete(_with_space(shell, match, value.end)) for match in found)
        edits += (_beside(shell, assignment, cache),) if named else ()
    yield Change(Outcome.REVIEW if edits else Outcome.MANUAL, span, message, edits)


_FOLDER = f"{CACHE} names the folder of compiled graphs."
_SEVERAL = "variable_assignments"
"""A statement of the form ``A=1 B=2``."""
_CACHES = rf"{CACHE}|NEURON_COMPILE_CACHE_URL"


def _beside(shell: Shell, assignment: Assignment | Told, cache: str) -> Edit:
    """One more variable: exported on a line of its own below one that has its line, else in the same statement."""
    if isinstance(assignment, Told):
        return Edit.insert(assignment.after, assignment.another + cache)
    start, stop = shell.line_start(assignment.start), shell.line_end(assignment.end)
    before, behind = shell.text[start : assignment.start], shell.text[assignment.end : stop]
    if re.fullmatch(r"[ \t]*(?:export )?", before) and re.fullmatch(r"(?:[ \t]+#.*)?\r?\n", behind):
        return Edit.insert(stop, f"{shell.indentation(start)}export {cache}{shell.newline(start)}")
    return Edit.insert(assignment.end, f" {cache}")


def _left(flags: str) -> str:
    """What is left of the options for the compiler; nothing where they are those from before."""
    left = _WRAPPER_OPTION.sub("", flags).strip("\"' ")
    return "" if left in (f"${FLAGS}", f"${{{FLAGS}}}") else left


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


def _taken_out(shell: Shell, assignment: Assignment | Told) -> Edit | None:
    """Take an assignment out of its statement, or the statement away."""
    if isinstance(assignment, Told):
        return assignment.removal
    node = assignment.node
    parent = node.parent
    if parent.type in ("command", _SEVERAL):
        return _out_of_line(shell, node)
    if parent.type == "declaration_command":
        others = [child for child in parent.named_children if child != node]
        if not [child for child in others if not shell.raw(child).startswith("-")]:
            return shell.remove(parent)
        if not all(_goes(shell, child) for child in others):
            return Edit.delete((shell.span(node.prev_sibling)[1], assignment.end))
        return shell.remove(parent)
    return shell.remove(node)


def _out_of_line(shell: Shell, node: Any) -> Edit | None:
    """Take one of several assignments out of its line, or the line away where all of them go."""
    line: list[Any] = []
    for child in node.parent.named_children:
        if line and shell.breaks(shell.span(line[-1])[1], shell.span(child)[0]):
            break
        line.append(child)
    kept = [child for child in line if not _goes(shell, child)]
    start, end = shell.span(node)
    if kept and kept[0].start_byte < node.start_byte:
        return Edit.delete((shell.span(node.prev_named_sibling)[1], end))
    if kept:
        return Edit.delete((start, shell.span(node.next_named_sibling)[0]))
    if node.parent.type == _SEVERAL:
        return shell.remove(node.parent)
    first, last = shell.line_start(shell.span(line[0])[0]), shell.line_end(shell.span(line[-1])[1])
    is_whole = not (shell.text[first : shell.span(line[0])[0]] + shell.text[shell.span(line[-1])[1] : last]).strip()
    return Edit.delete((first, last)) if is_whole else None


def _goes(shell: Shell, node: Any) -> bool:
    return node.type == "variable_assignment" and _is_gone(shell.raw(node.child_by_field_name("name")))


def _is_gone(name: str) -> bool:
    row = variable(name)
    return row is not None and not (row.is_kept or row.is_manual or row.native)


def _is_taken_out(name: str, value: str) -> bool:
    return _is_gone(name) or (name == FLAGS and not _left(value) and "cache" not in value and value != "")


def _unset(shell: Shell, node: Any) -> Iterator[Change]:
    names = [shell.raw(child) for child in node.named_children if child.type == "variable_name"]
    if names and all(_is_gone(name) for name in names):
        edit = shell.remove(node)
        if edit is not None:
            yield Change(
                Outcome.REWRITTEN, shell.span(node), f"{', '.join(names)}: nothing reads it any more.", (edit,)
            )


def _exported(shell: Shell, node: Any) -> Iterator[Change]:
    """``export NAME`` of a variable that goes."""
    named = [child for child in node.named_children if not shell.raw(child).startswith("-")]
    if named and all(child.type == "variable_name" and _is_gone(shell.raw(child)) for child in named):
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
export TORCH_NEURONX_NEFF_CACHE_DIR=/tmp/cache
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
    Case(
        "in the words of a command",
        """srun --export=ALL,XLA_USE_BF16=0,FI_PROVIDER=efa env NEURON_FUSE_SOFTMAX=1 torchrun train.py
docker run --rm \\
  -e NEURON_CUSTOM_SILU=1 \\
  -e NEURON_COMPILE_CACHE_URL=/cache \\
  image
mpirun -np 2 -x FI_PROVIDER -x NEURON_FUSE_SOFTMAX env -u PJRT_DEVICE X=1 python train.py
""",
        """srun --export=ALL,FI_PROVIDER=efa torchrun train.py
docker run --rm \\
  -e TORCH_NEURONX_NEFF_CACHE_DIR=/cache \\
  image
mpirun -np 2 -x FI_PROVIDER env X=1 python train.py
""",
        (
            Outcome.REWRITTEN,
            Outcome.REWRITTEN,
            Outcome.REWRITTEN,
            Outcome.REVIEW,
            Outcome.REWRITTEN,
            Outcome.REWRITTEN,
        ),
    ),
    Case("what the runtime reads", "export NEURON_RT_LOG_LEVEL=INFO\nexport NEURON_CC_FLAGS=-O1\n"),
    Case("another variable", "# Neuron\nexport MY_XLA_USE_BF16=1\n"),
    Case("another machine", "PJRT_DEVICE=TPU XLA_USE_BF16=1 python train.py\n"),
    Case("a comment", "# export XLA_USE_BF16=1\n"),
    Case(
        "what a command is told of the network",
        "# Neuron\nmpirun -x FI_PROVIDER=efa env -i PATH=/bin python train.py\n",
    ),
    Case("words that are printed", "# Neuron\necho docker run -e XLA_USE_BF16=1 image\n"),
)
