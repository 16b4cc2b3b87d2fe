"""Which launches only compile: those wrapped by ``neuron_parallel_compile``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from neuron_codemods.kinds.shell import Assignment, Command, Shell, Word
from neuron_codemods.launch.lines import WRAPPER, launches, wraps

_VALUED = frozenset(("--command", "--num_parallel", "--num-parallel"))


@dataclass(frozen=True)
class Precompiled:
    """The wrapped commands of a script."""

    doomed: frozenset[int]
    """Where the commands start that go: the same launch follows without the wrapper, or the cache is managed."""
    unwrapped: tuple[tuple[Command, int], ...]
    """The others, each with the index of the first word of what they wrap."""


@lru_cache(maxsize=16)
def precompiled(shell: Shell, launched: frozenset[str]) -> Precompiled:
    """The wrapped commands of a script; ``launched`` are scripts that are also launched around it as they are."""
    doomed: set[int] = set()
    unwrapped: list[tuple[Command, int]] = []
    names = {launch.command.start: launch.name for launch in launches(shell)}
    last: dict[tuple[str, int], int] = {}
    """Where the last launch of a script as it is starts, in each block."""
    for launch in launches(shell):
        if not wraps(launch.command):
            key = (launch.name, next(_around(launch.command)))
            last[key] = max(last.get(key, 0), launch.command.start)
    for command in shell.commands:
        index = _wrapper(command)
        if index is None:
            continue
        inner = _inner(command, index)
        if inner is None:
            doomed.add(command.start)
            continue
        name = names.get(command.start)
        # A launch in the same block, or in one around it, runs whenever this command does.
        follows = name is not None and any(last.get((name, block), 0) > command.end for block in _around(command))
        if name in launched or follows:
            doomed.add(command.start)
        else:
            unwrapped.append((command, inner))
    return Precompiled(frozenset(doomed), tuple(unwrapped))


def _wrapper(command: Command) -> int | None:
    for index, word in enumerate(command.words):
        if (word.value or "").rpartition("/")[2] == WRAPPER:
            return index
    return None


def _inner(command: Command, wrapper: int) -> int | None:
    """The index of the first word that is wrapped; None where the wrapper only manages its cache."""
    index = wrapper + 1
    words = command.words
    while index < len(words) and words[index].raw.startswith("-"):
        index += 2 if words[index].raw in _VALUED else 1
    return index if index < len(words) else None


def _around(command: Command) -> Iterator[int]:
    """The block that a command stands in, and those around it."""
    block = command.node.parent
    while block.type in ("list", "redirected_statement", "pipeline"):
        block = block.parent
    while block is not None:
        yield block.id
        block = block.parent


def wrapping_words(shell: Shell) -> Iterator[tuple[Word, Assignment]]:
    """The wrapper where it is a word in the value of a variable."""
    for assignment in shell.assignments:
        for word in assignment.words:
            if (word.value or "").rpartition("/")[2] == WRAPPER:
                yield word, assignment
