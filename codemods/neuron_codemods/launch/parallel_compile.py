"""Takes `neuron_parallel_compile` off launch lines.

It ran a script on fake data to compile its graphs; TorchNeuron compiles while the script runs. Where the same launch
follows without it, the wrapped one goes, because it would train a second time; elsewhere the wrapper goes.

https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.edits import Edit
from neuron_codemods.kinds.shell import Assignment, Shell, Word
from neuron_codemods.launch.lines import WRAPPER
from neuron_codemods.launch.precompiled import precompiled, wrapping_words
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.project import Project
from neuron_codemods.texts import Change

RULE = Rule(
    code="NM402",
    name="parallel-compile",
    summary="neuron_parallel_compile goes, with the launch that it wraps if the same one follows.",
    url="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
    kind="shell",
)


def check(shell: Shell, project: Project) -> Iterator[Change]:
    found = precompiled(shell, project.around.launched)
    for command in shell.commands:
        if command.start in found.doomed:
            span = (command.start, command.end)
            edit = shell.remove(command.node)
            if edit is None:
                yield Change(Outcome.MANUAL, span, f"{WRAPPER} is gone: take this out of what depends on it.")
            else:
                yield Change(Outcome.REWRITTEN, span, f"{WRAPPER} goes, with what it only compiled.", (edit,))
    for command, inner in found.unwrapped:
        first = next(word for word in command.words if (word.value or "").rpartition("/")[2] == WRAPPER)
        edit = Edit.delete((first.start, command.words[inner].start))
        message = f"{WRAPPER} goes: what it ran on fake data to compile is now run as it is, and saves what it trains."
        yield Change(Outcome.REVIEW, (first.start, first.end), message, (edit,))
    for word, assignment in wrapping_words(shell):
        span = (word.start, word.end)
        edit = _pointless(shell, assignment, word)
        if edit is None:
            place = (assignment.words.index(word),) * 2
            edit = shell.removals(assignment.words, (place,), array=assignment.is_array)[place]
        yield Change(Outcome.REWRITTEN, span, f"{WRAPPER} goes.", (edit,))


def _pointless(shell: Shell, assignment: Assignment, wrapper: Word) -> Edit | None:
    """Take away a condition that does nothing but assign once more what the variable has already."""
    condition = assignment.node.parent
    if condition is None or condition.type != "if_statement" or condition.type == "elif_clause":
        return None
    then = next((child for child in condition.children if child.type == "then"), None)
    body = [child for child in condition.children if child.is_named and then and child.start_byte > then.start_byte]
    if [child for child in body if child.type != "comment"] != [assignment.node]:
        return None
    left = [word.raw for word in assignment.words if word is not wrapper]
    before = [other for other in shell.assigned(assignment.name) if other.end < assignment.start]
    if not before or [word.raw for word in before[-1].words] != left:
        return None
    return shell.remove(condition)


CASES = (
    Case(
        "the same launch follows",
        """set -e
# compile
neuron_parallel_compile torchrun --nproc_per_node 8 train.py --max_steps 10

# train
torchrun --nproc_per_node 8 train.py --max_steps 1000
""",
        """set -e

# train
torchrun --nproc_per_node 8 train.py --max_steps 1000
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "only the wrapped launch",
        "set -e\nneuron_parallel_compile --num_parallel 8 python train.py\n",
        "set -e\npython train.py\n",
        (Outcome.REVIEW,),
    ),
    Case(
        "in a variable",
        'LAUNCHER="neuron_parallel_compile torchrun"\n$LAUNCHER train.py\n',
        'LAUNCHER="torchrun"\n$LAUNCHER train.py\n',
        (Outcome.REWRITTEN,),
    ),
    Case(
        "a condition that only compiled",
        """LAUNCHER=torchrun
if [ "$COMPILE" = 1 ]; then
  LAUNCHER="neuron_parallel_compile torchrun"
fi
$LAUNCHER train.py
""",
        "LAUNCHER=torchrun\n$LAUNCHER train.py\n",
        (Outcome.REWRITTEN,),
    ),
    Case("a comment about it", "# no neuron_parallel_compile here\npython train.py\n"),
    Case("a word that is printed", "echo 'neuron_parallel_compile is gone'\n"),
    Case("a file of the same name", "source neuron_parallel_compile.env\n"),
    Case("another wrapper", "accelerate launch train.py\n"),
)
