"""The dataclasses of a script: which ones a parser fills, and their fields."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.module import Module
from neuron_codemods.values import keyword, parsed_classes


def local_dataclasses(module: Module, parser: ast.Call) -> Iterator[ast.ClassDef]:
    """The classes that a parser fills and that are defined in this module, in order."""
    for node in parsed_classes(module, parser):
        if isinstance(node, ast.Name):
            binding = module.binding(node)
            if binding is not None and isinstance(binding.node, ast.ClassDef):
                yield binding.node


def fields(definition: ast.ClassDef) -> list[ast.AnnAssign]:
    """The fields of a dataclass, in order."""
    return [item for item in definition.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)]


def field_default(definition: ast.ClassDef, name: str) -> ast.expr | None:
    """The expression of a field's default (of a field without one: an empty tuple), or None without the field."""
    for item in fields(definition):
        if isinstance(item.target, ast.Name) and item.target.id == name:
            value = item.value
            if isinstance(value, ast.Call):
                default = keyword(value, "default")
                return default.value if default is not None else ast.Tuple([], ast.Load())
            return value if value is not None else ast.Tuple([], ast.Load())
    return None
