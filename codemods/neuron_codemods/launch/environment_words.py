"""Environment variables that words of a command set, pass on or unset for the command that it starts.

``env X=1``, ``env -u X``, ``sudo X=1``, ``docker run -e X=1``, ``kubectl run --env=X=1``, ``mpirun -x X``,
``srun --export=ALL,X=1``, ``apptainer exec --env X=1,Y=2``, also in an array or a string that such a command gets,
and in the ``#SBATCH`` lines of a job.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from neuron_codemods.edits import Edit
from neuron_codemods.kinds.quoted import ONLY_SHOWN
from neuron_codemods.kinds.shell import Shell, Word
from neuron_codemods.launch.lines import variables_of

_CONTAINERS = ("docker", "podman", "nerdctl")
_MPI = ("mpirun", "mpiexec", "orterun", "prterun")
_SLURM = ("srun", "sbatch", "salloc")
_APPTAINER = ("apptainer", "singularity")
_OPTIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_CONTAINERS, ("--env", "-e")),
    **dict.fromkeys(_MPI, ("-x",)),
    **dict.fromkeys(_SLURM, ("--export",)),
    **dict.fromkeys(_APPTAINER, ("--env",)),
    "kubectl": ("--env",),
}
"""The options with a variable behind them, by program."""
_LISTS = frozenset((*_SLURM, *_APPTAINER))
"""Programs that take several variables in one word, with commas between them."""
_UNSETS = {"env": ("-u", "--unset"), "sudo": ()}
"""Programs that take variables before the command, with their options that unset one."""
_WITH_VALUE = {"env": ("-C", "--chdir"), "sudo": ("-u", "-g", "-p", "-C", "-D", "-R", "-h")}
_VARIABLE = re.compile(r"(?P<quote>[\"']?)(?P<name>[A-Za-z_]\w*)(?:(?P<sign>=)|(?P=quote)\Z)")
_BATCH = re.compile(r"#SBATCH.*?--export[= ](?P<variables>\S+)")


@dataclass(frozen=True, eq=False)
class Told:
    """A variable that a command is told to set, to pass on or to unset."""

    name: str
    start: int
    end: int
    """From its name to the end of its value."""
    value: Word | None
    """None where it is passed on or unset."""
    another: str
    """What stands before another one."""
    after: int
    """Where another one may stand."""
    removal: Edit | None
    """What takes it out, if it is one that goes and nothing depends on it."""


@dataclass(frozen=True)
class _Place:
    """The words that go with a variable, the first and the last, and where in the last it stands."""

    words: tuple[int, int]
    offset: int
    another: str


Goes = Callable[[str, str], bool]
"""Whether a variable of some name, set to some text, is one that is taken out."""


def told(shell: Shell, goes: Goes) -> Iterator[Told]:
    """The variables in the words of all commands."""
    seen: set[int] = set()
    for command in shell.commands:
        if command.name in ONLY_SHOWN:
            continue
        for prefix in _UNSETS:
            yield from _prefixed(shell, command.words, prefix, goes)
        programs = [name for word in command.words if (name := _program(word)) in _OPTIONS]
        if not programs:
            continue
        yield from _optional(shell, command.words, programs, goes)
        for held in variables_of(shell, command.words):
            if held.start not in seen:
                seen.add(held.start)
                yield from _optional(shell, held.words, programs, goes, array=held.is_array)
    for token in shell.comments():
        found = _BATCH.match(token.text)
        if found is not None:
            start, end = (token.start + offset for offset in found.span("variables"))
            yield from _listed(Word(start, end, found["variables"], found["variables"]), 0, goes)


def _program(word: Word) -> str:
    return (word.value or "").rpartition("/")[2]


def _prefixed(shell: Shell, words: Sequence[Word], prefix: str, goes: Goes) -> Iterator[Told]:
    """What stands between ``env`` and the command that it starts."""
    first = next((index for index, word in enumerate(words) if _program(word) == prefix), len(words))
    places: list[_Place] = []
    index, has_options = first + 1, False
    while index < len(words):
        raw = words[index].raw
        option, sign, _ = raw.partition("=")
        if option in _UNSETS[prefix]:
            last = min(index + (not sign), len(words) - 1)
            places.append(_Place((index, last), len(option) + 1 if sign else 0, " "))
        elif raw.startswith("-"):
            last, has_options = index + (raw in _WITH_VALUE[prefix]), True
        elif re.match(rf"{_VARIABLE.pattern}(?<==)", raw):
            last = index
            places.append(_Place((index, last), 0, " "))
        else:
            break
        index = last + 1
    gone = [place for place in places if _goes(words[place.words[1]], place.offset, goes)]
    if prefix == "env" and gone == places and places and not has_options and index < len(words):
        whole = replace(places[0], words=(first, places[0].words[1]))  # nothing is left for it to do
        places[0] = gone[0] = whole
    yield from _each(shell, words, places, gone)


def _optional(
    shell: Shell, words: Sequence[Word], programs: Sequence[str], goes: Goes, *, array: bool = False
) -> Iterator[Told]:
    """What stands behind the options of some programs."""
    places: list[_Place] = []
    options = dict.fromkeys(option for program in programs for option in _OPTIONS[program])
    for index, word in enumerate(words):
        for option in options:
            if word.raw == option and index + 1 < len(words):
                place = _Place((index, index + 1), 0, f" {option} ")
            elif word.raw.startswith(f"{option}="):
                place = _Place((index, index), len(option) + 1, f" {option}=")
            else:
                continue
            if _LISTS.isdisjoint(programs):
                places.append(place)
            else:
                yield from _listed(words[place.words[1]], place.offset, goes)
    gone = [place for place in places if _goes(words[place.words[1]], place.offset, goes)]
    yield from _each(shell, words, places, gone, array=array)


def _each(
    shell: Shell, words: Sequence[Word], places: Sequence[_Place], gone: Sequence[_Place], *, array: bool = False
) -> Iterator[Told]:
    removals = shell.removals(words, [place.words for place in gone], array=array)
    for place in places:
        yield from _told(words[place.words[1]], place.offset, place.another, removals.get(place.words))


def _told(word: Word, offset: int, another: str, removal: Edit | None) -> Iterator[Told]:
    found = _VARIABLE.match(word.raw, offset)
    if found is None:
        return
    start, end = word.start + found.start("name"), word.end - len(found["quote"])
    value = None
    if found["sign"]:
        known = None if word.value is None else word.value[offset:].partition("=")[2]
        value = Word(word.start + found.end(), end, word.raw[found.end() : len(word.raw) - len(found["quote"])], known)
    yield Told(found["name"], start, end, value, another, word.end, removal)


def _goes(word: Word, offset: int, goes: Goes) -> bool:
    found = _VARIABLE.match(word.raw, offset)
    return found is not None and goes(found["name"], word.raw[found.end() :])


def _listed(word: Word, offset: int, goes: Goes) -> Iterator[Told]:
    """The variables of a word with commas between them; they cannot all go: no list says something else."""
    raw, start = word.raw[offset:], word.start + offset
    if raw[:1] == raw[-1:] and raw[:1] in ("'", '"'):
        raw, start = raw[1:-1], start + 1
    said = re.split(r",(?=[A-Za-z_])", raw)
    if any(each.count(quote) % 2 for each in said for quote in "'\""):
        return  # a comma in a value
    parts: list[Word] = []
    for raw in said:
        parts.append(Word(start, start + len(raw), raw, None if word.value is None else raw))
        start += len(raw) + 1
    gone = [_goes(part, 0, goes) for part in parts]
    for index, part in enumerate(parts):
        removal = None
        if all(gone[: index + 1]) and not all(gone):
            removal = Edit.delete((part.start, parts[index + 1].start))
        elif gone[index] and index:
            removal = Edit.delete((parts[index - 1].end, part.end))
        yield from _told(part, 0, ",", removal if not all(gone) else None)
