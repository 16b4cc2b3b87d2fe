"""Asks about each change of a file, as ``git add -p`` does, and keeps those that are wanted."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from neuron_migrate.diff import colored
from neuron_migrate.lines import Stretch, stretches
from neuron_migrate.output import NoAnswerError, Output
from neuron_migrate.results import FileResult

if TYPE_CHECKING:
    from neuron_codemods.model import Finding

CONTEXT = 3
COLORS = {"rewritten": "green", "review": "yellow", "manual": "red"}
QUESTION = "Apply this change [y,n,a,d,q,?]?"
HELP = """y - apply this change
n - leave these lines as they are
a - apply this change and all others of this file
d - leave this file, as far as it was not asked about, as it is
q - leave this change and all that follow
? - show this help"""


class Chooser:
    """Remembers between files that somebody has had enough."""

    def __init__(self, out: Output, ask: Callable[[], str] | None = None) -> None:
        self._out = out
        self._ask = ask or _ask
        self._over = False

    def chosen(self, result: FileResult) -> FileResult:
        """The result with the changes that are wanted, and with the findings that still hold."""
        if result.after is None or result.problem is not None:
            return result
        parts = stretches(result.before, result.after)
        wanted = self._wanted(result, parts)
        if all(wanted):
            return result
        data = b"".join(
            line for part, keep in zip(parts, wanted, strict=True) for line in (part.new if keep else part.old)
        )
        kept = [finding for finding in result.findings if _is_told(finding, parts, wanted)]
        return replace(
            result,
            after=data if data != result.before else None,
            findings=tuple(kept),
            launch=result.launch if data != result.before else (),
            declined=wanted.count(False),
        )

    def _wanted(self, result: FileResult, parts: Sequence[Stretch]) -> list[bool]:
        wanted = [part.equal for part in parts]
        changes = [number for number, part in enumerate(parts) if not part.equal]
        answer = "q" if self._over else ""
        for count, number in enumerate(changes, start=1):
            if answer not in ("a", "d", "q"):
                self._show(result, parts, number, f"{result.path}, change {count} of {len(changes)}")
                answer = self._answer()
                self._over = answer == "q"
            wanted[number] = answer in ("y", "a")
        return wanted

    def _answer(self) -> str:
        while True:
            answer = self._ask().strip().lower()[:1]
            if answer and answer in "ynadq":
                return answer
            self._out.line(HELP)

    def _show(self, result: FileResult, parts: Sequence[Stretch], number: int, title: str) -> None:
        part = parts[number]
        self._out.line()
        self._out.line(self._out.style(title, bold=True))
        before = parts[number - 1].old[-CONTEXT:] if number else ()
        after = parts[number + 1].old[:CONTEXT] if number + 1 < len(parts) else ()
        start = part.old_line - len(before)
        lines = [f"@@ line {start} @@\n".encode()]
        lines += [
            sign + line.rstrip(b"\r\n") + b"\n"
            for sign, group in ((b" ", before), (b"-", part.old), (b"+", part.new), (b" ", after))
            for line in group
        ]
        shown = b"".join(lines)
        self._out.data(colored(shown) if self._out.color else shown)
        for finding in result.findings:
            if part.old_line <= finding.start.line < part.old_line + max(len(part.old), 1):
                outcome = finding.outcome.value
                told = f"{self._out.style(finding.code, 'cyan')} {self._out.style(outcome, COLORS[outcome])}"
                self._out.paragraph(f"{told} {' '.join(finding.message.split())}", indentation=2)


def _ask() -> str:
    click.echo(f"{QUESTION} ", nl=False, err=True)
    answer = sys.stdin.readline() if sys.stdin is not None else ""
    if not answer:
        raise NoAnswerError
    return answer


def _is_told(finding: Finding, parts: Sequence[Stretch], wanted: Sequence[bool]) -> bool:
    """A finding about lines that stay as they were is not told as rewritten."""
    for part, keep in zip(parts, wanted, strict=True):
        if part.old_line <= finding.start.line < part.old_line + len(part.old):
            return keep
    return True
