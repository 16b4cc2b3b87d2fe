"""What transformers 5, TRL 1 and the libraries around them renamed or removed, as one table.

``renames.tsv`` comes from a survey of their releases and is written by ``tools/build_renames.py``: change a row there,
not in the file. Reading it imports no other library, and it is not read before it is asked for.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pkgutil import get_data
from types import MappingProxyType


@dataclass(frozen=True)
class Rename:
    """One keyword, parameter, name, method or task of an older release, and what becomes of it."""

    kind: str
    """keyword (of an arguments class), parameter (of a trainer), name (of a module), loading (a keyword of
    ``from_pretrained``), tokenizer (an attribute), task (of ``pipeline``), call (a keyword of a function), variable
    (of the environment), default, attribute or saving."""
    owner: str
    """The dotted name of the class, function or module as it is now."""
    old: str
    action: str
    """rename, drop, value (a switch becomes a value of another keyword), key (becomes a key of a mapping), object
    (becomes an argument of an object), move (into the configuration of the trainer), default (its default changed),
    manual, rule (a rule of its own knows) or keep."""
    new: str
    """The new spelling; ``keyword=text`` for a value, ``keyword:key`` for a key or an object, the new default, or the
    code of the rule."""
    inert: str
    """The values that never made a difference, as source text; a star for all; the old default for a default."""
    message: str
    """What differs or what to do, as a sentence; for a default the release that changed it."""
    origin: str
    """survey, or libraries for what only the installed libraries told."""

    def is_inert(self, value: object) -> bool:
        """Whether a value (or ``UNKNOWN``) never made a difference."""
        return self.inert == "*" or any(value == known and type(value) is type(known) for known in _values(self.inert))


@cache
def _values(inert: str) -> tuple[object, ...]:
    return tuple(_value(text) for text in inert.split(",")) if inert else ()


def _value(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


@cache
def all_renames() -> tuple[Rename, ...]:
    """Every row of the table."""
    content = get_data(__package__ or "", "renames.tsv")
    if content is None:  # pragma: no cover (a loader that cannot read files beside the modules it loads)
        raise FileNotFoundError("renames.tsv is missing")
    return tuple(Rename(*line.split("\t")) for line in content.decode().rstrip("\n").split("\n")[1:])


@cache
def renames(kind: str) -> Mapping[str, Mapping[str, Rename]]:
    """The rows of one kind, by owner and old spelling."""
    table: dict[str, dict[str, Rename]] = {}
    for row in all_renames():
        if row.kind == kind:
            table.setdefault(row.owner, {})[row.old] = row
    return MappingProxyType(table)
