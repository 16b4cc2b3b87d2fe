"""Code in documents: what the language of a block says, prompts, and the lines behind an indentation."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from neuron_codemods import kinds
from neuron_codemods.cells import python_regions
from neuron_codemods.source import Text, parse, parse_module
from neuron_codemods.texts import Lines, Region

PYTHON = frozenset(("python", "py", "python3", "py3", "ipython", "ipython3", "pycon", "python-repl", "jupyter"))
SHELL = frozenset(("bash", "sh", "shell", "zsh", "shellscript"))
CONSOLE = frozenset(("console", "shell-session", "sh-session", "shellsession", "bash-session", "terminal"))

_PROMPT = re.compile(r"[ \t]*(?:>>>|\.\.\.)(?: |(?=[\r\n]|$))")
_CONTINUED = re.compile(r"[ \t]*\.\.\.(?: |(?=[\r\n]|$))")
_DOLLAR = re.compile(r"[ \t]*(?:\([\w./-]+\)[ \t]*)?(?:[\w.@:~/-]*[$%])[ \t]+(?=\S)")
_COMMAND = re.compile(
    r"(?:export[ ]\w+=|\w+=\S*[ ]+(?=torchrun|python|neuron_)|(?:sudo[ ]+)?(?:pip3?|uv|conda|apt|apt-get|source|cd)[ ]"
    r"|(?:python[\d.]*|torchrun|accelerate|neuron_parallel_compile|optimum-cli|srun|sbatch|bash|docker)[ ]+[\w./-])"
)
"""What begins a line that can only be a command."""
_IMPORT = re.compile(r"^[ \t]*(?:>>>[ \t]*)?(?:from[ \t]+optimum|import[ \t]+optimum)\b", re.M)


_ADDED = re.compile(r"^[ \t]*\+[ \t]*(?:from[ \t]+optimum|import[ \t]+optimum)\b", re.M)
"""A line of a diff that brings Optimum Neuron in."""


@dataclass(frozen=True)
class Block:
    """A block of code in a document."""

    language: str
    """The word or words that say what it is."""
    prefix: str
    """What stands before each of its lines."""
    first: int
    last: int
    """The numbers of its first line and of the line after it, counted from 0."""
    fence: tuple[int, int] | None = None
    """The same for the lines that belong to it: its fences, and an empty line below them."""


def regions(outer: Text, blocks: Iterable[Block]) -> Iterator[Region]:
    """What can be migrated in the blocks of a document.

    Python blocks follow one another as one program until one of them imports Optimum Neuron again: a block that uses
    what an earlier one has imported is rewritten with it, and a block that stands for itself keeps its own imports.
    """
    group = 0
    for block in blocks:
        if block.first >= block.last:
            continue
        language = _word(block.language)
        lines = [_own(outer, number, block.prefix) for number in range(block.first, block.last)]
        text = "".join(outer.text[start:end] for start, end in lines)
        if not language:
            language = _guessed(text)
        if language in PYTHON or (language == "diff" and _ADDED.search(text)):  # which is then told to be unread
            if _IMPORT.search(text):
                group += 1
            yield from _python(outer, lines, block.prefix, group)
        elif language in CONSOLE or (language in SHELL and _has_dollars(text)):
            yield from _console(outer, lines, block.prefix)
        elif language in SHELL:
            yield _commands(outer, block, _plain(outer, lines, block.prefix))
        else:
            row = next((row for row in kinds.KINDS if language in row.languages), None)
            if row is not None:
                yield _plain(outer, lines, block.prefix).region(row.name)


def _guessed(text: str) -> str:
    """The language of a block that does not say it, where its content leaves no doubt; else nothing."""
    if _has_dollars(text):
        return "console"
    if text.lstrip().startswith(">>> ") or (_IMPORT.search(text) and parse_module(text) is not None):
        return "python"
    lines = re.sub(r"\\\r?\n", " ", text).splitlines()
    said = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    return "bash" if said and all(_COMMAND.match(line) for line in said) else ""


def _word(info: str) -> str:
    """The language in what stands behind a fence: ``python``, ``{.python}``, ``{code-block} python``."""
    info = re.sub(r"^\{(?:code|code-block|sourcecode)\}", "", info).strip()
    match = re.match(r"\{?[ \t]*\.?([\w+#-]+)", info)
    return match[1].lower() if match else ""


def _own(outer: Text, number: int, prefix: str) -> tuple[int, int]:
    """The stretch of a line behind as much of the prefix as it has."""
    start, line = outer.line_starts[number], outer.lines[number]
    length = 0
    while length < min(len(prefix), len(line)) and (line[length] == prefix[length] or line[length] in " \t"):
        length += 1
    return start + length, start + len(line)


def _plain(outer: Text, lines: Sequence[tuple[int, int]], prefix: str) -> Lines:
    return Lines(outer, lines, lambda new: [prefix] * len(new))


# Python -----------------------------------------------------------------------------------------------------------


def _python(outer: Text, lines: Sequence[tuple[int, int]], prefix: str, group: int) -> Iterator[Region]:
    if any(outer.text[start:end].lstrip().startswith(">>>") for start, end in lines):
        for run in _prompted(outer, lines):
            yield _with_prompts(outer, run, prefix).region("python", group=group)
        return
    whole = _plain(outer, lines, prefix)
    yield from python_regions(whole.text, whole.start, whole.end, whole.restore, whole.place, group=group)


def _prompted(outer: Text, lines: Sequence[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """The lines behind prompts, without the output between them."""
    run: list[tuple[int, int]] = []
    for start, end in lines:
        match = _PROMPT.match(outer.text[start:end])
        if match is None or (not run and _CONTINUED.match(match[0])):
            if run:
                yield run
            run = []
        else:
            run.append((start + match.end(), end))
    if run:
        yield run


def _with_prompts(outer: Text, run: Sequence[tuple[int, int]], prefix: str) -> Lines:
    start = run[0][0]
    before = outer.text[outer.line_start(start) : start]
    indentation = before[: before.index(">>>")]

    def prefixes(new: Sequence[str]) -> list[str]:
        tree = parse("".join(new))
        starts = set(_first_lines(tree))
        fresh = True
        result: list[str] = []
        for number, line in enumerate(new, start=1):
            begins = number in starts or (fresh and (not line.strip() or line.startswith("#"))) or not result
            fresh = _ends(tree, number)
            result.append(f"{indentation}{'>>>' if begins else '...'} ")
        return result

    return Lines(outer, run, prefixes)


def _first_lines(tree: ast.Module) -> Iterator[int]:
    for node in tree.body:
        decorators = getattr(node, "decorator_list", None)
        yield decorators[0].lineno if decorators else node.lineno


def _ends(tree: ast.Module, line: int) -> bool:
    """Whether no statement goes on behind a line."""
    return not any(node.lineno <= line < (node.end_lineno or line) for node in tree.body)


# Shell ------------------------------------------------------------------------------------------------------------


def _commands(outer: Text, block: Block, lines: Lines) -> Region:
    """A block of commands, which goes with its fence where none of them is left."""
    region = lines.region("shell")
    if block.fence is None:
        return region
    start, end = (outer.line_starts[number] for number in block.fence)
    head, foot = outer.text[start : region.start], outer.text[region.end : end]

    def restore(new: str, _: Sequence[str]) -> str:
        return head + lines.restore(new) + foot if new.strip() else ""

    return replace(region, start=start, end=end, restore=restore)


def _has_dollars(text: str) -> bool:
    return bool(re.search(r"^[ \t]*\$[ \t]+\S", text, re.M))


def _console(outer: Text, lines: Sequence[tuple[int, int]], prefix: str) -> Iterator[Region]:
    """Each command behind a prompt, with the lines that it continues on; the rest is output."""
    index = 0
    while index < len(lines):
        start, end = lines[index]
        match = _DOLLAR.match(outer.text[start:end])
        index += 1
        if match is None:
            continue
        run = [(start + match.end(), end)]
        while outer.text[run[-1][0] : run[-1][1]].rstrip("\r\n").endswith("\\") and index < len(lines):
            run.append(_without_continuation(outer, lines[index]))
            index += 1
        yield Lines(outer, run, _repeated(prefix, match[0])).region("shell")


def _without_continuation(outer: Text, line: tuple[int, int]) -> tuple[int, int]:
    """A continuation line; some documents show the second prompt of the shell."""
    start, end = line
    return (start + 2, end) if outer.text.startswith("> ", start) else line


def _repeated(prefix: str, prompt: str) -> Callable[[Sequence[str]], list[str]]:
    def prefixes(new: Sequence[str]) -> list[str]:
        result: list[str] = []
        continued = False
        for line in new:
            result.append(prefix if continued else f"{prefix}{prompt}")
            continued = line.rstrip("\r\n").endswith("\\")
        return result

    return prefixes
