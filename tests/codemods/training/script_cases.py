"""The scripts in ``scripts/``: a folder each, with the files before and after and what is to be found.

Written by hand after the idioms in the documentation and examples of Optimum Neuron 0.0.1 to 0.4.5; ``after`` and
``findings.txt`` are written by this program, and read through before they are committed:

    python tests/codemods/training/script_cases.py [NAME...]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from neuron_codemods import Migration, Project, collect, migrate

SCRIPTS = Path(__file__).with_name("scripts")


@dataclass(frozen=True)
class Script:
    """One project of one or a few files."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    def __str__(self) -> str:
        return self.name

    def files(self, side: str) -> dict[str, str]:
        """The files before or after, by name."""
        paths = sorted((self.folder / side).glob("*.py"))
        return {path.name: path.read_text(encoding="utf-8") for path in paths}

    @property
    def findings(self) -> str:
        return (self.folder / "findings.txt").read_text(encoding="utf-8")

    def write(self) -> None:
        """Make what comes out now the expected result."""
        after = self.folder / "after"
        after.mkdir(exist_ok=True)
        migrations = migrated(self.files("before"))
        for name, migration in migrations.items():
            (after / name).write_text(migration.text, encoding="utf-8")
        (self.folder / "findings.txt").write_text(report(migrations), encoding="utf-8")


def all_scripts() -> list[Script]:
    return [Script(path) for path in sorted(SCRIPTS.iterdir()) if (path / "before").is_dir()]


def migrated(files: dict[str, str]) -> dict[str, Migration]:
    """The files of a project, migrated together."""
    project = Project(tuple(collect(text, name) for name, text in files.items()))
    return {name: migrate(text, path=name, project=project) for name, text in files.items()}


def report(migrations: dict[str, Migration]) -> str:
    """What is found, one line each, and what stands before torchrun."""
    lines = []
    for name, migration in migrations.items():
        for finding in migration.findings:
            place = f"{name}:{finding.start.line}:{finding.start.column}"
            lines.append(f"{place} {finding.code} {finding.outcome.value}: {finding.message}")
        lines += [f"{name} launch: {line or 'torchrun alone'}" for line in migration.launch]
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    for script in all_scripts():
        if script.name in sys.argv[1:] or not sys.argv[1:]:
            script.write()
