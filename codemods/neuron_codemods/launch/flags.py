"""Takes the flags of Optimum Neuron off launch lines and renames those that transformers 5 and TRL 1 renamed.

A native script refuses flags it does not know. The tensor parallel size goes before the launcher as TP_SIZE, where
`parallel_sizes()` reads it; a script with adapters gets TP_SIZE=1, because PEFT cannot shard them. Flags that the
script defines itself stay, and so do those of scripts that nothing shows to be written for Optimum Neuron.

https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from neuron_codemods import needles
from neuron_codemods.data.launch import Row, rows
from neuron_codemods.edits import Edit
from neuron_codemods.kinds.quoted import ONLY_SHOWN
from neuron_codemods.kinds.shell import Command, Shell, Word
from neuron_codemods.launch.lines import FALSE, Launch, facts_of, flag_name, is_concerned, launches, variables_of
from neuron_codemods.launch.precompiled import precompiled
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.project import ModuleFacts, Project
from neuron_codemods.texts import Change

RULE = Rule(
    code="NM401",
    name="launch-flag",
    summary="Flags of Optimum Neuron, transformers 4 and TRL 0 on launch lines.",
    url="https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
    kind="shell",
)

UNMISTAKABLE = frozenset(needles.FLAGS)
"""Flags that no other program has."""
_INSIDE = re.compile(rf"--(?:{'|'.join(sorted(UNMISTAKABLE))})\b")

ASYNC = "HF_DEACTIVATE_ASYNC_LOAD"
_TRUE = frozenset(("true", "1", "yes", "y", "t"))


@dataclass(frozen=True)
class _Words:
    """Words that are arguments of launches: those of a command, of a string, or of an array."""

    words: Sequence[Word]
    first: int
    """The index of the first argument."""
    array: bool = False
    end: int = 0
    """Where the array ends."""


@dataclass(eq=False)
class _Moved:
    """What goes before the launcher."""

    variables: dict[str, str] = field(default_factory=dict)
    changes: int = 0


def check(shell: Shell, project: Project) -> Iterator[Change]:
    doomed = precompiled(shell, project.around.launched).doomed
    seen: dict[int, _Moved] = {}
    handled: set[int] = set()
    for launch in launches(shell):
        facts = facts_of(launch, project)
        handled |= {word.start for words in _arguments(shell, launch) for word in words.words}
        if launch.command.start in doomed or not is_concerned(shell, launch, facts):
            continue
        yield from _at_launch(shell, launch, facts, seen)
    for command in shell.commands:
        if any(flag_name(word) for word in command.words[:1]) and command.node.parent == shell.root:
            handled |= {word.start for word in command.words}
            yield from _of_another(shell, command)
    yield from _elsewhere(shell, handled)


def _of_another(shell: Shell, command: Command) -> Iterator[Change]:
    """Arguments that reach a launch which stands elsewhere, as those of CMD below an ENTRYPOINT."""
    if UNMISTAKABLE.isdisjoint(map(flag_name, command.words)):
        return
    moved = _Moved()
    yield from _in_words(shell, _Words(command.words, 0), None, moved)
    for name, value in moved.variables.items():
        message = f"These arguments are of a launch that stands elsewhere: set {name}={value} for it."
        yield Change(Outcome.REVIEW, (command.start, command.end), message)


def _at_launch(shell: Shell, launch: Launch, facts: ModuleFacts | None, seen: dict[int, _Moved]) -> Iterator[Change]:
    moved = _Moved()
    for words in _arguments(shell, launch):
        key = words.words[words.first].start
        if key not in seen:
            seen[key] = _Moved()
            changes = list(_in_words(shell, words, facts, seen[key]))
            yield from (replace(each, launch=launch.name) for each in _with_comments(shell, words, changes))
        moved.variables.update(seen[key].variables)
        moved.changes += seen[key].changes
    yield from _before(shell, launch, facts, moved)


def _elsewhere(shell: Shell, handled: set[int]) -> Iterator[Change]:
    """Flags that only Optimum Neuron had, where no launch of a script is seen to get them."""
    holders = [command.words for command in shell.commands if command.name not in ONLY_SHOWN]
    holders += [assignment.words for assignment in shell.assignments]
    for word in (word for words in holders for word in words):
        row, _ = row_of(flag_name(word))
        if row is not None and row.name in UNMISTAKABLE and word.start not in handled:
            handled.add(word.start)
            message = f"{word.raw} is a flag of Optimum Neuron: take it out of what reaches the script."
            yield Change(Outcome.MANUAL, (word.start, word.end), message)
        elif word.value is None and not word.raw.startswith(("--", '"', "'")):
            found = _INSIDE.search(word.raw)
            if found is not None:
                message = f"{found[0]} is a flag of Optimum Neuron: take it out of this expansion."
                yield Change(Outcome.MANUAL, (word.start, word.end), message)


def _arguments(shell: Shell, launch: Launch) -> Iterator[_Words]:
    """Everything that holds arguments of a launch."""
    if launch.arguments:
        yield _Words(launch.command.words, launch.script + 1)
    for assignment in variables_of(shell, launch.arguments):
        if assignment.words:
            yield _Words(assignment.words, 0, assignment.is_array, assignment.value.end)


def _in_words(shell: Shell, words: _Words, facts: ModuleFacts | None, moved: _Moved) -> Iterator[Change]:
    own = facts.script.flags if facts is not None else frozenset()
    found: list[tuple[Change, tuple[int, int], Edit]] = []
    index = words.first
    while index < len(words.words):
        name = flag_name(words.words[index])
        row, negated = row_of(name, tunes=facts is not None and facts.script.tunes)
        if row is None or name in own or row.name in own:
            index += 1
            continue
        last, value = _value(shell, words, index, row)
        gone = Edit.delete((words.words[index].start, words.words[last].end))
        changes = _change(shell, words, (index, last), row, value, facts, moved, gone, negated=negated)
        found += ((change, (index, last), gone) for change in changes)
        index = last + 1
    taken = [place for change, place, gone in found if gone in change.edits]
    removals = shell.removals(words.words, taken, array=words.array)
    for change, place, gone in found:
        yield replace(change, edits=tuple(removals[place] if edit is gone else edit for edit in change.edits))


def _with_comments(shell: Shell, words: _Words, changes: list[Change]) -> Iterator[Change]:
    """The changes to an array, of which the last takes the comments away that were about nothing else."""
    edited = [change for change in changes if change.edits]
    if not words.array or not edited:
        yield from changes
        return
    last = edited[-1]
    gone = [edit for change in edited for edit in change.edits if edit.deletes]
    orphans = tuple(Edit.delete(span) for span in _orphans(shell, words, gone))
    yield from (replace(change, edits=(*change.edits, *orphans)) if change is last else change for change in changes)


def _orphans(shell: Shell, words: _Words, gone: Sequence[Edit]) -> Iterator[tuple[int, int]]:
    """Lines of comments in an array, with nothing left below them up to the next comment or empty line."""
    comments: list[tuple[int, int]] = []
    taken = left = 0
    line = shell.line_start(words.words[0].start)
    while line and shell.text[shell.line_start(line - 1) : line].lstrip().startswith("#"):
        line = shell.line_start(line - 1)
    while line < words.end:
        stop = shell.line_end(line)
        content = shell.text[line:stop].strip()
        if not content or (content.startswith("#") and taken + left) or stop >= words.end:
            yield from comments if taken and not left else ()
            comments, taken, left = [], 0, 0
        if content.startswith("#"):
            comments.append((line, stop))
        elif content:
            is_gone = any(edit.start <= line and stop <= edit.end for edit in gone)
            taken, left = taken + is_gone, left + (not is_gone)
        line = stop


def row_of(name: str, *, tunes: bool = False) -> tuple[Row | None, bool]:
    """The row of a flag, and whether it is the negated form of it: ``no_zero_1``.

    ``tunes`` says that the flag is for an ``SFTConfig``.
    """
    for sort in ("neuron flag", "flag", *(["sft flag"] if tunes else [])):
        table = rows(sort)
        if name in table:
            return table[name], False
        if name.startswith("no_") and name[3:] in table and table[name[3:]].takes == "bool":
            return table[name[3:]], True
    return None, False


def _value(shell: Shell, words: _Words, index: int, row: Row) -> tuple[int, Word | None]:
    """The index of the last word of a flag, and its value."""
    word = words.words[index]
    if "=" in word.raw:
        offset = word.raw.index("=") + 1
        value = None if word.value is None else word.value.partition("=")[2]
        return index, Word(word.start + offset, word.end, word.raw[offset:], value)
    if index + 1 < len(words.words):
        following = words.words[index + 1]
        if row.takes == "value" and not following.raw.startswith("--"):
            return index + 1, following
        if row.takes == "bool" and (shell.known(following) or "").lower() in _TRUE | FALSE:
            return index + 1, following
    return index, None


def _change(
    shell: Shell,
    words: _Words,
    place: tuple[int, int],
    row: Row,
    value: Word | None,
    facts: ModuleFacts | None,
    moved: _Moved,
    gone: Edit,
    *,
    negated: bool,
) -> Iterator[Change]:
    index, last = place
    word = words.words[index]
    span = (word.start, words.words[last].end)
    flag = word.raw.partition("=")[0]
    known = (shell.known(value) if value is not None else None) or ""
    reason = f" {row.reason}" if row.reason else ""

    def change(outcome: Outcome, message: str, *edits: Edit) -> Change:
        moved.changes += bool(edits)
        return Change(outcome, span, message, edits)

    off = negated or known.lower() in FALSE
    if row.action == "manual":
        if known == "1" and row.name == "pipeline_parallel_size":
            yield change(Outcome.REWRITTEN, f"{flag} goes: there is one stage.", gone)
        else:
            yield change(Outcome.MANUAL, f"{flag} has no native form. {row.reason}")
    elif row.action == "size":
        yield from _size(shell, flag, value, facts, moved, change, gone)
    elif row.action == "rename" and value is None and row.takes == "value":
        yield change(Outcome.MANUAL, f"{flag} is called --{row.native} and needs a value.")
    elif row.action == "rename":
        dashes = flag.replace(flag.lstrip("-"), "")
        name = row.native.replace("_", "-") if "-" in flag[2:] and "_" not in flag else row.native
        edit = Edit.replace((word.start, word.start + len(flag)), f"{dashes}{'no_' if negated else ''}{name}")
        yield change(Outcome.REWRITTEN, f"{flag} is called --{name}.{reason}", edit)
    elif row.action == "variable" and value is not None:
        moved.variables[row.native] = value.raw
        yield change(Outcome.REWRITTEN, f"{flag} is read from {row.native} now.", gone)
    elif row.action == "write" and not off:
        yield change(Outcome.REWRITTEN, f"{flag} is written {row.native} now.", Edit.replace(span, row.native))
    else:
        outcome = Outcome.REVIEW if row.action == "review" and not off else Outcome.REWRITTEN
        yield change(outcome, f"{flag} goes.{reason}", gone)


def _size(  # type: ignore[no-untyped-def]
    shell: Shell, flag: str, value: Word | None, facts: ModuleFacts | None, moved: _Moved, change, gone: Edit
) -> Iterator[Change]:
    if value is None:
        yield change(Outcome.MANUAL, f"{flag} has no value: set TP_SIZE before the launcher.")
        return
    if facts is None or not facts.script.adapters:
        moved.variables["TP_SIZE"] = value.raw
        yield change(Outcome.REWRITTEN, f"{flag} goes before the launcher, as TP_SIZE={value.raw}.", gone)
        return
    message = f"{flag} goes, and TP_SIZE is 1: adapters cannot be sharded, so all processes are FSDP."
    edits = [gone]
    moved.variables["TP_SIZE"] = "1"
    if shell.known(value) == "1":
        moved.variables["TP_SIZE"] = value.raw
        yield change(Outcome.REWRITTEN, f"{flag} goes before the launcher, as TP_SIZE={value.raw}.", gone)
        return
    for name in value.variables:
        assigned = shell.assigned(name)
        if len(assigned) == 1 and value.raw.strip('"') in (f"${name}", f"${{{name}}}"):
            if shell.uses(name) == 1 and assigned[0].value.value is not None:
                moved.variables["TP_SIZE"] = value.raw
                edits.append(Edit.replace((assigned[0].value.start, assigned[0].value.end), "1"))
    yield change(Outcome.REVIEW, message, *edits)


def _before(shell: Shell, launch: Launch, facts: ModuleFacts | None, moved: _Moved) -> Iterator[Change]:
    variables = dict(moved.variables)
    if facts is None and moved.changes and ASYNC not in shell.text:
        variables[ASYNC] = "1"
    present = {assignment.name for assignment in launch.command.assignments}
    text = " ".join(f"{name}={value}" for name, value in variables.items() if name not in present)
    if not text:
        return
    words = launch.command.words
    if launch.passes_on:
        edit = Edit.insert(words[0].start, f"{text} ")
    else:
        edit = Edit.insert(words[launch.launcher].start, f"env {text} ")
    span = (words[0].start, words[launch.script].end)
    yield Change(Outcome.REWRITTEN, span, f"{launch.name} reads {', '.join(variables)} from its environment.", (edit,))


CASES = (
    Case(
        "sizes go before the launcher",
        """export MALLOC_ARENA_MAX=64
torchrun --nproc_per_node=32 train.py \\
  --bf16 \\
  --tensor_parallel_size 8 \\
  --zero_1 \\
  --warmup_ratio 0.03 \\
  --async_save
""",
        """export MALLOC_ARENA_MAX=64
TP_SIZE=8 HF_DEACTIVATE_ASYNC_LOAD=1 torchrun --nproc_per_node=32 train.py \\
  --bf16 \\
  --warmup_steps 0.03
""",
    ),
    Case(
        "flags in variables",
        """TP=8
ARGS=(
  --model_id gpt2  # any
  --zero_1 true
  --tensor_parallel_size "$TP"
)
MORE="--evaluation_strategy=epoch --overwrite_output_dir"
torchrun --nproc_per_node 32 train.py "${ARGS[@]}" $MORE
""",
        """TP=8
ARGS=(
  --model_id gpt2  # any
)
MORE="--eval_strategy=epoch"
TP_SIZE="$TP" HF_DEACTIVATE_ASYNC_LOAD=1 torchrun --nproc_per_node 32 train.py "${ARGS[@]}" $MORE
""",
    ),
    Case(
        "stages of a pipeline",
        "torchrun train.py --zero_1 --pipeline_parallel_size 4\n",
        "# TODO(neuron-migrate NM401): --pipeline_parallel_size has no native form. Delete it: training has no "
        "pipeline parallelism in transformers, so spread the layers by TP_SIZE and FSDP_SIZE: "
        "https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments\n"
        "HF_DEACTIVATE_ASYNC_LOAD=1 torchrun train.py --pipeline_parallel_size 4\n",
        (Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.MANUAL),
    ),
    Case("a launch that has nothing to do with it", "torchrun --nproc_per_node 8 train.py --overwrite_output_dir\n"),
    Case(
        "a server with a flag of the same name", "# neuron\npython -m vllm.entrypoints.api --tensor_parallel_size 8\n"
    ),
    Case("words that are not run", 'echo "torchrun train.py --zero_1"\n'),
)
