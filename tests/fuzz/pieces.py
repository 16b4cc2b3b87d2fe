"""What generated texts are made of: the rules' own cases, the scripts of other tests, and the table of names."""

from __future__ import annotations

import ast
import itertools
from functools import cache
from pathlib import Path

from neuron_codemods.source import Text, parse_module

from .corpus import rows


@cache
def cases(kind: str = "python") -> tuple[str, ...]:
    """The texts before and after of every case of one kind of text; notebooks are made of Python ones."""
    return tuple(row["text"] for row in rows() if row["kind"] == kind)


def scripts() -> tuple[str, ...]:
    """The scripts that other tests migrate, as they were before."""
    return cases("script")


@cache
def symbols() -> tuple[tuple[str, str], ...]:
    """The modules and names of Optimum Neuron that can be written in an import."""
    return tuple((row["module"], name) for row in rows() if row["kind"] == "names" for name in row["names"])


@cache
def all_keywords() -> tuple[str, ...]:
    """The keywords that any object of Optimum Neuron took."""
    return tuple(name for row in rows() if row["kind"] == "keywords" for name in row["names"])


def chunks(text: str) -> list[str]:
    """A program in parts, each with whole statements at the top of it and the lines above them."""
    tree = parse_module(text)
    if tree is None or not tree.body:
        return [text]
    lines = Text(text).lines
    ends = sorted({node.end_lineno or 1 for node in tree.body})
    starts = [min(getattr(node, "decorator_list", None) or [node], key=_line).lineno for node in tree.body]
    cut = [
        end for end in ends if not any(start <= end < (node.end_lineno or 1) for start, node in _with(starts, tree))
    ]
    bounds = [0, *cut[:-1], len(lines)]
    return ["".join(lines[first:last]) for first, last in itertools.pairwise(bounds)]


def _line(node: ast.AST) -> int:
    return node.lineno  # type: ignore[attr-defined, no-any-return]


def _with(starts: list[int], tree: ast.Module) -> list[tuple[int, ast.stmt]]:
    return list(zip(starts, tree.body, strict=True))


SYNTAX = tuple(Path(__file__).with_name("syntax.txt").read_text().split("---\n"))
"""Statements with the syntax of Python 3.8 to 3.14."""


@cache
def syntax() -> tuple[str, ...]:
    """Those that the running Python can read."""
    return tuple(text for text in SYNTAX if parse_module(text) is not None)
