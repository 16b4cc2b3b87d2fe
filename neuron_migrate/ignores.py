"""Which files .gitignore and ``--exclude`` take out.

The patterns are matched by pathspec, whose ``GitIgnoreSpec`` is tested against git itself: anchoring, ``**``, negation
and trailing blanks have more cases than a migration tool should know. It is imported when the first pattern is met.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class PatternError(ValueError):
    """A pattern that cannot be understood."""


def compiled(lines: Iterable[str]) -> GitIgnoreSpec:
    """The patterns, ready to match."""
    from pathspec import GitIgnoreSpec

    lines = tuple(lines)
    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError as error:
        raise PatternError(str(error)) from error


@dataclass(frozen=True)
class Ignores:
    """The patterns of one directory, and those of the directories above it that belong to the same repository."""

    base: str
    """The directory that the patterns are relative to, with a separator at its end."""
    spec: GitIgnoreSpec | None = None
    above: Ignores | None = None

    def ignored(self, path: str, *, directory: bool) -> bool:
        """Whether an absolute path is ignored; the closest file that has an opinion decides."""
        level: Ignores | None = self
        while level is not None:
            if level.spec is not None:
                relative = path[len(level.base) :].replace(os.sep, "/")
                verdict = level.spec.check_file(relative + "/" if directory else relative).include
                if verdict is not None:
                    return verdict
            level = level.above
        return False

    def enter(self, directory: str) -> Ignores:
        """The patterns that hold inside a directory that has a .gitignore."""
        spec = _read(os.path.join(directory, ".gitignore"))
        return Ignores(_with_separator(directory), spec, self) if spec is not None else self


def repository(directory: str) -> Ignores:
    """The patterns that hold at the root of a repository."""
    base = _with_separator(directory)
    own = Ignores(base, _read(os.path.join(directory, ".git", "info", "exclude")))
    return own.enter(directory)


def inside(directory: str) -> Ignores | None:
    """The patterns that hold in a directory, from its repository's root down; None outside a repository.

    Outside a repository .gitignore means nothing (as for git and ruff). A directory that is itself ignored was named
    on purpose: the patterns above it do not count then.
    """
    root = directory
    while not os.path.lexists(os.path.join(root, ".git")):
        parent = os.path.dirname(root)
        if parent == root:
            return None
        root = parent
    ignores = repository(root)
    step = root
    for name in os.path.relpath(directory, root).split(os.sep) if directory != root else ():
        step = os.path.join(step, name)
        if ignores.ignored(step, directory=True):
            return Ignores(_with_separator(directory)).enter(directory)
        ignores = ignores.enter(step)
    return ignores


def _read(path: str) -> GitIgnoreSpec | None:
    try:
        with open(path, encoding="utf-8-sig", errors="surrogateescape") as file:
            lines = [line for line in file.read().splitlines() if line.strip() and not line.startswith("#")]
    except OSError:  # none there, or none that we may read: git goes on as well
        return None
    if not lines:
        return None
    try:
        return compiled(lines)
    except PatternError:
        # git passes over a pattern that it cannot read and keeps the others
        return compiled(line for line in lines if _understood(line))


def _understood(line: str) -> bool:
    try:
        compiled((line,))
    except PatternError:
        return False
    return True


def _with_separator(directory: str) -> str:
    return directory if directory.endswith(os.sep) else directory + os.sep
