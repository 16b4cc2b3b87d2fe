"""The lines of a notebook cell that are IPython and not Python: magics, shell lines, help.

They are masked, so that what is left is Python: each becomes a statement that no rule knows, with a number in a
comment by which it is found again in the migrated text. Lines keep their numbers and, outside of masks, their columns.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from neuron_codemods.kinds import by_name
from neuron_codemods.source import Text, parse_module

_MASK, _MORE, _SHOWN = "\ue000", "\ue001", "\ue002"
"""Characters for private use: no program has them in its text, or it is not read."""

_LINE = re.compile(r"(?P<indent>[ \t]*)(?P<head>(?:[\w.,\[\] ]+=[ \t]*)?)(?P<sign>%%?|!!?)(?P<body>.*)", re.S)
_HELP = re.compile(r"[ \t]*(?:\?{1,2}[ \t]*[%\w.*]+|[%\w.*]+\?{1,2})[ \t]*(?:\r?\n)?")
_SHELL_MAGICS = re.compile(r"(?:pip|conda|uv|mamba|micromamba)\b")
_ENVIRONMENT = re.compile(r"(?:set_)?env[ \t]+(?P<name>[A-Za-z_]\w*)(?P<between>=|[ \t]+)(?P<value>\S[^\r\n]*?)[ \t]*")
_SHELL_WORDS = re.compile(r"(?:sx|system|bash|sh)[ \t]+")
_PYTHON_MAGICS = re.compile(r"(?:time|timeit|prun|memit)[ \t]+(?=[^-\s])")

_PYTHON_CELLS = frozenset(
    (
        "time",
        "timeit",
        "capture",
        "prun",
        "memit",
        "python3",
        "python",
        "px",
        "heat",
        "local",
        "mprun",
        "lprun",
        "debug",
    )
)
_SHELL_CELLS = frozenset(("bash", "sh", "script", "system", "sx", "!", "zsh"))
_FILE_CELLS = frozenset(("writefile", "file"))


@dataclass(frozen=True)
class Magic:
    """A stretch of a cell that was masked."""

    start: int
    end: int
    kind: str | None
    """The kind of the text in it that can be migrated, if there is one."""
    inner: str
    """That text."""
    inner_start: int
    """Where it starts in the cell."""
    prefix: str
    """What stands before it, on each of its lines: ``!``."""
    suffix: str = ""
    """What stands behind it."""
    variable: str = ""
    """For ``%env NAME=value``, what stands between the name and the value; ``inner`` is the assignment of a shell."""
    shown: bool = False
    """Whether the text is Python and stays in the program: ``%time trainer.train()``, ``Trainer?``."""

    def is_gone(self, inner: str) -> bool:
        """Whether nothing is left of a shell line."""
        return self.kind is not None and not inner.strip()


@dataclass(frozen=True)
class Masked:
    """A cell as Python, with what was masked."""

    text: str
    magics: tuple[Magic, ...]

    def unmask(self, text: str, inners: Sequence[str]) -> str:
        """A migrated text with the masked lines in their places; ``inners`` are their migrated texts."""
        if not self.magics:
            return text
        text = _on_one_line(re.sub(f"(?:\r\n|\r|\n)[ \t]*#{_MORE}", "", text))
        gone = [index for index, inner in enumerate(inners) if self.magics[index].is_gone(inner)]
        for index in gone:
            text = _without(text, index)
        found: list[int] = []

        def restored(match: re.Match[str]) -> str:
            index = int(match["number"])
            found.append(index)
            magic = self.magics[index]
            if magic.shown:
                return f"{match['indent']}{magic.prefix}{match['body']}{magic.suffix}{match['newline']}"
            return f"{match['indent']}{match['body']}{_written(magic, inners[index], match)}"

        pattern = (
            rf"(?P<indent>[ \t]*)(?P<body>[^\r\n]*?)(?:0#{_MASK}|#{_SHOWN})(?P<number>\d+)(?P<newline>(?:\r\n|\r|\n)?)"
        )
        result = re.sub(pattern, restored, text)
        if found != [index for index in range(len(self.magics)) if index not in gone]:
            raise RuntimeError("a magic or shell line of a cell would be lost; nothing was changed")
        return result


def _written(magic: Magic, inner: str, masked: re.Match[str]) -> str:
    """A masked stretch again, with its migrated text."""
    newline = masked["newline"]
    if magic.kind is None:
        return f"{magic.prefix}{inner}{newline}"
    if magic.variable:
        return _environment(magic, inner, masked["indent"]) + newline
    lines: list[str] = []
    continued = False
    for line in Text(inner).lines:
        plain = continued or not line.strip() or line.lstrip().startswith("#")
        indentation = masked["indent"] if lines and not continued else ""
        lines.append(f"{indentation}{'' if plain else magic.prefix}{line}")
        continued = line.rstrip("\r\n").endswith("\\")
    return "".join(lines) + newline


def _environment(magic: Magic, inner: str, indentation: str) -> str:
    """Assignments of a shell as magics, one a line, below the comments of this tool."""
    lines = [line for line in Text(inner).lines if line.startswith("#")]
    for word in shlex.split(inner, comments=True):
        name, _, value = word.partition("=")
        lines.append(f"{magic.prefix}{name}{magic.variable}{value}\n")
    return indentation.join(lines).removesuffix("\n") + magic.suffix


def _on_one_line(text: str) -> str:
    """A masked text in which statements behind a magic that takes one line are on one line."""
    for match in reversed(list(re.finditer(f"#{_SHOWN}", text))):
        tree, last = parse_module(text), text.count("\n", 0, match.start()) + 1
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.stmt) and node.lineno < last == node.end_lineno and not hasattr(node, "body"):
                lines = Text(text).lines
                first = lines[node.lineno - 1].rstrip()
                joined = " ".join((first, *(line.strip() for line in lines[node.lineno : last])))
                joined = re.sub(r",? (?=[)\]}])", "", re.sub(r"(?<=[(\[{]) ", "", joined))
                text = "".join((*lines[: node.lineno - 1], joined + ending(lines[last - 1]), *lines[last:]))
    return text


def _without(text: str, index: int) -> str:
    """A masked text without the line of one mask, or with ``pass`` in its place where a block needs a statement."""
    mask = rf"[ \t]*0#{_MASK}{index}"
    line = re.compile(rf"(?:\r\n|\r|\n){mask}\Z|{mask}(?:\r\n|\r|\n|\Z)")
    without = line.sub("", text)
    return without if parse_module(without) is not None else re.sub(rf"0#{_MASK}{index}(?!\d)", "pass", text)


@dataclass(frozen=True)
class Cell:
    """A cell whose first line (``%%bash``, ``%%writefile train.py``) says what the rest is."""

    kind: str | None
    """The kind of the rest; None where it is nothing to be migrated."""
    start: int
    """Where the rest starts."""
    file: str = ""
    """The file that the cell writes, if it does."""


def cell_magic(text: str) -> Cell | None:
    """What a cell magic says of the cell, if it has one that takes the cell away from the program."""
    match = re.match(r"\s*%%(?P<name>[\w.!]+)(?P<rest>[^\r\n]*)(?:\r\n|\r|\n|$)", text)
    if match is None or (match["name"] in _PYTHON_CELLS and match["name"] not in ("python", "python3")):
        return None
    name, words = match["name"], match["rest"].split()
    kind: str | None = None
    file = ""
    if name in _SHELL_CELLS:
        shell = next((word for word in words if not word.startswith("-")), "bash")
        kind = "shell" if name != "script" or shell.rpartition("/")[2] in ("bash", "sh", "zsh") else None
    elif name in ("python", "python3"):
        kind = "python"
    elif name in _FILE_CELLS:
        file = next((word for word in words if not word.startswith("-")), "").strip("'\"")
        row = by_name(file.rpartition("/")[2])
        kind = row.name if row is not None else None
    return Cell(kind, match.end(), file)


def mask(text: str) -> Masked:
    """A cell as Python. What cannot be Python all the same is for the parser to say."""
    if any(sign in text for sign in (_MASK, _MORE, _SHOWN)):
        return Masked(text, ())
    if not any(sign in text for sign in "%!?") or parse_module(text) is not None:
        return Masked(text, ())
    lines = Text(text)
    result: list[str] = []
    magics: list[Magic] = []
    state = _State()
    index = 0
    while index < len(lines.lines):
        line = lines.lines[index]
        magic = _magic(lines, index) if state.at_statement else None
        if magic is None:
            state.read(line)
            result.append(line)
            index += 1
            continue
        last = lines.position(max(magic.end - 1, magic.start)).line - 1
        result.append(_masked(line, magic, len(magics)))
        result += [f"#{_MORE}{ending(lines.lines[number])}" for number in range(index + 1, last + 1)]
        magics.append(magic)
        index = last + 1
    return Masked("".join(result), tuple(magics))


def _masked(line: str, magic: Magic, number: int) -> str:
    if magic.shown:
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        return f"{indent}{magic.inner}#{_SHOWN}{number}{ending(line)}"
    match = _LINE.match(line)
    before = match["indent"] + match["head"] if match else line[: len(line) - len(line.lstrip(" \t"))]
    return f"{before}0#{_MASK}{number}{ending(line)}"


def ending(line: str) -> str:
    """The newline of a line."""
    return line[len(line.rstrip("\r\n")) :]


def _magic(lines: Text, index: int) -> Magic | None:
    """The magic that starts with a line, over all lines that a backslash continues."""
    line = lines.lines[index]
    start = lines.line_starts[index]
    match = _LINE.fullmatch(line)
    if match is None:
        if _HELP.fullmatch(line):
            body = line.strip()
            begin = start + line.index(body)
            name = body.strip("? \t")
            if all(part.isidentifier() for part in name.split(".")):
                before, _, after = body.partition(name)
                return Magic(begin, begin + len(body), None, name, begin + len(before), before, after, shown=True)
            return Magic(begin, begin + len(body), None, body, begin, "")
        return None
    last = index
    while lines.lines[last].rstrip("\r\n").endswith("\\") and last + 1 < len(lines.lines):
        last += 1
    end = lines.line_starts[last] + len(lines.lines[last].rstrip("\r\n"))
    begin = start + match.start("sign")
    body_start = start + match.start("body")
    sign, body = match["sign"], lines.text[body_start:end]
    if sign == "%" and not match["head"]:
        timed = _PYTHON_MAGICS.match(body)
        if timed is not None and last == index and parse_module(body[timed.end() :]) is not None:
            return Magic(begin, end, None, body[timed.end() :], body_start + timed.end(), sign + timed[0], shown=True)
    variable = _ENVIRONMENT.fullmatch(body) if sign == "%" and last == index else None
    if variable is not None and not re.search(r"[${]", variable["value"]):
        prefix, inner = sign + body[: variable.start("name")], f"{variable['name']}={shlex.quote(variable['value'])}"
        place = body_start + variable.start("name")
        suffix = body[variable.end("value") :]
        return Magic(begin, end, "shell", inner, place, prefix, suffix, variable["between"])
    if sign in ("!", "!!") or (sign == "%" and _SHELL_MAGICS.match(body)):
        return Magic(begin, end, "shell", body, body_start, sign)
    word = _SHELL_WORDS.match(body)
    if sign == "%" and word is not None:
        return Magic(begin, end, "shell", body[word.end() :], body_start + word.end(), sign + word[0])
    if sign == "%" and not re.match(r"[A-Za-z_]", body):
        return None
    return Magic(begin, end, None, body, body_start, sign)


class _State:
    """Whether a line starts inside of a string or brackets."""

    def __init__(self) -> None:
        self._quote = ""
        self._depth = 0
        self._continued = False

    @property
    def at_statement(self) -> bool:
        return not (self._quote or self._depth or self._continued)

    def read(self, line: str) -> None:
        index = 0
        content = line.rstrip("\r\n")
        self._continued = False
        while index < len(content):
            character = content[index]
            if self._quote:
                if character == "\\":
                    index += 1
                elif content.startswith(self._quote, index):
                    index += len(self._quote) - 1
                    self._quote = ""
            elif character in "\"'":
                self._quote = character * 3 if content.startswith(character * 3, index) else character
                index += len(self._quote) - 1
            elif character == "#":
                break
            elif character in "([{":
                self._depth += 1
            elif character in ")]}":
                self._depth = max(self._depth - 1, 0)
            elif character == "\\" and index == len(content) - 1:
                self._continued = True
            index += 1
        if len(self._quote) == 1 and not content.endswith("\\"):
            self._quote = ""
