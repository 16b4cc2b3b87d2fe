"""Which project a file of a run belongs to, for reports about many of them."""

from __future__ import annotations

import os
from collections import Counter
from functools import cache

from neuron_migrate.results import FileResult

ROOTS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
"""What stands in the directory of a project."""
COLUMNS = ("files", "rewritten", "review", "manual", "failed")
"""What is counted of each project: files with something to tell, references by outcome, files not processed."""


@cache
def project_of(directory: str) -> str:
    """The nearest directory, from this one upwards, that holds a project; the one where the run began if none does."""
    if any(os.path.lexists(os.path.join(directory, name)) for name in ROOTS):
        return directory or "."
    above = os.path.dirname(directory)
    return project_of(above) if above != directory else "."


class Projects:
    """Counts by project."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {}

    def add(self, result: FileResult) -> None:
        """Count one file; one with nothing to tell is left out."""
        if not (result.changed or result.findings or result.problem):
            return
        counts = self._counts.setdefault(project_of(os.path.dirname(result.path)), Counter())
        failed = result.problem.files if result.problem is not None else 0
        counts["files"] += failed or 1
        counts["failed"] += failed
        counts.update(finding.outcome.value for finding in result.findings)

    def rows(self) -> list[tuple[str, tuple[int, ...]]]:
        """The projects with their counts, those with most left to do first; nothing where there is only one."""
        rows = [(name, tuple(counts[column] for column in COLUMNS)) for name, counts in self._counts.items()]
        if len(rows) < 2:
            return []
        return sorted(rows, key=lambda row: (-row[1][3] - row[1][4], -row[1][2], row[0]))
