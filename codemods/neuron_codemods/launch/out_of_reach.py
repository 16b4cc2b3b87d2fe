"""Reports commands and programs in strings, which cannot be rewritten there.

A string of `bash -c`, `ssh` or `python -c` is a program in another one, and so is a here-document into which the shell
puts values: what stands in it is told, not rewritten.

https://pypi.org/project/neuron-migrate/
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuron_codemods.kinds.shell import Shell
from neuron_codemods.launch.lines import ONLY_SHOWN
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.project import Project
from neuron_codemods.texts import Change

RULE = Rule(
    code="NM406",
    name="out-of-reach",
    summary="Commands and programs in strings that use Optimum Neuron.",
    url="https://pypi.org/project/neuron-migrate/",
    outcomes=(Outcome.MANUAL,),
    kind="shell",
)

_OLD = re.compile(
    r"optimum\.(?:exporters\.)?neuron|optimum-cli\s+(?:export\s+)?neuron|neuron_parallel_compile|--zero[_-]1\b"
    r"|XLA_USE_BF16|NEURON_EXTRACT_GRAPHS_ONLY"
)
_MESSAGE = "This program stands in a string, where it cannot be rewritten: {} is of Optimum Neuron."


def check(shell: Shell, project: Project) -> Iterator[Change]:
    for command in shell.commands:
        if command.name in ONLY_SHOWN:
            continue
        for word in command.words[1:]:
            found = _OLD.search(word.raw) if word.raw[:1] in ("'", '"') else None
            if found is not None and re.search(r"\s", word.raw):
                yield Change(Outcome.MANUAL, (word.start, word.end), _MESSAGE.format(found[0]))
    for start, end in shell.closed:
        found = _OLD.search(shell.text, start, end)
        if found is not None:
            yield Change(Outcome.MANUAL, found.span(), _MESSAGE.format(found[0]))


CASES = (
    Case(
        "a command in a string",
        "srun bash -c 'torchrun train.py --zero_1'\n",
        "# TODO(neuron-migrate NM406): This program stands in a string, where it cannot be rewritten: --zero_1 is of "
        "Optimum Neuron: https://pypi.org/project/neuron-migrate/\nsrun bash -c 'torchrun train.py --zero_1'\n",
        (Outcome.MANUAL,),
    ),
    Case("a message", "echo 'torchrun train.py --zero_1'\n"),
    Case("a command in a string that has nothing to do with it", "bash -c 'torchrun train.py --bf16'\n"),
)
