"""Which files .gitignore and ``--exclude`` take out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from neuron_migrate import gitignore
from neuron_migrate.gitignore import PatternError, Patterns


def excluding(globs: Iterable[str]) -> Patterns:
    """The patterns of ``--exclude``. A user can mend one that never matches, so it is an error here."""
    patterns = []
    for glob in globs:
        try:
            if not glob.strip():
                raise PatternError("it is empty")
            if ".." in glob.split("/"):
                raise PatternError("it leads out of the directory")
            pattern = gitignore.parse(os.fsencode(glob))
        except PatternError as error:
            raise PatternError(f"{glob!r} can never match: {error}") from error
        if pattern is not None:
            patterns.append(pattern)
    return Patterns(patterns)


@dataclass(frozen=True)
class Ignores:
    """The patterns of one directory, and those of the directories above it that belong to the same repository."""

    base: str
    """The directory that the patterns are relative to, with a separator at its end."""
    patterns: Patterns | None = None
    above: Ignores | None = None

    def ignored(self, path: str, *, directory: bool) -> bool:
        """Whether an absolute path is ignored; the closest file that has an opinion decides."""
        level: Ignores | None = self
        while level is not None:
            if level.patterns is not None:
                verdict = level.patterns.verdict(slashed(path[len(level.base) :]), directory=directory)
                if verdict is not None:
                    return verdict
            level = level.above
        return False

    def enter(self, directory: str) -> Ignores:
        """The patterns that hold inside a directory that has a .gitignore."""
        patterns = _read(os.path.join(directory, ".gitignore"))
        return Ignores(_with_separator(directory), patterns, self) if patterns is not None else self


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


def slashed(path: str) -> bytes:
    """A path as patterns see it."""
    return os.fsencode(path.replace(os.sep, "/"))


def _read(path: str) -> Patterns | None:
    if not os.path.isfile(path):  # a pipe of that name would be waited for
        return None
    try:
        with open(path, "rb") as file:
            return gitignore.read(file.read()) or None
    except OSError:  # none that we may read: git goes on as well
        return None


def _with_separator(directory: str) -> str:
    return directory if directory.endswith(os.sep) else directory + os.sep
