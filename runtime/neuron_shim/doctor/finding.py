"""One line of the report."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Verdict(str, Enum):
    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    topic: str
    fact: str
    verdict: Verdict = Verdict.OK
    advice: str = ""
    command: str = ""
    """What to type, if one line does it."""

    url: str = ""
