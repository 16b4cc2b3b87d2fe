"""From the paths on the command line to the files to look at, in a fixed order, each one once.

As in ruff: a named file is always taken; a directory is walked without following links to directories; .gitignore
holds inside a git repository only; and directories with other people's code or build products are left out.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from neuron_migrate.documents import Kind, by_name, may_be_a_script
from neuron_migrate.gitignore import Patterns
from neuron_migrate.ignores import Ignores, excluding, inside, repository, slashed
from neuron_migrate.results import FileResult, Problem

SKIPPED = frozenset(
    (  # noqa: SIM905 (one string keeps to four lines what would be thirty)
        ".bzr .direnv .eggs .git .git-rewrite .hg .ipynb_checkpoints .mypy_cache .nox .pants.d .pyenv .pytest_cache "
        ".pytype .ruff_cache .svn .tox .venv .vscode __pycache__ __pypackages__ _build buck-out build dist "
        "node_modules site-packages"
    ).split()
)
"""Names of directories that are not walked unless named: ruff's list, with ``__pycache__``.

A virtual environment under any other name is told by its pyvenv.cfg.
"""


class Found(NamedTuple):
    """A file to look at."""

    path: str
    """As it is shown and opened: relative to the current directory where it lies inside."""
    kind: Kind | None
    """None if the name does not tell; then the first line may."""
    named: bool
    """Whether the file was named on the command line, so that a kind that is not known is worth a word."""


def discover(
    paths: Iterable[str], exclude: Iterable[str] = (), *, skip_unknown: bool = False
) -> Iterator[Found | FileResult]:
    """The files below these paths; a path that cannot be used is a result with a problem."""
    walk = _Walk(excluding(exclude) or None, skip_unknown)
    for path in paths:
        yield from walk.path(path)


class _Entry(NamedTuple):
    name: str
    directory: bool
    kind: Kind | None


class _Level(NamedTuple):
    """One directory of the walk that is not yet done."""

    shown: str
    real: str
    ignores: Ignores | None
    entries: Iterator[_Entry]


class _Walk:
    def __init__(self, exclude: Patterns | None, skip_unknown: bool) -> None:
        self._names_count = not skip_unknown
        self._exclude = exclude
        self._cwd = os.path.realpath(os.getcwd()) if exclude is not None else ""
        self._seen: set[str] = set()

    def path(self, path: str) -> Iterator[Found | FileResult]:
        """One path of the command line."""
        shown = displayed(path)
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            yield FileResult(shown, problem=Problem("this path does not exist"))
            return
        except (OSError, ValueError) as error:
            yield FileResult(shown, problem=Problem(f"this path cannot be used: {said(error)}"))
            return
        if stat.S_ISDIR(mode):
            real = os.path.realpath(path)
            yield from self._directory("" if shown == os.curdir else shown, real, inside(real))
        elif stat.S_ISREG(mode):
            directory, name = os.path.split(path)
            if self._new(os.path.join(os.path.realpath(directory), name)):
                yield Found(shown, by_name(name), named=self._names_count)
        else:
            yield FileResult(shown, problem=Problem("this is neither a regular file nor a directory"))

    def _directory(self, shown: str, real: str, ignores: Ignores | None) -> Iterator[Found | FileResult]:
        self._top = _join(real, "")
        # A stack, not recursion: a tree may be deeper than Python's limit.
        stack: list[_Level] = []
        descend: tuple[str, str] | None = (shown, real)
        while True:
            if descend is not None:
                above = stack[-1].ignores if stack else ignores
                try:
                    level = self._level(*descend, above, root=not stack)
                except OSError as error:
                    problem = Problem(f"this directory cannot be listed: {said(error)}")
                    yield FileResult(descend[0] or os.curdir, problem=problem)
                else:
                    stack.append(level)
                descend = None
            if not stack:
                return
            level = stack[-1]
            for name, directory, kind in level.entries:
                entry_real = _join(level.real, name)
                if self._out(entry_real, level.ignores, directory=directory) or not self._new(entry_real):
                    continue
                entry_shown = _join(level.shown, name)
                if directory:
                    descend = (entry_shown, entry_real)
                    break
                yield Found(entry_shown, kind, named=False)
            else:
                stack.pop()

    def _level(self, shown: str, real: str, ignores: Ignores | None, *, root: bool) -> _Level:
        entries: list[_Entry] = []
        has_patterns = is_repository = False
        with os.scandir(shown or os.curdir) as found:
            for entry in found:
                name = entry.name
                if name == ".gitignore":
                    has_patterns = True
                elif name == ".git":
                    is_repository = True
                elif name == "pyvenv.cfg" and not root:
                    return _Level(shown, real, ignores, iter(()))
                elif entry.is_dir(follow_symlinks=False):
                    if name not in SKIPPED:
                        entries.append(_Entry(name, True, None))
                else:
                    kind = by_name(name)
                    if (kind is not None or may_be_a_script(name)) and _is_file(entry) and not self._leads_out(entry):
                        entries.append(_Entry(name, False, kind))
        entries.sort()
        if root:
            pass  # inside() has read the root's own patterns
        elif is_repository:  # a repository in a repository has its own rules only
            ignores = repository(real)
        elif has_patterns and ignores is not None:
            ignores = ignores.enter(real)
        return _Level(shown, real, ignores, iter(entries))

    def _leads_out(self, entry: os.DirEntry[str]) -> bool:
        """Whether a link leads out of the directory that was given: what is there was not."""
        return entry.is_symlink() and not os.path.realpath(entry.path).startswith(self._top)

    def _out(self, real: str, ignores: Ignores | None, *, directory: bool) -> bool:
        if self._exclude is not None:
            within = real.startswith(self._cwd + os.sep)
            relative = real[len(self._cwd) + 1 :] if within else real.lstrip(os.sep)
            if self._exclude.verdict(slashed(relative), directory=directory):
                return True
        return ignores is not None and ignores.ignored(real, directory=directory)

    def _new(self, real: str) -> bool:
        before = len(self._seen)
        self._seen.add(real)
        return len(self._seen) > before


def displayed(path: str) -> str:
    """A path as it is shown: relative to the current directory where it lies inside, else as it was given."""
    if not path:
        return '""'
    if os.pardir in path.replace(os.sep, "/").split("/"):
        return path  # taking ".." out by the letter is wrong where a link is in between
    cwd = os.getcwd()
    absolute = os.path.abspath(path)
    if absolute == cwd:
        return os.curdir
    below = _join(cwd, "")
    return absolute[len(below) :] if absolute.startswith(below) else absolute


def said(error: Exception) -> str:
    """What the operating system says, without the path and the number."""
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that leads to itself
        return False


def _join(directory: str, name: str) -> str:
    if not directory or directory.endswith(os.sep):
        return directory + name
    return directory + os.sep + name
