"""JSON: files of training arguments and of hyperparameters. No comment can stand in one, so no marker is written.

https://www.rfc-editor.org/rfc/rfc8259
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from neuron_codemods.jsontext import Value, scan
from neuron_codemods.source import Token
from neuron_codemods.texts import Parsed


def parse(text: str, path: str) -> Json:
    """A JSON text; raises :class:`SourceError` for one that is none."""
    return Json(text)


class Json(Parsed):
    """A JSON text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.root = scan(text, "JSON")

    def comments(self) -> Sequence[Token]:
        return ()

    def objects(self) -> Iterator[tuple[str, Value]]:
        """Every object that is not empty, with the key that it stands under, if it stands under one."""
        waiting = [("", self.root)]
        while waiting:
            key, value = waiting.pop()
            if value.members:
                yield key, value
            waiting += [("", item) for item in value.items or ()]
            waiting += [(self.said(name), inner) for name, inner in value.members]

    def said(self, value: Value) -> str:
        """What a scalar says: a string without its quotes, anything else as it is written."""
        raw = self.text[value.start : value.end]
        return str(json.loads(raw, strict=False)) if raw.startswith('"') else raw
