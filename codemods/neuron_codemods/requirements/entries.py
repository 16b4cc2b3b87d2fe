"""A requirement with its place in a text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from neuron_codemods.kinds import parser

if TYPE_CHECKING:
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

_EGG = re.compile(r"#(?:.*&)?egg=([A-Za-z0-9._-]+)(?:\[([^\]]*)\])?")
_REPOSITORY = re.compile(r"/([A-Za-z0-9._-]+?)(?:\.git)?/?(?:@[^#]*)?(?:#.*)?$")


@dataclass(frozen=True)
class Entry:
    """One requirement, as it is written."""

    text: str
    """The requirement alone, without options, hashes and comments."""
    span: tuple[int, int]
    """Where that text stands."""
    hashed: bool = False
    """Whether hashes of files belong to it, which nobody but a resolver can renew."""


@dataclass(frozen=True)
class Known:
    """A requirement that could be read."""

    entry: Entry
    name: str
    """Normalized, as ``torch-neuronx``."""
    extras: frozenset[str]
    specifier: SpecifierSet
    marker: str
    """With its semicolon, ``; python_version < "3.12"``, or nothing."""
    is_address: bool = False
    """Whether it says where to get the distribution, not which version."""

    def allows(self, version: str) -> bool:
        return self.specifier.contains(version, prereleases=True)

    def allows_any_from(self, oldest: str) -> bool:
        """Whether it allows this version, or a later one that it names."""
        from packaging.version import InvalidVersion, Version

        for version in (oldest, *(clause.version for clause in self.specifier)):
            try:
                if Version(version) >= Version(oldest) and self.allows(version):
                    return True
            except InvalidVersion:  # a prefix, as in ==2.14.*
                continue
        return False

    def runs_on(self, python: str) -> bool:
        """Whether it is meant for this version of Python at all."""
        if not self.marker:
            return True
        from packaging.markers import Marker

        version = {"python_version": python, "python_full_version": f"{python}.0"}
        return Marker(self.marker.lstrip("; ")).evaluate(version)


def read(entry: Entry) -> Known | None:
    """What a requirement says; None if it is neither PEP 508 nor an address that tells a name."""
    requirements = parser("packaging.requirements", "requirements")
    try:
        found: Requirement = requirements.Requirement(entry.text)
    except requirements.InvalidRequirement:
        return _address(entry)
    marker = f"; {found.marker}" if found.marker else ""
    extras = frozenset(extra.lower().replace("_", "-") for extra in found.extras)
    return Known(entry, _normalized(found.name), extras, found.specifier, marker, found.url is not None)


def _address(entry: Entry) -> Known | None:
    """``git+https://example.org/name.git@v1#egg=name[extra]`` and the like, which pip takes too."""
    from packaging.specifiers import SpecifierSet

    if "://" not in entry.text:
        return None
    egg, repository = _EGG.search(entry.text), _REPOSITORY.search(entry.text)
    if egg is not None:
        extras = frozenset(extra.strip() for extra in (egg[2] or "").split(",") if extra.strip())
        return Known(entry, _normalized(egg[1]), extras, SpecifierSet(), "", is_address=True)
    return Known(entry, _normalized(repository[1]), frozenset(), SpecifierSet(), "", True) if repository else None


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
