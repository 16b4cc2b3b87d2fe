"""Takes the commands of `optimum-cli` for Neuron away.

Nothing is exported ahead of time, compiled graphs are not shared on the Hub, and checkpoints are whole: these steps
have nothing left to do. Where a later command uses what they wrote, a person has to say what it should use instead.

https://huggingface.co/docs/optimum-neuron/guides/export_model
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuron_codemods.data.launch import Row
from neuron_codemods.edits import Edit
from neuron_codemods.kinds.shell import Command, Shell, Word
from neuron_codemods.launch.exports import folders, row_of
from neuron_codemods.launch.lines import flag_name
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.project import Project
from neuron_codemods.texts import Change

RULE = Rule(
    code="NM405",
    name="optimum-cli",
    summary="Commands of optimum-cli for Neuron.",
    url="https://huggingface.co/docs/optimum-neuron/guides/export_model",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
    kind="shell",
)

_SERVE = {
    "dtype": "--dtype",
    "tensor_parallel_size": "--tensor-parallel-size",
    "batch_size": "--max-num-seqs",
    "sequence_length": "--max-model-len",
    "port": "--port",
    "served_model_name": "--served-model-name",
}


def check(shell: Shell, project: Project) -> Iterator[Change]:
    for command in shell.commands:
        row, index = row_of(command)
        if row is not None:
            yield from _change(shell, project, command, row, command.words[index:])


def _change(shell: Shell, project: Project, command: Command, row: Row, arguments: Sequence[Word]) -> Iterator[Change]:
    span = (command.start, command.end)
    if row.action == "rename":
        first, last = command.words[0], command.words[len(row.name.split()) - 1]
        edit = Edit.replace((first.start, last.end), row.native)
        yield Change(Outcome.REWRITTEN, span, f"{row.name} is {row.native} now.", (edit,))
        return
    if row.action == "serve":
        yield Change(Outcome.MANUAL, span, f"Serve with {_serving(arguments)}. {row.reason}")
        return
    made, given = folders(row, arguments)
    message = f"{row.name} goes. {row.reason}"
    if given and made:
        message += f" Load {given} where {made} was loaded." if made != given else ""
    edit_or_none = shell.remove(command.node)
    if edit_or_none is None:
        yield Change(Outcome.MANUAL, span, f"Take this out of what depends on it. {message}")
    elif made and made != given and _is_used(shell, made, span, project.around.code):
        yield Change(Outcome.MANUAL, span, message.replace(" goes.", " has nothing left to do.", 1))
    else:
        outcome = Outcome.REVIEW if row.action in ("export", "consolidate") else Outcome.REWRITTEN
        yield Change(outcome, span, message, (edit_or_none,))


def _is_used(shell: Shell, folder: str, span: tuple[int, int], around: str) -> bool:
    """Whether a folder is named anywhere else in the script, or in the text around it."""
    plain = folder.strip("\"'").rstrip("/")
    if not plain:
        return False
    before, after = shell.text[: span[0]], shell.text[span[1] :]
    if plain.startswith("$"):
        name = re.match(r"\$\{?(\w*)", plain)[1]  # type: ignore[index]
        return plain in after or bool(name and re.search(rf"\$(?:{name}\b|\{{{name}\}})", after))
    pattern = re.compile(rf"(?<![\w/.-]){re.escape(plain)}(?![\w.-])")
    if pattern.search(before) or pattern.search(after):
        return True
    loads = re.findall(rf"from_pretrained\(\s*[\"']{re.escape(plain)}/?[\"']", around)  # which another rule knows
    return len(pattern.findall(around)) - len(loads) > len(pattern.findall(shell.text))


def _serving(arguments: Sequence[Word]) -> str:
    """The command of vLLM with the same settings."""
    model, flags = "MODEL", []
    index = 0
    while index < len(arguments):
        word = arguments[index]
        name, value = flag_name(word) or ("model" if word.raw == "-m" else ""), word.raw.partition("=")[2]
        if not value and index + 1 < len(arguments) and not arguments[index + 1].raw.startswith("--"):
            index += 1
            value = arguments[index].raw
        if name == "model":
            model = value or model
        elif name in _SERVE:
            flags.append(f"{_SERVE[name]} {value}")
        index += 1
    return " ".join(["vllm serve", model, *flags])


CASES = (
    Case(
        "an export",
        """set -e
# compile the model
optimum-cli export neuron --model bert-base-uncased --batch_size 1 bert_neuron/

python other.py
""",
        "set -e\n\npython other.py\n",
        (Outcome.REVIEW,),
    ),
    Case(
        "a cache and a consolidation",
        "optimum-cli neuron cache set me/cache && python train.py\noptimum-cli neuron consolidate out out/whole\n",
        "python train.py\n",
        (Outcome.REWRITTEN, Outcome.REVIEW),
    ),
    Case(
        "a server",
        "optimum-cli neuron serve -m gpt2 --batch_size 4 --port 8000\n",
        "# TODO(neuron-migrate NM405): Serve with vllm serve gpt2 --max-num-seqs 4 --port 8000. vLLM for Neuron is a "
        "package of its own: https://huggingface.co/docs/optimum-neuron/guides/export_model\n"
        "optimum-cli neuron serve -m gpt2 --batch_size 4 --port 8000\n",
        (Outcome.MANUAL,),
    ),
    Case("another export", "optimum-cli export onnx --model gpt2 out/\n"),
    Case("a line that is printed", 'echo "run optimum-cli export neuron first"\n'),
    Case("a program of the same start", "optimum-client neuron cache set x\n"),
)
