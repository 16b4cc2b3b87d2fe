"""The commands of ``optimum-cli``: which row of the table they have, what they read and what they write."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuron_codemods.data.launch import Row, rows
from neuron_codemods.kinds.shell import Command, Shell, Word
from neuron_codemods.launch.lines import flag_name, flag_value
from neuron_codemods.project import COMPILED_FOR, Compiled

_SWITCHES = frozenset(
    (
        "trust_remote_code",
        "dynamic_batch_size",
        "disable_validation",
        "output_hidden_states",
        "output_attentions",
        "disable_weights_neff_inline",
        "disable_neuron_cache",
        "inline_weights_neff",
        "disable_fast_relayout",
        "disable_fallback",
    )
)
_LISTS = frozenset(("lora_model_ids", "lora_weight_names", "lora_adapter_names", "lora_scales", "controlnet_ids"))


def exported(shell: Shell) -> Iterator[Compiled]:
    """The folders that a script exports models to, where folder and model are known; the folder as it is written."""
    for command in shell.commands:
        row, index = row_of(command)
        if row is not None and row.action == "export":
            arguments = command.words[index:]
            known = {word.raw: shell.known(word) for word in arguments}
            folder, model = folders(row, arguments)
            if known.get(folder) and (known.get(model) or model in known):
                settings = tuple(_settings(shell, arguments))
                yield Compiled(known[folder] or "", known.get(model) or model, settings)


def _settings(shell: Shell, arguments: Sequence[Word]) -> Iterator[tuple[str, str | int]]:
    for index, word in enumerate(arguments):
        name = flag_name(word)
        if name in COMPILED_FOR:
            value = flag_value(shell, arguments, index)
            if value:
                yield name, int(value) if value.isdecimal() else value


def row_of(command: Command) -> tuple[Row | None, int]:
    """The row of a command, and the index of its first argument."""
    said = [
        (word.value or "").rpartition("/")[2] if number == 0 else word.value
        for number, word in enumerate(command.words)
    ]
    if said and said[0] and re.fullmatch(r"python[\d.]*", said[0]):
        said[0] = "python"
    for row in rows("command").values():
        parts = row.name.split()
        if row.action not in ("keep", "unwrap") and said[: len(parts)] == parts:
            return row, len(parts)
    return None, 0


def folders(row: Row, arguments: Sequence[Word]) -> tuple[str, str]:
    """What a command writes, and what it reads."""
    if row.action not in ("export", "consolidate"):
        return "", ""
    given, free = "", []
    index = 0
    while index < len(arguments):
        word = arguments[index]
        name = flag_name(word) or ("model" if word.raw == "-m" else "format" if word.raw == "-f" else "")
        if not word.raw.startswith("-"):
            free.append(word.raw)
        elif name == "model":
            given = word.raw.partition("=")[2]
            if not given and index + 1 < len(arguments):
                index += 1
                given = arguments[index].raw
        elif name and "=" not in word.raw and name not in _SWITCHES:
            index += 1
            while name in _LISTS and index + 1 < len(arguments) and not arguments[index + 1].raw.startswith("-"):
                index += 1
        index += 1
    if row.action == "export":
        return (free[-1] if free else ""), given
    return (free[1] if len(free) > 1 else ""), (free[0] if free else "")
