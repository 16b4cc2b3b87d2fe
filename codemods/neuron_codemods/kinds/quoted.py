"""Programs that stand in one word of a shell command, and the quoting that they come back in.

``bash -c '...'``, ``python -c "..."``, ``ssh host '...'``, ``su -c '...'``, ``sbatch --wrap '...'``, ``eval '...'``,
also behind ``srun``, ``docker run`` and what else starts programs. What the outer shell puts into a program stays as
it is; a program into which both shells put values is left alone.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from neuron_codemods.texts import Region, mapped

if TYPE_CHECKING:
    from neuron_codemods.kinds.shell import Command, Shell

SHELLS = frozenset(("bash", "sh", "zsh"))
ONLY_SHOWN = frozenset(("echo", "printf", "grep", "sed", "awk", "git", "logger", "rg", "pkill", "pgrep"))
"""Commands that do not run the words they are given."""

_PYTHON = re.compile(r"python[\d.]*")
_OPTION = re.compile(r"-[A-Za-z]*c")
_SSH_VALUES = frozenset(f"-{letter}" for letter in "BbcDEeFIiJLlmOoPpRSWw")
"""Options of ssh with a value behind them."""
_ESCAPED = re.compile(r"\\([\\\"$`])")
_PLAIN_QUOTED = re.compile(r"'([^'\"$`\\!]*)'")


def programs(shell: Shell, command: Command) -> Iterator[Region]:
    """The programs in the words of a command that can be read and written again."""
    if command.name in ONLY_SHOWN:
        return
    nodes = {shell.span(node)[0]: node for node in command.node.named_children}
    for kind, index in _places(command):
        word = command.words[index]
        read = _read(word.raw, word.value, nodes[word.start].type)
        if read is not None:
            text, written = read
            place = mapped(shell, word.start + 1)
            yield Region(kind, word.start, word.end, text, _restoring(kind, written), place, lifted=True)


def _restoring(kind: str, written: Callable[[str], str]) -> Callable[[str, Any], str]:
    return lambda text, _: written(text or ("true" if kind == "shell" else "pass"))


def _places(command: Command) -> Iterator[tuple[str, int]]:
    """The words that are programs, each with what it is."""
    said = [(word.value or "").rpartition("/")[2] for word in command.words]
    if said[:1] == ["eval"] and len(said) == 2:
        yield "shell", 1
    if said[:1] == ["ssh"]:
        yield from _behind_host(command)
    for index in range(len(said) - 2):
        is_shell, is_python = said[index] in SHELLS, _PYTHON.fullmatch(said[index])
        if said[index] == "sbatch" and "--wrap" in said[:-1]:
            yield "shell", said.index("--wrap") + 1
        elif is_shell or is_python or said[index] in ("su", "runuser"):
            option = index + 1
            while option + 1 < len(said) and not _OPTION.fullmatch(said[option]):
                if not (command.words[option].raw.startswith("-") or said[index] in ("su", "runuser")):
                    break
                option += 2 if said[option] == "-o" else 1
            if option + 1 < len(said) and _OPTION.fullmatch(said[option]):
                yield "python" if is_python else "shell", option + 1
                return


def _behind_host(command: Command) -> Iterator[tuple[str, int]]:
    index = 1
    while index < len(command.words) and command.words[index].raw.startswith("-"):
        index += 2 if command.words[index].raw in _SSH_VALUES else 1
    if index + 2 == len(command.words):
        yield "shell", index + 1


def _read(raw: str, value: str | None, kind: str) -> tuple[str, Callable[[str], str]] | None:
    """A program in a word, and how one is written in its place; None where that is not certain."""
    if kind == "raw_string":
        return raw[1:-1], _in_single_quotes
    if kind == "string":
        return _in_double_quotes(raw[1:-1])
    if kind == "concatenation" and value is not None and "\\\n" not in raw:
        return value, shlex.quote
    return None


def _in_single_quotes(text: str) -> str:
    if "'" in text:
        text = _PLAIN_QUOTED.sub(r'"\1"', text).replace("'", "'\\''")
    return f"'{text}'"


def _in_double_quotes(raw: str) -> tuple[str, Callable[[str], str]] | None:
    inner, outer = "\\$" in raw, re.search(r"(?<!\\)(?:\\\\)*\$", raw) is not None
    if (inner and outer) or "`" in raw or "$(" in raw:
        return None
    escaped = r'(["$])' if inner else r'(["])'

    def written(text: str) -> str:
        text = re.sub(r"\\(?!\r?\n)", r"\\\\", text)
        return '"' + re.sub(escaped, r"\\\1", text) + '"'

    text = _ESCAPED.sub(r"\1", raw)
    return (text, written) if written(text) == f'"{raw}"' else None
