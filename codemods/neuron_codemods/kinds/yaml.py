"""YAML: manifests of Kubernetes and Compose, workflows, SageMaker and conda files.

Read with tree-sitter, which says for every scalar where it stands; a template that is no YAML even where its
expressions are passed over is told by ``unread``.
Commands and the values of environment variables are shell, wherever they stand. https://yaml.org/spec/1.2.2/
"""

from __future__ import annotations

import json
import re
import shlex
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from neuron_codemods.kinds.exported import exported
from neuron_codemods.model import Position, SourceError
from neuron_codemods.source import Text, Token
from neuron_codemods.texts import Lines, Parsed, Region
from neuron_codemods.trees import Tree, without_templates

if TYPE_CHECKING:
    from tree_sitter import Node

_COMMANDS = frozenset(("args", "cmd", "command", "commands", "entrypoint", "run", "script", "shell", "user_data"))
"""Keys under which commands stand."""
_WORD_LISTS = frozenset(("args", "cmd", "command", "entrypoint"))
"""Those of them under which a list with one word to a line is one command."""
_VARIABLES = frozenset(("env", "environment", "environment_variables", "envs", "variables"))
"""Keys under which environment variables stand."""
_PAIRS = ("block_mapping_pair", "flow_pair")
_SCALARS = ("plain_scalar", "double_quote_scalar", "single_quote_scalar")
_PLAIN = re.compile(r"[^\s\"'`@%&*!|>{}\[\],#?:-][^\n]*")
_FOLD = " \\"
"""What makes the shell read on where a line of a folded block ends."""
_INDENTED = re.compile(r"\A(\s*\n)?[ \t]+(?=\S)")
_HOLDS = re.compile(r"( *)(?P<key>\w+):[ \t]*\r?\n")
_NAME = re.compile(r"[A-Za-z_]\w*")
_LEVELS = re.compile(r"[ \t]*(?:(?:[-?:]|[&!]\S*)[ \t]+)*")
"""What stands before a value on its line and may begin a level: indentation, dashes, question marks, anchors, tags."""
_MOST_LEVELS = 100
"""The grammar keeps its levels in a buffer of fixed size and writes beyond it: some 250 of them end the process."""


def parse(text: str, path: str) -> Yaml:
    """A YAML file; a part that cannot be read is told by ``unread``.

    Raises :class:`SourceError` for a text with so many levels that the grammar would crash.
    """
    _check_depth(text)
    return Yaml(text, Tree(without_templates(text, lambda length: "x" * length), "tree_sitter_yaml", "YAML files"))


def _check_depth(text: str) -> None:
    # Each level stands in a column of its own, or two in one: a list under its key. So columns are enough to count.
    columns: set[int] = set()
    for number, line in enumerate(text.splitlines(), start=1):
        found = _LEVELS.match(line)
        assert found is not None
        columns.update(token.start() for token in re.finditer(r"\S+", found[0]))
        columns.add(found.end())
        if len(columns) > _MOST_LEVELS:
            raise SourceError("nested too deeply to be read", number)


@dataclass(frozen=True)
class Scalar:
    """A scalar on one line."""

    value: str
    start: int
    end: int
    quoted: bool
    keys: tuple[str, ...]
    """The keys above it, the nearest last; an item of a list has those of the list."""
    node: Node


class Yaml(Parsed):
    """What stands in such a file."""

    def __init__(self, text: str, tree: Tree) -> None:
        super().__init__(text)
        self.tree = tree

    @cached_property
    def scalars(self) -> list[Scalar]:
        """All values that are scalars on one line, in order."""
        found = [each for kind in _SCALARS for each in self._nodes[kind]]
        found.sort(key=lambda each: each[0].start_byte)
        return [scalar for node, keys in found for scalar in self._scalar(node, keys)]

    @cached_property
    def _starts(self) -> list[int]:
        return [scalar.start for scalar in self.scalars]

    def in_braces(self) -> Iterator[tuple[str, list[tuple[Node, str]]]]:
        """The mappings in braces on one line: the key above each, and its pairs with what their scalars say."""
        for node, keys in self._nodes["flow_mapping"]:
            if node.start_point.row == node.end_point.row:
                said = {scalar.keys: scalar.value for scalar in self._scalars_in(node)}
                pairs = [(pair, said.get((*keys, self._plain(pair.children[0])), "")) for pair in node.named_children]
                yield keys[-1] if keys else "", pairs

    def _scalars_in(self, node: Node) -> list[Scalar]:
        first, end = (bisect_left(self._starts, place) for place in self.tree.span(node))
        return self.scalars[first:end]

    def comments(self) -> Sequence[Token]:
        found = []
        for node, _ in self._nodes["comment"]:
            start, end = self.tree.span(node)
            found.append(Token(0, self.text[start:end], start, end))
        return found

    def statement(self, offset: int) -> tuple[int, int]:
        """The line that holds a place, or the lines of the block of text that does, from its key on."""
        for node, _ in self._nodes["block_scalar"]:
            start, end = self.tree.span(node)
            if self.line_start(start) <= offset < end:
                return self.line_start(start), self.line_end(max(end - 1, start))
        return super().statement(offset)

    def unread(self) -> Sequence[tuple[tuple[int, int], str]]:
        found = [(span, "this is no YAML") for span in self.tree.errors()]
        quoted = (self.tree.span(node) for node, _ in self._nodes["double_quote_scalar"])
        return found + [
            (span, "it has escapes of YAML") for span in quoted if _unescaped(self.text[slice(*span)]) is None
        ]

    def finished(self, text: str) -> str:
        """Without the keys of variables and hyperparameters of which nothing is left: null would be refused."""
        lines = Text(text).lines
        known = {self.lines[index] for index in _empty_keys(self.lines)}
        gone = {index for index in _empty_keys(lines) if lines[index] not in known}
        return "".join(line for index, line in enumerate(lines) if index not in gone) if gone else text

    def regions(self) -> Sequence[Region]:
        """The commands and the variables."""
        found = [*self._blocks(), *self._words(), *self._lines(), *self._variables()]
        return [region for region in found if region is not None]

    # Values -------------------------------------------------------------------------------------------------------

    @cached_property
    def _nodes(self) -> dict[str, list[tuple[Node, tuple[str, ...]]]]:
        """The nodes of each type in order, with the keys above them, the nearest last.

        One walk tells all of them: to find what is above one node, the grammar's library looks from the root.
        """
        found: dict[str, list[tuple[Node, tuple[str, ...]]]] = defaultdict(list)
        stack: list[tuple[Node, tuple[str, ...]]] = [(self.tree.root, ())]
        while stack:
            node, keys = stack.pop()
            found[node.type].append((node, keys))
            children = node.children
            if node.type in _PAIRS:
                below = (*keys, self.tree.text_of(children[0]).strip("\"' "))
                stack += [*((child, below) for child in children[:0:-1]), (children[0], keys)]
            else:
                stack += [(child, keys) for child in reversed(children)]
        return found

    def _scalar(self, node: Node, keys: tuple[str, ...]) -> Iterator[Scalar]:
        start, end = self.tree.span(node)
        raw = self.text[start:end]
        if "\n" in raw or self._is_key(node):
            return
        value: str | None = raw
        quoted = node.type != "plain_scalar"
        if node.type == "double_quote_scalar":
            value = _unescaped(raw)
        elif quoted:
            value = raw[1:-1].replace("''", "'")
        if value is not None:
            yield Scalar(value, start, end, quoted, keys, node)

    def _is_key(self, node: Node) -> bool:
        above = node.parent
        pair = above.parent if above is not None else None
        return pair is not None and pair.type in _PAIRS and pair.children[0] == above

    # Commands -----------------------------------------------------------------------------------------------------

    def _blocks(self) -> Iterator[Region]:
        """Scripts in literal blocks."""
        for node, keys in self._nodes["block_scalar"]:
            start, end = self.tree.span(node)
            header = self.text[start : self.line_end(start)]
            if not keys or keys[-1].lower() not in _COMMANDS:
                continue
            first = self.position(start).line
            last = self.position(max(end - 1, start)).line
            numbers = range(first, last)  # from the line below the header
            filled = [self.lines[number] for number in numbers if self.lines[number].strip()]
            if not filled:
                continue
            width = min(len(line) - len(line.lstrip(" ")) for line in filled)
            lines = [
                (
                    self.line_starts[number] + min(width, len(self.lines[number].rstrip("\r\n"))),
                    self.line_starts[number + 1],
                )
                for number in numbers
            ]
            prefix = " " * width
            if header.startswith(">"):
                yield from self._folded(lines, prefix)
                continue
            whole = Lines(self, lines, lambda new, prefix=prefix: [prefix] * len(new))  # type: ignore[misc]

            def restore(new: str, _: Sequence[str], whole: Lines = whole) -> str:
                return whole.restore(_INDENTED.sub(r"\1", new))  # the first line says how far the block is indented

            yield Region("shell", whole.start, whole.end, whole.text, restore, whole.place)

    def _folded(self, lines: list[tuple[int, int]], prefix: str) -> Iterator[Region]:
        """A command in a folded block, which is one line for the shell: as if a backslash stood behind each of its."""
        whole = Lines(self, lines, lambda new: [prefix] * len(new))
        if any(
            not line.strip() or line[0] in " \t" or line.lstrip().startswith("#") for line in Text(whole.text).lines
        ):
            return  # it is more than one line, or another shell than this would read something else
        *first, last = Text(whole.text).lines
        text = "".join(
            (*(line.rstrip("\r\n") + _FOLD + ending for line in first for ending in [_newline(line)]), last)
        )

        def restore(new: str, _: Sequence[str]) -> str:
            return whole.restore(re.sub(rf"{re.escape(_FOLD)}(?=[\r\n])", "", new) or whole.text)

        yield Region("shell", whole.start, whole.end, text, restore, whole.place, lifted=True)

    def _lines(self) -> Iterator[Region]:
        """Commands on one line."""
        words = {scalar.start for node, _ in self._lists for scalar in self._scalars_in(node)}
        for scalar in self.scalars:
            if (
                scalar.keys
                and scalar.keys[-1].lower() in _COMMANDS
                and " " in scalar.value.strip()
                and "\n" not in scalar.value
                and scalar.start not in words
            ):
                yield self._region(scalar, _item(scalar.node) is not None)

    def _region(self, scalar: Scalar, in_list: bool) -> Region:
        def restore(new: str, _: Sequence[str]) -> str:
            new = new.rstrip("\n")
            if "\n" in new or (not new and not in_list):
                return self.text[scalar.start : scalar.end]
            return _written(new or "true", quoted=scalar.quoted)

        shift = 1 if scalar.quoted else 0
        place = self._shifted(scalar.start + shift)
        return Region("shell", scalar.start, scalar.end, scalar.value, restore, place, lifted=True)

    def _words(self) -> Iterator[Region]:
        """Commands as lists of their words."""
        for node, words in self._lists:
            start, end = self.tree.span(node)
            command = shlex.join(words)
            restore = self._as_list(command, start, end)
            if node.type == "block_sequence":
                items = [self.tree.span(item) for item in _items(node)]
                end = items[-1][1]
                restore = self._as_lines(command, words, start, items)
            yield Region("shell", start, end, command, restore, self._fixed(start), lifted=True)

    @cached_property
    def _lists(self) -> list[tuple[Node, list[str]]]:
        found = []
        for node, keys in self._nodes["flow_sequence"]:
            if keys and keys[-1].lower() in _COMMANDS:
                words = [scalar.value for scalar in self._scalars_in(node)]
                if words and len(words) == len(node.named_children) and " " not in words[0].strip():
                    found.append((node, words))
        for node, keys in self._nodes["block_sequence"]:
            if keys and keys[-1].lower() in _WORD_LISTS:
                spans = {(scalar.start, scalar.end): scalar.value for scalar in self._scalars_in(node)}
                values = [spans.get(self.tree.span(item.named_children[-1])) for item in _items(node)]
                words = [value for value in values if value and " " not in value.strip()]
                if len(words) == len(values):
                    found.append((node, words))
        return found

    def _as_list(self, command: str, start: int, end: int) -> Callable[[str, Sequence[str]], str]:
        def restore(new: str, _: Sequence[str]) -> str:
            words = shlex.split(new)
            if new.strip() == command or not words:
                return self.text[start:end]
            if re.match(r"\w+=", words[0]):
                words.insert(0, "env")
            return json.dumps(words, ensure_ascii=False)

        return restore

    def _as_lines(
        self, command: str, words: list[str], start: int, items: Sequence[tuple[int, int]]
    ) -> Callable[[str, Sequence[str]], str]:
        """A list with one word to a line: what stays keeps its line and the comments above it."""

        def restore(new: str, _: Sequence[str]) -> str:
            left = shlex.split(new)
            if new.strip() == command or not left:
                return self.text[start : items[-1][1]]
            if re.match(r"\w+=", left[0]):
                left.insert(0, "env")
            ends = [start, *(end for _, end in items)]
            written = [self.text[begin:end] for begin, end in pairwise(ends)]
            lead = self.newline(start) + " " * (start - self.line_start(start)) + "- "
            written[0] = lead.removesuffix("- ") + written[0]
            pieces: list[str] = []
            for tag, first, last, begin, stop in SequenceMatcher(None, words, left, autojunk=False).get_opcodes():
                if tag == "equal":
                    pieces += written[first:last]
                else:
                    pieces += (lead + _written(word, quoted=False) for word in left[begin:stop])
            return "".join(pieces).lstrip()

        return restore

    # Variables ----------------------------------------------------------------------------------------------------

    def _variables(self) -> Iterator[Region]:
        """Each variable as what ``export`` would say."""
        for pair, keys in self._nodes["block_mapping_pair"]:
            named = self._plain(pair.children[0])
            value = pair.children[-1] if len(pair.children) > 2 else None
            if keys and keys[-1].lower() in _VARIABLES and value is not None and _NAME.fullmatch(named):
                if named in ("name", "value", "valueFrom"):
                    continue
                yield from self._variable(pair, named, self._plain(value))
        for item, keys in self._nodes["block_sequence_item"]:
            if keys and keys[-1].lower() in _VARIABLES:
                said = {self._plain(pair.children[0]): self._plain(pair.children[-1]) for pair in self._pairs_of(item)}
                if set(said) == {"name", "value"}:
                    yield from self._variable(item, said["name"], said["value"])
                elif not said and "=" in self._plain(item.children[-1]):
                    name, _, text = self._plain(item.children[-1]).partition("=")
                    yield from self._variable(item, name, text)

    def _pairs_of(self, item: Node) -> Iterator[Node]:
        for node in item.children[-1].children:
            if node.type == "block_mapping":
                yield from (pair for pair in node.children if pair.type == "block_mapping_pair")

    def _variable(self, node: Node, name: str, value: str) -> Iterator[Region]:
        start, end = self.tree.span(node)[0], self.tree.offset(_end(node))
        line, last = self.line_start(start), self.line_end(max(end - 1, start))
        if self.text[line:start].strip() or not _NAME.fullmatch(name) or "\n" in value:
            return
        yield exported(self, (line, last), start, name, value)

    def _plain(self, node: Node) -> str:
        text = self.text[slice(*self.tree.span(node))].strip()
        return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text

    # Places -------------------------------------------------------------------------------------------------------

    def _shifted(self, start: int) -> Callable[[Position], Position]:
        first = self.position(start)
        return lambda position: Position(first.line, first.column + position.column - 1)

    def _fixed(self, start: int) -> Callable[[Position], Position]:
        first = self.position(start)
        return lambda _: first


def _unescaped(quoted: str) -> str | None:
    """What stands in double quotes; None for escapes that JSON does not know."""
    try:
        return str(json.loads(quoted, strict=False))
    except ValueError:
        return None


def _newline(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _items(node: Node) -> list[Node]:
    """The items of a list in block style."""
    return [child for child in node.children if child.type == "block_sequence_item" and child.named_children]


def _item(node: Node) -> Node | None:
    above = node.parent
    while above is not None and above.type in ("flow_node", "block_node"):
        above = above.parent
    return above if above is not None and above.type == "block_sequence_item" else None


def _end(node: Node) -> int:
    """The byte where a node ends, without the comments behind what it holds."""
    children = [child for child in node.children if child.type != "comment"]
    return _end(children[-1]) if children else node.end_byte


def _written(text: str, *, quoted: bool) -> str:
    """A scalar that holds a text on one line."""
    if not quoted and _PLAIN.fullmatch(text) and ": " not in text and " #" not in text:
        return text
    return json.dumps(text, ensure_ascii=False)


def _empty_keys(lines: Sequence[str]) -> Iterator[int]:
    """The numbers of the lines with keys of variables and hyperparameters with nothing below them."""
    for index, line in enumerate(lines):
        key = _HOLDS.fullmatch(line)
        if key is not None and key["key"].lower() in (*_VARIABLES, "hyperparameters"):
            below = next((each for each in lines[index + 1 :] if each.strip() and each.lstrip()[0] != "#"), "")
            depth = len(below) - len(below.lstrip(" "))
            if depth < len(key[1]) or (depth == len(key[1]) and not below.lstrip().startswith("- ")):
                yield index
