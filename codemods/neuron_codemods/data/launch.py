"""What becomes of the words on command lines: flags and commands.

``launch.tsv`` holds the commands of Optimum Neuron 0.0.1 to 0.4.5, the flags that its training arguments added to a
script, and those that transformers 4 and TRL 0 had and their next releases have not. It comes from a survey of the 36
releases and of transformers 4.28 to 5.24. Environment variables have a table of their own: ``variables.tsv``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pkgutil import get_data


@dataclass(frozen=True)
class Row:
    """One word and what becomes of it."""

    what: str
    """``neuron flag``, ``flag`` (of transformers and TRL), ``sft flag`` (of an ``SFTConfig``) or ``command``."""
    name: str
    """A flag without dashes, with underscores."""
    takes: str
    """For a flag: ``value``, or ``bool`` where a value may be missing."""
    action: str
    native: str
    reason: str
    """A sentence, or nothing where the native word says it all."""


@cache
def rows(what: str) -> Mapping[str, Row]:
    """The rows of one sort, by name."""
    content = get_data(__name__, "launch.tsv") or b""
    lines = content.decode().splitlines()[1:]
    return {row.name: row for row in (Row(*line.split("\t")) for line in lines) if row.what == what}
