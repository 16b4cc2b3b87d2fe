"""Reports commands and programs in strings, which cannot be rewritten there.

The program behind `bash -c`, `ssh` or `python -c` is migrated as one. In a string into which two shells put values, in
one whose reader is not known, and in a here-document into which the shell puts values, it is told, not rewritten.

https://pypi.org/project/neuron-migrate/
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuron_codemods.kinds.quoted import ONLY_SHOWN
from neuron_codemods.kinds.shell import Shell
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
    read = {program.start for program in shell.programs}
    for command in shell.commands:
        if command.name in ONLY_SHOWN:
            continue
        for word in command.words[1:]:
            found = _OLD.search(word.raw) if word.raw[:1] in ("'", '"') else None
            if found is not None and word.start not in read and re.search(r"\s", word.raw):
                yield Change(Outcome.MANUAL, (word.start, word.end), _MESSAGE.format(found[0]))
    for start, end in shell.closed:
        found = _OLD.search(shell.text, start, end)
        if found is not None:
            yield Change(Outcome.MANUAL, found.span(), _MESSAGE.format(found[0]))


CASES = (
    Case(
        "a command in a string",
        'srun bash -c "X=\\$Y torchrun $SCRIPT --zero_1"\n',
        "# TODO(neuron-migrate NM406): This program stands in a string, where it cannot be rewritten: --zero_1 is of "
        "Optimum Neuron: https://pypi.org/project/neuron-migrate/\n"
        'srun bash -c "X=\\$Y torchrun $SCRIPT --zero_1"\n',
        (Outcome.MANUAL,),
    ),
    Case("a program that is migrated as one", "srun bash -c 'torchrun train.py --zero_1'\n"),
    Case("a message", "echo 'torchrun train.py --zero_1'\n"),
    Case("a command in a string that has nothing to do with it", "bash -c 'torchrun train.py --bf16'\n"),
)
