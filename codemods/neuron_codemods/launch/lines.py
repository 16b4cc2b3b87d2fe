"""The launches in a shell script: which command starts which Python script, with which arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from neuron_codemods.data.launch import rows
from neuron_codemods.kinds.shell import Assignment, Command, Shell, Word
from neuron_codemods.project import ModuleFacts, Project
from neuron_codemods.source import MARKER

WRAPPER = "neuron_parallel_compile"
FALSE = frozenset(("false", "0", "no", "n", "f"))
"""How a flag says no."""

_LAUNCHERS = frozenset(
    (
        "torchrun",
        "accelerate",
        "deepspeed",
        WRAPPER,
        "srun",
        "mpirun",
        "nohup",
        "time",
        "exec",
        "env",
        "sudo",
        "numactl",
        "timeout",
        "nice",
        "xargs",
        "docker",
        "podman",
        "apptainer",
        "singularity",
        "poetry",
        "uv",
        "pipenv",
        "stdbuf",
    )
)
_PYTHON = re.compile(r"python[\d.]*")
_OUTSIDE = frozenset(("docker", "podman", "apptainer", "singularity", "sudo", "ssh", "kubectl", "mpirun"))
"""Commands that do not pass on their environment."""
_DISTINCT = frozenset(name for name in rows("neuron flag") if name not in ("tensor_parallel_size", "fuse_qkv"))


@dataclass(frozen=True, eq=False)
class Launch:
    """A command that starts a Python script."""

    command: Command
    launcher: int
    """The index of the word that starts the processes: ``torchrun`` in ``srun torchrun``."""
    script: int
    """The index of the script's word, or of the module behind ``-m``."""
    name: str
    """The file name of the script."""
    path: str
    launcher_path: str
    """The path of the file that the command stands in."""
    in_value: bool = False
    """Whether the command is the value of a variable, so that it cannot begin with an assignment."""

    @property
    def arguments(self) -> Sequence[Word]:
        """The words behind the script."""
        return self.command.words[self.script + 1 :]

    @property
    def passes_on(self) -> bool:
        """Whether the script sees the environment that the command gets."""
        words = self.command.words[: self.launcher]
        return not self.in_value and not any((word.value or "").rpartition("/")[2] in _OUTSIDE for word in words)


@lru_cache(maxsize=16)
def launches(shell: Shell) -> tuple[Launch, ...]:
    """All launches of a script, in order."""
    found = [launch for command in shell.commands for launch in _launch(shell, command)]
    for assignment in shell.assignments:  # CMD="torchrun train.py", which eval or an expansion runs
        if not assignment.is_array and len(assignment.words) > 1 and assignment.words[0].value is not None:
            words = assignment.words
            held = Command(words[0].start, words[-1].end, words, (), assignment.node)
            found += [replace(launch, in_value=True) for launch in _launch(shell, held)]
    known = {launch.command.start for launch in found}
    by_name = _by_name(shell, found)
    for command in shell.commands:
        for index, word in enumerate(command.words):
            meant = by_name.get(word.raw.strip("\"'"))
            if meant is not None and command.start not in known and (not index or _is_launcher(command.name)):
                found.append(replace(meant, command=command, launcher=index, script=index, in_value=False))
                break
    return tuple(found)


def _by_name(shell: Shell, found: Sequence[Launch]) -> dict[str, Launch]:
    """The launches that are started by an expansion of a variable, or by a function that gets the arguments."""
    names: dict[str, Launch] = {}
    for launch in found:
        if launch.in_value:
            name = shell.raw(launch.command.node.child_by_field_name("name"))
            names |= {f"${name}": launch, f"${{{name}}}": launch}
            continue
        node = launch.command.node.parent
        while node is not None and node.type != "function_definition":
            node = node.parent
        if node is not None and any(word.raw.strip('"') in ("$@", "$*") for word in launch.arguments):
            names[shell.raw(node.child_by_field_name("name"))] = launch
    return names


def _launch(shell: Shell, command: Command) -> Iterator[Launch]:
    words = command.words
    if not words or not (_is_launcher(command.name) or words[0].value is None):
        return
    launcher = 0
    for index, word in enumerate(words):
        known = shell.known(word) or ""
        name = known.rpartition("/")[2]
        if index and not launcher and (name in ("torchrun", "accelerate") or _PYTHON.fullmatch(name)):
            launcher = index
        text = known or word.raw.strip("\"'")
        if index and text.endswith(".py"):
            yield Launch(command, launcher, index, text.rpartition("/")[2], text, shell.path)
            return
        if index and (shell.known(words[index - 1]) == "-m") and not text.startswith(_MODULE_LAUNCHERS):
            path = text.replace(".", "/") + ".py"
            yield Launch(command, launcher, index, text.rpartition(".")[2] + ".py", path, shell.path)
            return


_MODULE_LAUNCHERS = ("torch.distributed", "accelerate.commands", "neuron_shim.simulate", "optimum.")


def _is_launcher(name: str) -> bool:
    return name in _LAUNCHERS or _PYTHON.fullmatch(name) is not None


def facts_of(launch: Launch, project: Project) -> ModuleFacts | None:
    """What is known of the script that is started."""
    return project.script(launch.name, launch.path, launch.launcher_path)


def sharded(shell: Shell) -> Iterator[tuple[str, str]]:
    """The scripts that are launched with flags that shard their models: file name and path."""
    for launch in launches(shell):
        words = list(launch.arguments)
        words += [word for held in variables_of(shell, launch.arguments) for word in held.words]
        if any(_shards(shell, words, index) for index in range(len(words))):
            yield launch.name, launch.path


def _shards(shell: Shell, words: Sequence[Word], index: int) -> bool:
    name = flag_name(words[index])
    value = flag_value(shell, words, index)
    return value != "1" if name == "tensor_parallel_size" else name == "zero_1" and value.lower() not in FALSE


def variables_of(shell: Shell, words: Sequence[Word]) -> list[Assignment]:
    """The assignments to the variables in some words, and to those in their values."""
    found: dict[str, list[Assignment]] = {}
    names = [name for word in words for name in word.variables]
    while names:
        name = names.pop()
        if name not in found:
            found[name] = shell.assigned(name)
            names += [inner for assignment in found[name] for word in assignment.words for inner in word.variables]
    return [assignment for assignments in found.values() for assignment in assignments]


def is_concerned(shell: Shell, launch: Launch, facts: ModuleFacts | None) -> bool:
    """Whether a script reads training arguments from its command line and is, or was, written for Optimum Neuron."""
    if facts is not None:
        return facts.script.parses
    if "vllm" in shell.text[launch.command.start : launch.command.end]:
        return False
    flags = {flag_name(word) for word in launch.arguments}
    for assignment in variables_of(shell, launch.command.words):
        flags |= {flag_name(word) for word in assignment.words}
    if flags & _DISTINCT or wraps(launch.command):
        return True
    return "tensor_parallel_size" in flags and re.search(r"(?i)neuron", MARKER.sub("", shell.text)) is not None


def is_of_neuron(shell: Shell, project: Project) -> bool:
    """Whether anything shows that a script is for Neuron, and not for another machine that torch_xla drives."""
    if project.around.is_of_neuron or re.search(r"(?i)neuron|optimum", MARKER.sub("", shell.text)):
        return True
    found = ((launch, facts_of(launch, project)) for launch in launches(shell))
    return any(facts is not None or is_concerned(shell, launch, facts) for launch, facts in found)


def wraps(command: Command) -> bool:
    """Whether a command is run by ``neuron_parallel_compile``."""
    return any((word.value or "").rpartition("/")[2] == WRAPPER for word in command.words)


def flag_name(word: Word) -> str:
    """The name in a flag, without dashes and value: ``zero_1`` for ``--zero-1=true``; empty if it is none."""
    if not word.raw.startswith("--"):
        return ""
    return word.raw[2:].partition("=")[0].replace("-", "_")


def flag_value(shell: Shell, words: Sequence[Word], index: int) -> str:
    """The value of the flag at an index, in its word or the next one; empty where it has none that is known."""
    if "=" in words[index].raw:
        return (words[index].value or "").partition("=")[2]
    return (shell.known(words[index + 1]) or "") if index + 1 < len(words) else ""
