"""TOML files that list requirements: pyproject.toml in all its tables, and Pipfile.

Read with tree-sitter, which says for every string where it stands. https://packaging.python.org/en/latest/specifications/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from neuron_codemods.edits import Edit
from neuron_codemods.model import SourceError
from neuron_codemods.requirements import layout
from neuron_codemods.requirements.entries import Entry
from neuron_codemods.texts import Parsed
from neuron_codemods.trees import Tree

if TYPE_CHECKING:
    from tree_sitter import Node

_LISTS = (
    re.compile(r"build-system\.requires"),
    re.compile(r"project\.(dependencies|optional-dependencies\..+)"),
    re.compile(r"dependency-groups\..+"),
    re.compile(r"tool\.uv\.([\w-]*dependencies|pip\.constraints?)"),
    re.compile(r"tool\.(hatch\.envs\..+\.(extra-)?dependencies|pdm\.dev-dependencies\..+)"),
)
"""Where requirements stand as strings in an array."""

_TABLES = (
    re.compile(r"tool\.poetry\.(dev-)?dependencies"),
    re.compile(r"tool\.poetry\.group\..+\.dependencies"),
    re.compile(r"(dev-)?packages"),
)
"""Where each requirement is a key of a table: as Poetry and Pipenv have them."""

_OPTIONAL = re.compile(r"\boptional\s*=\s*true\b")
_PYTHONS = (re.compile(r"project\.requires-python"), re.compile(r"tool\.poetry\.dependencies\.python"))
_QUOTED = re.compile(r"""(["'])(.*)\1""", re.DOTALL)


def parse(text: str, path: str) -> Pyproject:
    """A TOML file.

    Raises :class:`SourceError` for one that is no TOML, which no tool reads.
    """
    file = Pyproject(text, Tree(text, "tree_sitter_toml", "TOML files"))
    for start, _ in file.tree.errors():
        raise SourceError("this is no TOML", file.position(start).line)
    return file


@dataclass(frozen=True)
class Element:
    """A requirement in an array, or as a key with its value."""

    entry: Entry
    array: int | None
    """Where its array starts; None for a key of a table."""
    is_plain: bool = True
    """Whether it is written as a string or one table; several tables are for a person to change."""


class Pyproject(Parsed):
    """What stands in such a file."""

    def __init__(self, text: str, tree: Tree) -> None:
        super().__init__(text)
        self.tree = tree

    @cached_property
    def elements(self) -> list[Element]:
        """The requirements."""
        return list(self._elements())

    @cached_property
    def pythons(self) -> list[tuple[str, tuple[int, int]]]:
        """Which versions of Python the project is for, as PEP 440 has it, and where it says so."""
        found = []
        for path, pair in self._pairs():
            value = _value(pair)
            if value.type == "string" and any(pattern.fullmatch(path) for pattern in _PYTHONS):
                found.append((_as_pep440(_unquoted(self.tree.text_of(value))), self.tree.span(pair)))
        return found

    @cached_property
    def extras(self) -> list[tuple[str, tuple[int, int]]]:
        """The names in the lists of Poetry's extras, each with the place of its list."""
        return [
            (_unquoted(self.tree.text_of(node)), self.tree.span(pair))
            for path, pair in self._pairs()
            if path.startswith("tool.poetry.extras.")
            for node in _value(pair).named_children
            if node.type == "string"
        ]

    def statement(self, offset: int) -> tuple[int, int]:
        """The lines of the array element, or of the key, that holds a place."""
        for element in self.elements:
            start, end = element.entry.span
            if start <= offset <= end:
                return self.line_start(start), self.line_end(end)
        return super().statement(offset)

    def edits(self, new: Mapping[Entry, Sequence[str]]) -> dict[Entry, tuple[Edit, ...]]:
        """The changes that put other requirements in the place of each, or take it out."""
        found: dict[Entry, tuple[Edit, ...]] = {}
        for array, elements in self._arrays().items():
            if array is None:
                found |= {each: (self._pair_edit(each, new[each]),) for each in elements if each in new}
            else:
                changes = layout.edits(self, [(each.span, self._quoted(each, new.get(each))) for each in elements])
                found |= {each: (changes[each.span],) for each in elements if each.span in changes}
        return found

    def _arrays(self) -> dict[int | None, list[Entry]]:
        arrays: dict[int | None, list[Entry]] = {}
        for element in self.elements:
            arrays.setdefault(element.array, []).append(element.entry)
        return arrays

    def _quoted(self, entry: Entry, new: Sequence[str] | None) -> list[str] | None:
        return None if new is None else [_quoted(each, self.text[entry.span[0]]) for each in new]

    def _pair_edit(self, entry: Entry, new: Sequence[str]) -> Edit:
        start, end = entry.span
        if not new:
            return Edit.delete((self.line_start(start), self.line_end(end)))
        newline = self.newline(start) + self.indentation(start)
        optional = _OPTIONAL.search(self.text, start, end) is not None
        return Edit.replace((start, end), newline.join(_as_pair(each, optional=optional) for each in new))

    def _elements(self) -> Iterator[Element]:
        for path, pair in self._pairs():
            value = _value(pair)
            if value.type == "array" and any(pattern.fullmatch(path) for pattern in _LISTS):
                for node in value.named_children:
                    if node.type == "string":
                        text = _unquoted(self.tree.text_of(node))
                        start, end = self.tree.span(node)
                        yield Element(Entry(text, (start, end)), value.start_byte)
            table, _, name = path.rpartition(".")
            if any(pattern.fullmatch(table) for pattern in _TABLES) and name != "python":
                # To the end of the value: with CRLF the pair's own end lies behind the carriage return.
                span = self.tree.span(pair)[0], self.tree.span(value)[1]
                is_plain = value.type in ("string", "inline_table")
                yield Element(Entry(self._requirement(name, value), span), None, is_plain)

    def _requirement(self, name: str, value: Node) -> str:
        """What a key of a table of requirements says, as PEP 508 has it."""
        if value.type == "string":
            return name + _as_pep440(_unquoted(self.tree.text_of(value)))
        said = {
            self.tree.text_of(pair.children[0]): self.tree.text_of(_value(pair))
            for pair in value.named_children
            if pair.type == "pair"
        }
        extras = ",".join(match[1] for match in re.finditer(r"""["']([^"']+)["']""", said.get("extras", "")))
        version = _as_pep440(_unquoted(said.get("version", '"*"')))
        marker = f"; {_unquoted(said['markers'])}" if "markers" in said else ""
        if "git" in said or "url" in said:
            return f"{name}[{extras}] @ {_unquoted(said.get('git', said.get('url', '')))} {marker}".rstrip()
        return (f"{name}[{extras}]{version}" if extras else name + version) + marker

    def _pairs(self) -> Iterator[tuple[str, Node]]:
        """Every key with its value, under the full name of the key."""
        for table in self.tree.root.named_children:
            if table.type == "pair":
                yield self._key(table.children[0]), table
            elif table.type in ("table", "table_array_element"):
                keys = [node for node in table.named_children if node.type.endswith("key")]
                prefix = self._key(keys[0]) if keys else ""
                for pair in table.named_children:
                    if pair.type == "pair":
                        yield f"{prefix}.{self._key(pair.children[0])}", pair

    def _key(self, node: Node) -> str:
        return re.sub(r"""["'\s]""", "", self.tree.text_of(node))


def _value(pair: Node) -> Node:
    return pair.named_children[1]  # the last child may be a comment


def _unquoted(text: str) -> str:
    match = _QUOTED.fullmatch(text)
    return match[2].replace('\\"', '"') if match else text


def _quoted(text: str, quote: str) -> str:
    if quote in text:
        quote = "'" if quote == '"' else '"'
    return f"{quote}{text}{quote}"


def _as_pep440(version: str) -> str:
    """``^1.2`` and ``~1.2`` of Poetry, and ``*``, as PEP 440 has them."""
    clauses = []
    for clause in version.split(","):
        clause = clause.strip()
        if clause in ("", "*"):
            continue
        if clause.startswith("^"):
            parts = clause[1:].split(".")
            first = next((number for number, part in enumerate(parts) if part.strip("0")), len(parts) - 1)
            ceiling = [*parts[:first], str(int(parts[first]) + 1)] if parts[first].isdigit() else parts
            clauses += [f">={clause[1:]}", f"<{'.'.join(ceiling)}"]
        elif clause.startswith("~") and not clause.startswith("~="):
            clauses += [f">={clause[1:]}", f"=={'.'.join(clause[1:].split('.')[:2])}.*"]
        elif clause[0].isdigit():
            clauses.append(f"=={clause}")
        else:
            clauses.append(clause)
    return ",".join(clauses)


def _as_pair(requirement: str, *, optional: bool) -> str:
    """A requirement as a key with a value."""
    named = re.match(r"([\w.-]+)(?:\[([^\]]*)\])?([^;]*)(?:;\s*(.*))?$", requirement)
    assert named is not None
    name, extras, version, marker = named.groups()
    version = version.strip() or "*"
    if not (extras or marker or optional):
        return f'{name} = "{version}"'
    said = [f'version = "{version}"']
    if extras:
        said.append(f"extras = [{', '.join(_quoted(each.strip(), chr(34)) for each in extras.split(','))}]")
    if marker:
        said.append(f"markers = {_quoted(marker, chr(39))}")
    if optional:
        said.append("optional = true")
    return f"{name} = {{ {', '.join(said)} }}"
