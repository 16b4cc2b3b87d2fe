"""Jupyter notebooks: the code in their cells, as one program, and the fences in their Markdown.

What is not the source of a cell is never touched: outputs, execution counts, metadata, the layout of the JSON.
https://nbformat.readthedocs.io/en/latest/format_description.html
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from neuron_codemods import ipython, jsontext, kinds
from neuron_codemods.cells import python_regions
from neuron_codemods.fences import SHELL
from neuron_codemods.jsontext import Line, Value
from neuron_codemods.model import Finding, Position, SourceError
from neuron_codemods.project import ModuleFacts
from neuron_codemods.project import collect as collect_module
from neuron_codemods.source import Text, Token
from neuron_codemods.texts import Parsed, Region


def parse(text: str, path: str) -> Notebook:
    """A notebook of format 3 or 4."""
    value = jsontext.scan(text, "a notebook")
    if value.entries is None:
        raise SourceError("not a notebook: it is no JSON object", 1)
    return Notebook(text, value)


def collect(text: str, path: str) -> ModuleFacts | None:
    """The scripts that the notebook writes (``%%writefile train.py``), and what its commands export and launch."""
    written: list[ModuleFacts] = []
    told: list[ModuleFacts] = []
    for cell in parse(text, path).cells:
        if cell.kind != "code":
            continue
        magic = ipython.cell_magic(cell.text)
        if magic is not None and magic.file and magic.kind == "python":
            try:
                written.append(collect_module(cell.text[magic.start :], magic.file))
            except SourceError:
                continue
        elif any(word in cell.text for word in kinds.TOLD):
            commands = [cell.text] if cell.language in SHELL else []
            commands += [cell.text[magic.start :]] if magic is not None and magic.kind == "shell" else []
            commands += [found.inner for found in ipython.mask(cell.text).magics if found.kind == "shell"]
            told += [facts for command in commands if (facts := kinds.collect("shell", command, path)) is not None]
    return ModuleFacts.of_commands(path, told, tuple(written))


@dataclass(frozen=True)
class Cell:
    """One cell of a notebook."""

    number: int
    """Counted from 1, as a person counts them."""
    kind: str
    """``code``, ``markdown`` or another word."""
    source: Value
    lines: tuple[Line, ...]
    """The lines of the source."""
    language: str
    """What its code is written in."""

    @property
    def text(self) -> str:
        return "".join(line.text for line in self.lines)


class Notebook(Parsed):
    """A notebook."""

    def __init__(self, text: str, value: Value) -> None:
        super().__init__(text)
        self._value = value

    def comments(self) -> Sequence[Token]:
        """None in the JSON; those of the cells are read with them."""
        return ()

    @cached_property
    def cells(self) -> list[Cell]:
        """All cells with a source, in order."""
        found = []
        for number, value in enumerate(self._cell_values(), start=1):
            source = value.get("source") or value.get("input")
            kind = self._string(value.get("cell_type"))
            if source is not None and source.entries is None:
                language = self._string(value.get("metadata", "vscode", "languageId")).lower() or self._language
                found.append(Cell(number, kind, source, tuple(self._lines(source)), language))
        return found

    def _cell_values(self) -> Iterator[Value]:
        cells = self._value.get("cells")
        yield from (cells.items or ()) if cells is not None else ()
        sheets = self._value.get("worksheets")  # format 3
        for sheet in (sheets.items or ()) if sheets is not None else ():
            cells = sheet.get("cells")
            yield from (cells.items or ()) if cells is not None else ()

    def _string(self, value: Value | None) -> str:
        read = json.loads(self.text[value.start : value.end]) if value is not None else ""
        return read if isinstance(read, str) else ""

    def _lines(self, source: Value) -> Iterator[Line]:
        for value in (source,) if source.items is None else source.items:
            if self.text[value.start] == '"':
                yield from jsontext.lines(self.text, value)

    @cached_property
    def _language(self) -> str:
        """What the kernel speaks."""
        for path in (("metadata", "kernelspec", "language"), ("metadata", "language_info", "name")):
            language = self._string(self._value.get(*path)).lower()
            if language:
                return language
        return "python"

    def regions(self) -> Sequence[Region]:
        return [region for cell in self.cells for region in self._regions(cell)]

    def _regions(self, cell: Cell) -> Iterator[Region]:
        start, end = cell.source.start, cell.source.end
        restore = self._restore(cell)
        if cell.kind == "code" and cell.language in ("python", "ipython"):
            yield from python_regions(cell.text, start, end, restore, _same, cell=cell.number, group=1)
        elif cell.kind == "code" and cell.language in SHELL:
            yield Region("shell", start, end, cell.text, lambda text, _: restore(text), _same, cell.number)
        elif cell.kind == "markdown":
            yield Region("markdown", start, end, cell.text, lambda text, _: restore(text), _same, cell.number)

    def told(self, finding: Finding) -> Finding:
        """A finding in a cell, with its place in the file."""
        cell = next(cell for cell in self.cells if cell.number == finding.cell)
        start, end = self._place(cell, finding.start), self._place(cell, finding.end)
        return replace(finding, start=start, end=end, within=finding.start)

    def _place(self, cell: Cell, position: Position) -> Position:
        line = cell.lines[min(position.line, len(cell.lines)) - 1]
        return self.position(line.offset(position.column))

    # Writing ------------------------------------------------------------------------------------------------------

    def _restore(self, cell: Cell) -> Callable[[str], str]:
        def restore(text: str) -> str:
            raws = self._raws(cell, text)
            if cell.source.items is None:
                return f'"{"".join(raws)}"'
            if not raws:
                return "[]"
            lead, separator, trail = self._layout(cell.source)
            quoted = [f'"{raw}"' for raw in raws]
            return f"[{lead}{separator.join(quoted)}{trail}]"

        return restore

    def _raws(self, cell: Cell, text: str) -> list[str]:
        """The lines of a text as they are written in JSON: those that are as before, as they were."""
        old = [line.text for line in cell.lines]
        new = Text(text).lines
        known = {line.text.rstrip("\n"): line for line in reversed(cell.lines)}
        result: list[str] = []
        for tag, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag == "equal":
                result += [line.raw for line in cell.lines[i:j]]
            else:
                result += [self._written(line, known) for line in new[k:m]]
        return result

    def _written(self, line: str, known: dict[str, Line]) -> str:
        body = line.rstrip("\n")
        newline = "\\n" * (len(line) - len(body))
        if body in known:
            raw = known[body].raw
            return (raw if known[body].text == body else raw.removesuffix("\\n")) + newline
        return json.dumps(body, ensure_ascii=self._escapes)[1:-1] + newline

    @cached_property
    def _escapes(self) -> bool:
        """Whether the notebook writes what is not ASCII in escapes."""
        return self.text.isascii() and "\\u" in self.text

    def _layout(self, source: Value) -> tuple[str, str, str]:
        """What stands before the first item of an array, between two, and behind the last."""
        items = source.items or ()
        lead = self.text[source.start + 1 : items[0].start]
        trail = self.text[items[-1].end : source.end - 1]
        if len(items) > 1:
            return lead, self.text[items[0].end : items[1].start], trail
        return lead, f",{lead}" if lead else ", ", trail


def _same(position: Position) -> Position:
    return position
