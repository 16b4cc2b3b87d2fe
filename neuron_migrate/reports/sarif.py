"""The report for code scanning: SARIF 2.1.0.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from neuron_migrate import __version__
from neuron_migrate.output import Output
from neuron_migrate.reports import Mode
from neuron_migrate.results import FileResult, Problem, Totals

if TYPE_CHECKING:
    from neuron_codemods.model import Finding
    from neuron_codemods.registry import RuleModule

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"manual": "error", "review": "warning", "rewritten": "note"}
ROOT = "SRCROOT"


class SarifReport:
    """One run, written at the end."""

    def __init__(self, mode: Mode, out: Output, rules: Callable[[], Sequence[RuleModule]]) -> None:
        self._mode = mode
        self._out = out
        self._rules = rules
        self._results: list[dict[str, Any]] = []
        self._problems: list[dict[str, Any]] = []
        self._seen: dict[tuple[str, str, str], int] = {}

    def file(self, result: FileResult) -> None:
        """Tell of one file."""
        if result.problem is not None:
            self._problems.append(_notification(result.path, result.problem))
        self._results += [self._result(result.path, finding) for finding in result.findings]

    def end(self, totals: Totals) -> None:
        """Tell all."""
        rules = [_rule(module) for module in self._rules()]
        index = {rule["id"]: number for number, rule in enumerate(rules)}
        for result in self._results:
            result["ruleIndex"] = index[result["ruleId"]]
        run = {
            "tool": {
                "driver": {
                    "name": "neuron-migrate",
                    "version": __version__,
                    "rules": rules,
                }
            },
            "invocations": [
                {
                    "executionSuccessful": not totals.failed,
                    "exitCode": totals.status(writes=self._mode.writes),
                    "toolExecutionNotifications": self._problems,
                }
            ],
            "originalUriBaseIds": {ROOT: {"uri": Path.cwd().as_uri() + "/"}},
            "columnKind": "unicodeCodePoints",
            "results": self._results,
        }
        self._out.line(json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2))

    def _result(self, path: str, finding: Finding) -> dict[str, Any]:
        message = " ".join(finding.message.split())
        region = {
            "startLine": finding.start.line,
            "startColumn": finding.start.column,
            "endLine": finding.end.line,
            "endColumn": finding.end.column,
        }
        return {
            "ruleId": finding.code,
            "level": LEVELS[finding.outcome.value],
            "kind": "fail",
            "message": {"text": finding.told},
            "locations": [{"physicalLocation": {"artifactLocation": _artifact(path), "region": region}}],
            "partialFingerprints": {"neuronMigrate/v1": self._fingerprint(path, finding.code, message)},
            "properties": {"outcome": finding.outcome.value},
        }

    def _fingerprint(self, path: str, code: str, message: str) -> str:
        """The same for one finding in two runs, wherever its line has moved to in between."""
        key = (path, code, message)
        self._seen[key] = self._seen.get(key, 0) + 1
        said = "\0".join((*key, str(self._seen[key])))
        return sha256(said.encode(errors="surrogateescape")).hexdigest()[:32]


def _rule(module: RuleModule) -> dict[str, Any]:
    rule = module.rule
    worst = [outcome.value for outcome in rule.outcomes]
    level = next(LEVELS[outcome] for outcome in LEVELS if outcome in worst)
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": module.what},
        "helpUri": rule.url,
        "help": {"text": f"{module.what}\n\n{module.why}".strip()},
        "defaultConfiguration": {"level": level},
        "properties": {"outcomes": worst, "tags": ["migration", "aws-neuron"]},
    }


def _notification(path: str, problem: Problem) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(path)}
    if problem.line is not None:
        place["region"] = {"startLine": problem.line, "startColumn": problem.column or 1}
    return {
        "level": "error",
        "message": {"text": problem.reason},
        "locations": [{"physicalLocation": place}],
    }


def _artifact(path: str) -> dict[str, str]:
    if os.path.isabs(path):
        return {"uri": "file://" + quote(os.fsencode(path))}
    return {"uri": quote(os.fsencode(path.replace(os.sep, "/"))), "uriBaseId": ROOT}
