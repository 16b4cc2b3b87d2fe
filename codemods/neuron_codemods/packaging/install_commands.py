"""Moves what `pip install` and `uv` install from the stack of Optimum Neuron to the native one.

What holds for requirements files holds on a command line, in shell scripts, Dockerfiles and notebooks. A command that
has nothing left to install goes, and one that installs `torch-neuronx` names the index of AWS.

https://awsdocs-neuron.readthedocs-hosted.com/en/v2.33.0/setup/pytorch/update-manual.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from neuron_codemods.edits import Edit
from neuron_codemods.kinds.shell import Command, Shell, Word
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.project import Project
from neuron_codemods.requirements import stack
from neuron_codemods.requirements.entries import Entry
from neuron_codemods.requirements.plan import Decision, decide
from neuron_codemods.texts import Change

RULE = Rule(
    code="NM505",
    name="install-command",
    summary="pip install and uv commands install the native stack.",
    url=stack.URL,
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
    kind="shell",
)

_INSTALLS = re.compile(r"(?:(?:sudo|env|time|exec|python[\d.]*|-[EHm]) )*(?:pip[\d.]*|uv pip|uv) (?:install|add)")
_WITH_VALUE = frozenset(
    (
        *("-r", "--requirement", "-c", "--constraint", "-i", "--index-url", "--extra-index-url", "-f", "--find-links"),
        *(
            "-t",
            "--target",
            "--prefix",
            "--root",
            "--python",
            "-p",
            "--timeout",
            "--retries",
            "--cache-dir",
            "--proxy",
        ),
        *("--platform", "--index", "--default-index", "--group", "--extra", "--index-strategy", "--no-binary"),
        *(
            "--only-binary",
            "--progress-bar",
            "--trusted-host",
            "--proxy",
            "--src",
            "--log",
            "-b",
            "--upgrade-strategy",
        ),
    )
)


def check(shell: Shell, project: Project) -> Iterator[Change]:
    """The decisions about each command by itself: a script may set up more than one environment."""
    for command in shell.commands:
        first = _first_argument(command)
        if first:
            yield from _command(shell, command, first, project)


def _command(shell: Shell, command: Command, first: int, project: Project) -> Iterator[Change]:
    words = {Entry(word.value or "", (word.start, word.end)): number for number, word in _requirements(command, first)}
    decisions = decide(words, project)
    new = {each.entry: each.new for each in decisions if each.new is not None}
    if len(new) == len(words) and not any(new.values()) and not _installs_a_file(command, first):
        yield from _whole(shell, command, decisions)
        return
    index = _index(shell, command, first, new)
    gone = shell.removals(command.words, [(words[entry],) * 2 for entry, left in new.items() if not left])
    for decision in decisions:
        edits: tuple[Edit, ...] = ()
        if decision.new:
            edits = (Edit.replace(decision.entry.span, " ".join(map(_quoted, decision.new))),)
        elif decision.new is not None:
            edits = (gone[(words[decision.entry],) * 2],)
        yield Change(decision.outcome, decision.entry.span, decision.message, (*edits, *index))
        index = ()


def _first_argument(command: Command) -> int:
    """Where the arguments of an installing command begin; 0 if it is none."""
    said = ""
    for number, word in enumerate(command.words):
        name = (word.value or word.raw.strip("\"'")).rpartition("/")[2]
        if number > 6 or not name or "$" in name:
            return 0
        said = f"{said} {name}".lstrip()
        if _INSTALLS.fullmatch(said):
            return number + 1
    return 0


def _requirements(command: Command, first: int) -> Iterator[tuple[int, Word]]:
    skipped = False
    for number, word in enumerate(command.words[first:], start=first):
        value = word.value or ""
        if skipped or not value or value.startswith("-"):
            skipped = value in _WITH_VALUE and not skipped
        elif not value.startswith((".", "/", "~")):
            yield number, word


def _installs_a_file(command: Command, first: int) -> bool:
    """Whether the command installs something that is no requirement: a file of them, a folder, an expansion."""
    words = command.words[first:]
    return any(
        word.value is None or word.value.startswith((".", "/", "~", "-r", "--requirement", "-e", "--editable"))
        for word in words
    )


def _whole(shell: Shell, command: Command, decisions: Sequence[Decision]) -> Iterator[Change]:
    removal = shell.remove(command.node)
    for number, decision in enumerate(decisions):
        edits = (removal,) if removal is not None and not number else ()
        outcome = Outcome.MANUAL if removal is None else decision.outcome
        yield Change(outcome, decision.entry.span, decision.message, edits)


def _index(shell: Shell, command: Command, first: int, new: Mapping[Entry, Sequence[str]]) -> tuple[Edit, ...]:
    text = shell.text[command.start : command.end]
    added = any(each.startswith("torch-neuronx") for group in new.values() for each in group)
    missing = [index for index in (stack.NEURON_INDEX, stack.TORCH_INDEX) if index not in text]
    if not added or not missing:
        return ()
    option = "--index" if command.words[first - 1].value == "add" else "--extra-index-url"
    return (Edit.insert(command.words[first - 1].end, "".join(f" {option} {index}" for index in missing)),)


def _quoted(requirement: str) -> str:
    return f"'{requirement}'" if re.search(r"[^\w.,:/@+~-]", requirement.replace("==", "")) else requirement


CASES = (
    Case(
        "pip install",
        'pip install -U "optimum-neuron[neuronx]" trl==0.11.4 datasets\n',
        "pip install --extra-index-url https://pip.repos.neuron.amazonaws.com "
        "--extra-index-url https://download.pytorch.org/whl/cpu -U 'torch-neuronx==2.14.*' 'neuronx-cc==2.*' nki "
        "'transformers>=5.24' 'accelerate>=1.15' 'trl>=1.16' datasets\n",
        (Outcome.REVIEW, Outcome.REWRITTEN),
    ),
    Case(
        "a command with nothing left",
        "set -e\npython -m pip install neuronx-distributed libneuronxla\npip install pandas\n",
        "set -e\npip install pandas\n",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "over several lines",
        "uv pip install --extra-index-url https://pip.repos.neuron.amazonaws.com \\\n"
        "  torch-neuronx==2.8.0 \\\n  libneuronxla \\\n  -r requirements.txt\n",
        "uv pip install --extra-index-url https://download.pytorch.org/whl/cpu "
        "--extra-index-url https://pip.repos.neuron.amazonaws.com \\\n"
        "  'torch-neuronx==2.14.*' \\\n  -r requirements.txt\n",
    ),
    Case("the native stack", "pip install 'torch-neuronx==2.14.*' transformers\n"),
    Case("another command", "echo pip install optimum-neuron\ngrep optimum-neuron requirements.txt\n"),
    Case("no Neuron", "pip install torch-xla transformers==4.57.1\n"),
    Case("what is not known before the script runs", "pip install $PACKAGES\n"),
)
