"""What the files of a run know of each other, in the stand-in: only which of them were read."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from neuron_codemods.model import SourceError


@dataclass(frozen=True)
class ModuleFacts:
    path: str


@dataclass(frozen=True)
class Project:
    modules: tuple[ModuleFacts, ...] = ()

    def knowing(self, compiled: Iterable[object]) -> Project:
        return self


def collect(text: str, path: str) -> ModuleFacts:
    if "Neuron__raise_in_collect" in text:
        raise ValueError("collect is broken")
    try:
        ast.parse(text)
    except SyntaxError as error:
        raise SourceError(error.msg, error.lineno or 1, error.offset or 1) from error
    return ModuleFacts(path)
