"""Finding the rules: every module of a room that holds a ``RULE`` is one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import neuron_codemods
from neuron_codemods.model import Case, Rule, Settings

ROOMS = ("file", "training", "inference", "diffusion", "launch", "packaging", "xla", "renames")
"""The folders that hold rules, in the order of their codes."""


@dataclass(frozen=True)
class RuleModule:
    """A rule with its code, its explanation and its cases, as one module gives them."""

    rule: Rule
    explanation: str
    cases: tuple[Case, ...]
    check: Callable[..., Iterable[Any]]
    """For Python, from a ``Module`` to ``edits.Change``; else from ``Parsed`` and ``Project`` to ``texts.Change``."""

    @property
    def what(self) -> str:
        """What the rule does: the first paragraph of its explanation, as one line."""
        return " ".join(self.explanation.partition("\n\n")[0].split())

    @property
    def why(self) -> str:
        """The other paragraphs, without the addresses at the end."""
        paragraphs = self.explanation.split("\n\n")[1:]
        return "\n\n".join(part for part in paragraphs if not part.lstrip().startswith("https://"))


@lru_cache(maxsize=64)
def enabled(kind: str, settings: Settings) -> tuple[RuleModule, ...]:
    """The rules that are to look at one kind of text, by code."""
    return tuple(entry for entry in of_kind(kind) if is_enabled(entry.rule.code, settings))


def of_kind(kind: str) -> tuple[RuleModule, ...]:
    """The rules that look at one kind of text, by code."""
    return tuple(entry for entry in rules() if entry.rule.kind == kind)


@cache
def rules() -> tuple[RuleModule, ...]:
    """All rules, by code."""
    found = []
    for room in pkgutil.iter_modules(neuron_codemods.__path__):
        if room.ispkg and room.name in ROOMS:
            package = importlib.import_module(f"neuron_codemods.{room.name}")
            for entry in pkgutil.iter_modules(package.__path__):
                module = importlib.import_module(f"{package.__name__}.{entry.name}")
                if hasattr(module, "RULE"):
                    explanation = (module.__doc__ or "").strip()
                    found.append(RuleModule(module.RULE, explanation, tuple(module.CASES), module.check))
    found.sort(key=lambda module: module.rule.code)
    return tuple(found)


ON_DEMAND = frozenset(("NM010",))
"""Rules that run only where they are selected by their whole code."""


def is_enabled(code: str, settings: Settings) -> bool:
    """Whether a rule is to run: the longest matching prefix decides, and ignoring wins over selecting."""
    if code in ON_DEMAND and code not in settings.select:
        return False
    selected = max((len(prefix) for prefix in settings.select if code.startswith(prefix)), default=-1)
    ignored = max((len(prefix) for prefix in settings.ignore if code.startswith(prefix)), default=-1)
    if not settings.select:
        selected = 0
    return selected > ignored
