"""How the tests run the command: as a user does, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
FAKE = Path(__file__).parent / "fake"
"""Codemods with fixed words; the command behaves the same with the real ones."""
REAL = REPOSITORY / "codemods"

_OUT_OF_THE_WAY = ("NO_COLOR", "FORCE_COLOR", "CI", "PYTHONUTF8", "LC_ALL", "GIT_DIR", "COLUMNS")


@dataclass(frozen=True)
class Ended:
    """What a finished command leaves behind."""

    status: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()


def environment(codemods: Path = FAKE, **more: str) -> dict[str, str]:
    """The caller's environment, without what would change the output; every warning is an error."""
    variables = {name: value for name, value in os.environ.items() if name not in _OUT_OF_THE_WAY}
    path = os.pathsep.join(map(str, dict.fromkeys((codemods, REPOSITORY, REAL))))
    git = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return {**variables, "PYTHONPATH": path, "PYTHONWARNINGS": "error", "TERM": "xterm-256color", **git, **more}


UNMEASURED = {"COVERAGE_PROCESS_CONFIG": "", "COVERAGE_PROCESS_START": ""}
"""For processes in which the measuring of branches would be seen: what they import, or what they may write."""


def arguments(*given: str | Path) -> list[str]:
    return [sys.executable, "-m", "neuron_migrate", *map(str, given)]


@dataclass(frozen=True)
class Project:
    """A directory of files, in which the command runs."""

    root: Path
    codemods: Path = FAKE

    def write(self, files: Mapping[str, str | bytes]) -> Project:
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return self

    def read(self, name: str) -> bytes:
        return (self.root / name).read_bytes()

    def files(self) -> dict[str, bytes]:
        """Every file by its name, so that a test sees what should not be there."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and ".git" not in path.parts
        }

    def run(
        self, *given: str | Path, stdin: bytes = b"", cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> Ended:
        done = subprocess.run(
            arguments(*given),
            cwd=cwd or self.root,
            input=stdin,
            capture_output=True,
            env=environment(self.codemods, **(env or {})),
            timeout=60,
            check=False,
        )
        ended = Ended(done.returncode, done.stdout, done.stderr.decode(errors="replace"))
        assert "Traceback" not in ended.err or "--verbose" in given, ended.err
        return ended

    def tool(self, *given: str, stdin: bytes = b"", cwd: Path | None = None) -> Ended:
        """Any other program, such as git, which has to succeed."""
        done = subprocess.run(
            given, cwd=cwd or self.root, input=stdin, capture_output=True, env=environment(), timeout=60, check=False
        )
        assert done.returncode == 0, (given, done.stdout, done.stderr)
        return Ended(done.returncode, done.stdout, done.stderr.decode())


def found_in(source: str, env: Mapping[str, str], cwd: Path, given: Sequence[str] = ()) -> str:
    """What a piece of Python prints in a process like the command's."""
    done = subprocess.run(
        [sys.executable, "-c", source, *given],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout
