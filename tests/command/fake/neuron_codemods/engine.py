"""The words that the stand-in knows: some are migrated, some make it fail in every way that a rule can fail."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from neuron_codemods.model import Finding, Migration, Outcome, Position, Settings
from neuron_codemods.project import Project

WORDS = {
    "Neuron__old": ("native_new", "NM101", Outcome.REWRITTEN, "Neuron__old became native_new."),
    "Neuron__other": ("native_other", "NM102", Outcome.REVIEW, "Neuron__other became native_other;\nmind the memory."),
    "Neuron__hard": ("Neuron__hard", "NM201", Outcome.MANUAL, "Write this by hand."),
    "Neuron__snow": ("'\N{SNOWMAN}'", "NM101", Outcome.REWRITTEN, "A snowman."),
    "Neuron__long": ("native_long", "NM102", Outcome.REVIEW, "A-long-word " * 20 + "https://example.org/" + "x" * 60),
    "Neuron__break": ("def (", "NM101", Outcome.REWRITTEN, "No Python."),
    "Neuron__two_lines": ("native = 1\nnative", "NM101", Outcome.REWRITTEN, "Two lines."),
}


class PanicException(BaseException):
    """As pyo3 has it: not an Exception."""


DEFAULTS = Settings()
ALONE = Project()


def migrate(text: str, *, path: str = "<stdin>", settings: Settings = DEFAULTS, project: Project = ALONE) -> Migration:
    _misbehave(text)
    findings = []
    if "Neuron__project" in text:
        known = ", ".join(module.path for module in project.modules)
        findings.append(Finding("NM102", Outcome.REVIEW, f"Known: {known}", Position(1, 1), Position(1, 1)))

    def word(match: re.Match[str]) -> str:
        new, code, outcome, message = WORDS[match[0]]
        chosen = not settings.select or code.startswith(settings.select)
        if not chosen or (settings.ignore and code.startswith(settings.ignore)):
            return match[0]
        line = text.count("\n", 0, match.start()) + 1
        column = match.start() - (text.rfind("\n", 0, match.start()) + 1) + 1
        start = Position(line, column)
        findings.append(Finding(code, outcome, message, start, Position(line, column + len(match[0]))))
        if settings.annotate and outcome is Outcome.REVIEW:
            return f"{new}  # {code}"
        return new

    new = re.sub("|".join(WORDS), word, text)
    return Migration(new, new != text, tuple(findings), tuple(re.findall(r"# launch: ?(.*)", text)))


def _misbehave(text: str) -> None:
    if "Neuron__raise_value" in text:
        raise ValueError("a rule\nis broken")
    if "Neuron__raise_panic" in text:
        raise PanicException("called `Option::unwrap()` on a `None` value")
    if "Neuron__raise_recursion" in text:
        _misbehave(text)
    if "Neuron__die" in text:
        os._exit(3)
    if "Neuron__sleep" in text:
        waiting = os.environ.get("FAKE_WAITING")
        if waiting:
            Path(waiting).touch()
        time.sleep(60)
