"""Lock files of uv, Poetry, PDM, Pipenv and pylock.toml: which packages they hold, in which versions.

Nothing in them is edited: they are made from other files. https://packaging.python.org/en/latest/specifications/pylock-toml/
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

from neuron_codemods.texts import Parsed

_TOML = re.compile(r"^name\s*=\s*\"(?P<name>[^\"]+)\"\s*\r?\nversion\s*=\s*\"(?P<version>[^\"]*)\"", re.MULTILINE)
_JSON = re.compile(r"^\s*\"(?P<name>[\w.-]+)\": \{(?:[^{}]*\"version\": \"==(?P<version>[^\"]*)\")?", re.MULTILINE)
_MAKER = re.compile(r"^created-by\s*=\s*\"(?P<name>[\w-]+)", re.MULTILINE)
_COMMANDS = {
    "uv.lock": "uv lock",
    "poetry.lock": "poetry lock",
    "pdm.lock": "pdm lock",
    "Pipfile.lock": "pipenv lock",
}
_MAKERS = {"uv": "uv export --format pylock.toml -o {}", "pdm": "pdm lock"}


def parse(text: str, path: str) -> Lock:
    """A lock file; there is none that cannot be read."""
    return Lock(text, PurePath(path).name)


@dataclass(frozen=True)
class Package:
    """One package, as it is locked."""

    name: str
    version: str
    span: tuple[int, int]


class Lock(Parsed):
    """A lock file."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text)
        self._name = name

    @property
    def command(self) -> str:
        """The command that makes the file anew."""
        maker = _MAKER.search(self.text)
        by_maker = _MAKERS.get(maker["name"] if maker is not None else "", "pip lock -o {} .")
        return _COMMANDS.get(self._name) or by_maker.format(self._name)

    def packages(self) -> Iterator[Package]:
        """All packages, in order."""
        pattern = _JSON if self._name == "Pipfile.lock" else _TOML
        for match in pattern.finditer(self.text):
            yield Package(match["name"], match["version"] or "", match.span("name"))
