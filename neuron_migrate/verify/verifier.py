"""Asks an interpreter about files, one after another: importing the libraries takes seconds, so it happens once."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from neuron_migrate.documents.python import decode
from neuron_migrate.lines import line_in_new_text
from neuron_migrate.positions import moved
from neuron_migrate.results import FileResult
from neuron_migrate.verify.probe import SIGN

if TYPE_CHECKING:
    from neuron_codemods.library_uses import Use
    from neuron_codemods.model import Finding

PROBE = Path(__file__).with_name("probe.py")


class VerifyError(Exception):
    """The interpreter cannot be asked; the message says why."""


class Verifier:
    """One interpreter. Use it as a context; the process ends with it."""

    def __init__(self, python: str) -> None:
        self._python = python
        # A pipe that nobody reads would fill up.
        self._said = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 (closed with the process)
        try:
            self._process = subprocess.Popen(
                [python, str(PROBE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, text=True
            )
        except OSError as error:
            self._said.close()
            raise VerifyError(f"{python!r} cannot be run: {error.strerror or error}") from error

    def __enter__(self) -> Verifier:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._said.close()

    def checked(self, result: FileResult, *, written: bool) -> FileResult:
        """The result with a finding for each thing that the libraries lack; ``written`` if the new text is on disk.

        Raises :class:`VerifyError` when the interpreter gives no answer.
        """
        if result.problem is not None or not result.path.endswith((".py", ".pyi", ".pyw")):
            return result
        text = result.before if result.after is None else result.after
        found = list(self._findings(text))
        if result.after is not None and not written:  # then all places are those of the old text
            line = line_in_new_text(result.after, result.before)
            found = [moved(finding, line) for finding in found]
        merged = sorted((*result.findings, *found), key=lambda finding: (finding.start, finding.code))
        return replace(result, findings=tuple(merged))

    def _findings(self, data: bytes) -> Iterable[Finding]:
        from neuron_codemods.file.library_lacks import RULE
        from neuron_codemods.library_uses import library_uses
        from neuron_codemods.model import Finding, Outcome, Position
        from neuron_codemods.module import Module

        uses = library_uses(Module(decode(data).text, "<text>"))
        told = [(use, problem) for use, problem in zip(uses, self._ask(uses), strict=True) if problem is not None]
        missing = tuple(f"{use.dotted}." for use, _ in told if not use.called and not use.member)
        for use, problem in told:
            if not use.dotted.startswith(missing):  # what is in a module that is missing need not be told as well
                start, end = Position(use.line, use.column), Position(use.end_line, use.end_column)
                yield Finding(RULE.code, Outcome.MANUAL, f"{problem}.", start, end, RULE.url)

    def _ask(self, uses: list[Use]) -> list[str | None]:
        if not uses:
            return []
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps([asdict(use) for use in uses]), file=self._process.stdin, flush=True)
            line = next((line for line in self._process.stdout if line.startswith(SIGN)), "")
        except OSError:
            line = ""
        if not line:
            self._process.communicate()
            self._said.seek(0)
            last = self._said.read().strip().splitlines()[-1:] or ["it ended without a word"]
            raise VerifyError(f"{self._python!r} cannot tell what its libraries have: {last[0]}")
        answers: list[str | None] = json.loads(line.removeprefix(SIGN))
        return answers
