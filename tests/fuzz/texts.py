"""Texts of the other kinds, made of the rules' cases, and what must hold for each of them."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

import yaml
from packaging.requirements import InvalidRequirement, Requirement

from neuron_codemods import migrate_text
from neuron_codemods.kinds import KINDS, load
from neuron_codemods.model import Migration, SourceError
from neuron_codemods.source import Text

from . import grammar, pieces, written
from .contracts import Violation

NAMES = tuple(kind.name for kind in KINDS if kind.name != "python")
_LINES = (
    "",
    "# a comment",
    "  ",
    "\t",
    "echo 'é 🐍'",
    "---",
    "```",
    "x: 1",
    "x = 1",
    "# neuron-migrate: ignore",
    "\\",
)


def text(kind: str, rng: random.Random) -> str:
    """A text of a kind: cases of it or of those inside of it, with lines moved, doubled, left out or put in."""
    if kind == "notebook":
        return _notebook(rng)
    lines: list[str] = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        lines += Text(_piece(kind, rng)).lines
    for _ in range(rng.choice((0, 1, 2, 4))):
        index = rng.randrange(len(lines) + 1)
        change = rng.choice(("put in", "leave out", "double", "move", "indent", "cut"))
        if change == "put in":
            lines.insert(index, rng.choice(_LINES) + "\n")
        elif not lines[index : index + 1]:
            continue
        elif change == "leave out":
            del lines[index]
        elif change == "double":
            lines.insert(index, lines[index])
        elif change == "move":
            lines.insert(rng.randrange(len(lines)), lines.pop(index))
        elif change == "indent":
            lines[index] = rng.choice(("  ", "\t", "    ")) + lines[index]
        else:
            lines[index] = lines[index][: rng.randrange(len(lines[index]) + 1)]
    made = "".join(lines)
    made = made.replace("\n", "\r\n") if rng.random() < 0.15 else made
    return made.rstrip("\r\n") if rng.random() < 0.1 else made


def _piece(kind: str, rng: random.Random) -> str:
    fresh = written.piece(kind, rng) if rng.random() < 0.4 else None
    if fresh is not None:
        return fresh
    own = pieces.cases(kind)
    if own and rng.random() < 0.7:
        return rng.choice(own)
    shell = rng.choice(pieces.cases("shell"))
    if kind in ("markdown", "rst"):
        return rng.choice(
            (f"```bash\n{shell}```\n", f"```python\n{rng.choice(pieces.cases())}```\n", "Some *text*.\n")
        )
    if kind == "dockerfile":
        return "FROM python:3.11\nRUN " + shell.strip().replace("\n", " && \\\n    ") + "\n"
    if kind == "makefile":
        return "all:\n" + "".join(f"\t{line}" for line in Text(shell).lines)
    if kind == "yaml":
        return "run: |\n" + "".join(f"  {line}" for line in Text(shell).lines)
    return rng.choice(own) if own else shell


def _notebook(rng: random.Random) -> str:
    cells = []
    for _ in range(rng.randint(1, 4)):
        source = rng.choice(
            (grammar.generated(rng).text, rng.choice(pieces.cases()), "!pip install optimum[neuronx]\n")
        )
        listed = Text(source).lines if rng.random() < 0.8 else source
        kind = rng.choice(("code", "code", "code", "markdown"))
        cell = {"cell_type": kind, "metadata": {}, "source": listed}
        cells.append({**cell, "execution_count": None, "outputs": []} if kind == "code" else cell)
    document = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(document, indent=rng.choice((None, 1, 2)), ensure_ascii=rng.random() < 0.5) + "\n"


def violations(kind: str, text: str, heard: set[str] | None = None) -> Iterator[Violation]:
    """What a text breaks; ``heard`` gets the codes of the rules that had something to say."""
    try:
        first = migrate_text(kind, text)
    except SourceError as error:
        if not 1 <= error.line <= text.count("\n") + 1:
            yield Violation("places are inside", f"{error} in line {error.line}")
        return
    except Exception as error:
        yield Violation("no exception", f"{type(error).__name__}: {error}")
        return
    if heard is not None:
        heard.update(finding.code for finding in first.findings)
    lines = len(Text(text).lines) + 1
    for finding in first.findings:
        if not 1 <= finding.start.line <= finding.end.line <= lines:
            yield Violation("places are inside", f"{finding.code} at {finding.start.line} to {finding.end.line}")
    if first.changed and not first.findings:
        yield Violation("no change without a finding", "")
    try:
        again = migrate_text(kind, first.text)
    except Exception as error:
        yield Violation("a second run changes nothing", f"it fails: {type(error).__name__}: {error}")
        return
    if again.text != first.text:
        yield Violation("a second run changes nothing", "")
    if len(load(kind).parse(first.text, "").unread()) > len(load(kind).parse(text, "").unread()):
        yield Violation("what could be read can be read", "")
    if _is_valid(kind, text) and not _is_valid(kind, first.text):
        yield Violation("what other tools can read they can read", "")
    if kind == "notebook" and [_without_source(text)] != [_without_source(first.text)]:
        yield Violation("nothing but sources changes", "")
    if kind != "notebook":
        yield from _lines_kept(kind, text, first)
        yield from _ends_kept(kind, text, first)


def _lines_kept(kind: str, text: str, migration: Migration) -> Iterator[Violation]:
    """Lines change only in statements of which something is told."""
    parsed = load(kind).parse(text, "")
    before, after = parsed.lines, Text(migration.text).lines
    told: set[int] = set()
    regions = [parsed.statement(region.start) + parsed.statement(region.end - 1) for region in parsed.regions()]
    regions = [(min(bounds), max(bounds)) for bounds in regions]
    for finding in migration.findings:
        told.update(range(finding.start.line, finding.end.line + 1))
        at = parsed.line_starts[min(finding.start.line, len(before)) - 1]
        for start, end in (parsed.statement(at), *((start, end) for start, end in regions if start <= at < end)):
            told.update(range(parsed.position(start).line, parsed.position(max(start, end - 1)).line + 1))
    had = Counter(_plain(line) for number, line in enumerate(before, start=1) if number not in told)
    kept = Counter(map(_plain, after))
    for tag, i, j, _, _ in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        for number in range(i + 1, j + 1) if tag in ("delete", "replace") else ():
            line = _plain(before[number - 1])
            if line and kept[line] < had[line] and number not in told and not _beside(number, told, before):
                yield Violation("no other line changes", f"line {number}: {line!r}")


def _plain(line: str) -> str:
    """A line without what its neighbours decide."""
    return line.strip().rstrip(",")


def _beside(number: int, told: set[int], lines: Sequence[str]) -> bool:
    """Whether a line is a comment or a key directly above one of which something is told."""
    while number < len(lines) and re.match(r"\s*(#|\\?\s*$|[\w-]+:\s*$)", lines[number - 1]):
        number += 1
    return number in told


def _ends_kept(kind: str, text: str, migration: Migration) -> Iterator[Violation]:
    """Line ends, a byte order mark and a comment that keeps all rules away do what they say.

    How far a text is read that no tool can read may depend on its line ends.
    """
    if "\r" not in text and "\n" in text and not _has_unread(migration) and _is_valid(kind, text):
        try:
            other = migrate_text(kind, text.replace("\n", "\r\n")).text
        except Exception as error:
            other = str(error)
        if other != migration.text.replace("\n", "\r\n"):
            yield Violation("line ends make no difference", "")
    if migrate_text(kind, f"\ufeff{text}").text != f"\ufeff{migration.text}":
        yield Violation("a byte order mark makes no difference", "")
    if kind not in ("json", "markdown", "rst"):  # in which no comment of ours can stand
        if migrate_text(kind, f"# neuron-migrate: ignore-file\n{text}").changed:
            yield Violation("what is suppressed stays", "")


def _has_unread(migration: Migration) -> bool:
    """Whether a part could not be read."""
    return any(finding.code == "NM007" for finding in migration.findings)


def _is_valid(kind: str, text: str) -> bool:
    """Whether the tool that such a text is for can read it; True for kinds for which none is at hand."""
    try:
        if kind == "shell":
            return subprocess.run(["bash", "-n"], input=text.encode(), capture_output=True).returncode == 0
        if kind == "yaml":
            list(yaml.compose_all(text, yaml.CSafeLoader))
        elif kind == "requirements":
            for line in re.sub(r"\\\r?\n", "", text).splitlines():
                said = re.sub(r"(^|\s)#.*", "", line).strip()
                if said and not said.startswith("-"):
                    Requirement(re.split(r"\s--", said)[0])
        elif kind == "pyproject" and sys.version_info >= (3, 11):
            import tomllib

            tomllib.loads(text)
    except (yaml.YAMLError, InvalidRequirement, ValueError):
        return False
    return True


def _without_source(text: str) -> object:
    document = json.loads(text)
    for cell in document["cells"]:
        cell["source"] = []
    return document
