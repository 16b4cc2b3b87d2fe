"""``[tool.neuron-migrate]`` in a pyproject.toml: what a project wants, unless the command line says otherwise.

As for ruff, a file belongs to the nearest pyproject.toml above it that has such a table, so one run over many projects
treats each as its own people wish. Paths in it are seen from its directory.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from neuron_codemods.model import Settings
from neuron_codemods.needles import asked_for
from neuron_migrate.gitignore import PatternError, Patterns
from neuron_migrate.ignores import excluding, slashed

NAME = "pyproject.toml"
TABLE = "neuron-migrate"


class ConfigurationError(ValueError):
    """A pyproject.toml that cannot be followed: which one, and what is wrong with it."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


@dataclass(frozen=True)
class Configuration:
    """One table, checked."""

    directory: str = ""
    settings: Settings = field(default_factory=Settings)
    exclude: Patterns | None = field(default=None, compare=False)
    per_file_ignores: tuple[tuple[Patterns, tuple[str, ...]], ...] = field(default=(), compare=False)

    def excludes(self, path: str) -> bool:
        """Whether a file, or a directory above it, is excluded."""
        return self.exclude is not None and _matches(self.exclude, self._relative(path))

    def for_file(self, path: str) -> Settings:
        """The settings for one file."""
        relative = self._relative(path)
        codes = [code for patterns, codes in self.per_file_ignores for code in codes if _matches(patterns, relative)]
        if not codes:
            return self.settings
        # A code that is selected by a longer prefix would win over the shorter one that is ignored here.
        selected = [one for one in self.settings.select if any(one.startswith(code) for code in codes)]
        return replace(self.settings, ignore=(*self.settings.ignore, *codes, *selected))

    def _relative(self, path: str) -> str:
        return os.path.relpath(os.path.realpath(path), self.directory) if self.directory else path


Prefixes = Callable[[Iterable[str]], tuple[str, ...]]
"""Checks rule codes and prefixes; raises ``ValueError`` for one that no rule has."""


class Configurations:
    """The configuration of every file of a run, each pyproject.toml read once."""

    def __init__(self, given: Mapping[str, Any], *, use: bool, prefixes: Prefixes) -> None:
        self._given = dict(given)
        """What the command line says, by the names of the keys: it takes their place."""
        self._use = use
        self._prefixes = prefixes
        self._above = lru_cache(maxsize=None)(self._find)

    def of(self, path: str) -> Configuration:
        """The configuration of a file. Raises :class:`ConfigurationError`."""
        found = self._above(os.path.dirname(os.path.realpath(path))) if self._use else None
        if isinstance(found, ConfigurationError):
            raise found.with_traceback(None)
        configuration = found or Configuration()
        settings = {key: value for key, value in self._given.items() if key != "exclude"}
        configuration = replace(configuration, settings=replace(configuration.settings, **settings))
        return replace(configuration, exclude=None) if "exclude" in self._given else configuration

    def needles(self, paths: Iterable[str]) -> tuple[bytes, ...]:
        """What Python files below these paths are looked at for beside the usual, by the rules that are selected."""
        found: dict[bytes, None] = {}
        for path in paths:
            try:
                select = self.of(os.path.join(path, NAME)).settings.select
            except ConfigurationError:  # reported with the files that it is about
                continue
            found.update(dict.fromkeys(asked_for(select)))
        return tuple(found)

    def _find(self, directory: str) -> Configuration | ConfigurationError | None:
        try:
            found = self._read(os.path.join(directory, NAME))
        except ConfigurationError as error:  # kept, for the next file below
            return error
        if found is not None:
            return found
        parent = os.path.dirname(directory)
        return None if parent == directory else self._above(parent)

    def _read(self, path: str) -> Configuration | None:
        if not os.path.isfile(path):  # a pipe of that name would be waited for
            return None
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError:  # none that we may read
            return None
        if TABLE.encode() not in data:
            return None
        table = _table(path, data)
        return None if table is None else self._checked(path, table)

    def _checked(self, path: str, table: Mapping[str, Any]) -> Configuration:
        for key in table:
            if key not in KEYS:
                raise ConfigurationError(path, f"[tool.{TABLE}] has no key {key!r}{_near(key)}")
        for key, value in table.items():
            if not KEYS[key].fits(value):
                raise ConfigurationError(path, f"[tool.{TABLE}]: {key} must be {KEYS[key].described}")
        try:
            settings = Settings(
                select=self._prefixes(table.get("select", ())),
                ignore=self._prefixes(table.get("ignore", ())),
                annotate=table.get("annotate", False),
                shim=table.get("shim", True),
                targets=_targets(table.get("target-versions", {})),
            )
            per_file = tuple(
                (excluding([glob]), self._prefixes(codes)) for glob, codes in table.get("per-file-ignores", {}).items()
            )
            exclude = excluding(table["exclude"]) if "exclude" in table else None
        except PatternError as error:
            raise ConfigurationError(path, f"[tool.{TABLE}]: the pattern {error}") from error
        except ValueError as error:
            raise ConfigurationError(path, f"[tool.{TABLE}]: {error}") from error
        return Configuration(os.path.dirname(path), settings, exclude, per_file)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


@dataclass(frozen=True)
class Key:
    """What a key of the table may hold."""

    described: str
    fits: Callable[[Any], bool]


KEYS = {
    "select": Key('a list of rule codes, as in ["NM1"]', _is_texts),
    "ignore": Key('a list of rule codes, as in ["NM122"]', _is_texts),
    "per-file-ignores": Key(
        'a table of patterns and rule codes, as in {"legacy/" = ["NM1"]}',
        lambda value: isinstance(value, dict) and all(map(_is_texts, value.values())),
    ),
    "exclude": Key('a list of patterns as in .gitignore, like ["third_party/"]', _is_texts),
    "annotate": Key("true or false", lambda value: isinstance(value, bool)),
    "shim": Key("true or false", lambda value: isinstance(value, bool)),
    "target-versions": Key(
        'a table of libraries and versions, as in {transformers = "5.20"}',
        lambda value: isinstance(value, dict) and all(isinstance(version, str) for version in value.values()),
    ),
}


def _table(path: str, data: bytes) -> dict[str, Any] | None:
    if sys.version_info >= (3, 11):
        import tomllib
    else:  # pragma: no cover (Python 3.10)
        import tomli as tomllib
    try:
        document = tomllib.loads(data.decode())
    except ValueError as error:
        raise ConfigurationError(path, f"it cannot be read: {error}") from error
    except RecursionError:
        raise ConfigurationError(path, "it cannot be read: nested too deeply") from None
    tool = document.get("tool", {})
    table = tool.get(TABLE) if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigurationError(path, f"tool.{TABLE} must be a table")
    return table


def _targets(versions: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    if not versions:
        return ()  # the table of versions is not imported for nothing
    from neuron_codemods.targets import checked

    return checked(versions)


def _matches(patterns: Patterns, path: str) -> bool:
    return any(
        bool(patterns.verdict(slashed(part), directory=directory)) for part, directory in _path_and_parents(path)
    )


def _path_and_parents(path: str) -> Iterator[tuple[str, bool]]:
    parts = path.split(os.sep)
    for count in range(1, len(parts)):
        yield os.sep.join(parts[:count]), True
    yield path, False


def _near(key: str) -> str:
    import difflib

    close = difflib.get_close_matches(key, KEYS, n=1)
    return f" (did you mean {close[0]!r}?)" if close else f"; there are {', '.join(KEYS)}"
