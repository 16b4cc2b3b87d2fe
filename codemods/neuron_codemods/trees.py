"""A syntax tree of tree-sitter, with places in characters instead of bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from neuron_codemods.kinds import parser

if TYPE_CHECKING:
    from tree_sitter import Node

_TEMPLATE = re.compile(
    r"^(?P<indentation>[ \t]*)(?P<line>(?:\{\{[^{}\n]*\}\}|\{%[^\n]*?%\})(?=[ \t]*\r?$))"
    r"|\$?\{\{[^{}\n]*\}\}|\{%[^\n]*?%\}",
    re.MULTILINE,
)
"""Expressions and statements of GitHub, Helm, Jinja and the like, and lines of nothing else."""


def without_templates(text: str, word: Callable[[int], str]) -> str:
    """A text for a parser: a comment where a template has a line, and ``word`` of as many characters elsewhere."""
    if "{{" not in text and "{%" not in text:
        return text

    def stand_in(template: re.Match[str]) -> str:
        if template["line"] is None:
            return word(len(template[0]))
        return template["indentation"] + "#" * len(template["line"])

    return _TEMPLATE.sub(stand_in, text)


class Tree:
    """The tree of one text. ``grammar`` is the package of its language, and ``what`` is read with it: "YAML files"."""

    def __init__(self, text: str, grammar: str, what: str) -> None:
        language = parser(grammar, what).language()
        tree_sitter = parser("tree_sitter", what)
        self._data = text.encode("utf-8", "surrogatepass")
        self._ascii = len(self._data) == len(text)
        self._tree = tree_sitter.Parser(tree_sitter.Language(language)).parse(self._data)

    @property
    def root(self) -> Node:
        node: Node = self._tree.root_node
        return node

    def span(self, node: Node) -> tuple[int, int]:
        """Where a node starts and ends in the text."""
        return self.offset(node.start_byte), self.offset(node.end_byte)

    def text_of(self, node: Node) -> str:
        """The text of a node."""
        return self._data[node.start_byte : node.end_byte].decode("utf-8", "surrogatepass")

    def walk(self) -> Iterator[Node]:
        """All nodes in the order of the text."""
        stack = [self.root]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def errors(self) -> list[tuple[int, int]]:
        """What the grammar could not make sense of."""
        if not self.root.has_error:
            return []
        return [self.span(node) for node in self.walk() if node.is_error or node.is_missing]

    def offset(self, byte: int) -> int:
        """The character at a byte."""
        return byte if self._ascii else self._characters[byte]

    @cached_property
    def _characters(self) -> list[int]:
        """The number of the character that each byte belongs to."""
        numbers: list[int] = []
        for number, character in enumerate(self._data.decode("utf-8", "surrogatepass")):
            numbers += [number] * len(character.encode("utf-8", "surrogatepass"))
        return [*numbers, len(numbers) and numbers[-1] + 1]
