"""Asks an interpreter about files, one after another: importing the libraries takes seconds, so it happens once."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
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
STARTS_WITHIN = 60
"""Seconds until an interpreter says that it runs the probe: one on a cold network disk takes some."""
ANSWERS_WITHIN = 900
"""Seconds until it has answered about one file: importing the libraries for that takes minutes on such a disk."""


class VerifyError(Exception):
    """The interpreter cannot be asked; the message says why."""


class Verifier:
    """One interpreter. Use it as a context; the process ends with it."""

    def __init__(self, python: str) -> None:
        self._python = python
        self._has_started = False
        self._is_late = False
        # A pipe that nobody reads would fill up.
        self._said = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 (closed with the process)
        try:
            self._process = subprocess.Popen(
                [python, str(PROBE)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                text=True,
                start_new_session=True,  # so that what a wrapper has started ends with it
            )
        except OSError as error:
            self._said.close()
            raise VerifyError(f"{python!r} cannot be run: {error.strerror or error}") from error

    def __enter__(self) -> Verifier:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
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
        if not self._has_started:
            self._answer("[]", STARTS_WITHIN)
            self._has_started = True
        answers: list[str | None] = json.loads(self._answer(json.dumps([asdict(use) for use in uses]), ANSWERS_WITHIN))
        return answers

    def _answer(self, question: str, seconds: float) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        patience = threading.Timer(seconds, self._give_up)
        patience.start()
        try:
            print(question, file=self._process.stdin, flush=True)
            line = next((line for line in self._process.stdout if line.startswith(SIGN)), "")
        except OSError:
            line = ""
        patience.cancel()
        if not line:
            self._process.communicate()
            self._said.seek(0)
            last = self._said.read().strip().splitlines()[-1:] or ["it ended without a word"]
            said = f"no answer came within {seconds} seconds" if self._is_late else last[0]
            raise VerifyError(f"{self._python!r} cannot tell what its libraries have: {said}")
        return line.removeprefix(SIGN)

    def _give_up(self) -> None:
        self._is_late = True
        self._end()

    def _end(self) -> None:
        """End the process with all that it has started: each of them holds the pipe that answers come from."""
        with contextlib.suppress(OSError):  # all of them have ended already
            getattr(os, "killpg", os.kill)(self._process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
