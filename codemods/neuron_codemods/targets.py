"""The versions of the libraries that migrated code is written for, where a project is held to older ones.

What differs was found by binding every result of the rules to the releases of transformers and TRL, and by training
the migrated examples with the oldest. transformers 5.19 has no ``transformers.distributed.checkpoint``, by which the
shim resumes, 5.18 no Trainer for models that are sharded where they are loaded, and 5.12 no ``DistributedConfig`` with
``tp_size``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuron_codemods.project import Project

Targets = tuple[tuple[str, str], ...]
"""Pairs of a library and a version; a library that is not named is the newest."""

OLDEST = {"transformers": "5.20", "trl": "1.0"}
"""The oldest version of each library that migrated code runs on."""

_NEWER = {
    "activation_checkpointing": ("transformers", "5.23", "gradient_checkpointing"),
    "activation_checkpointing_kwargs": ("transformers", "5.23", "gradient_checkpointing_kwargs"),
}
"""Names that older versions spell in another way, with the first version that has them."""

PADS_BY_ITSELF = ("trl", "1.16")
"""Since when the configurations of TRL pad to multiples of 128 on a Neuron device (``pad_to_multiple_of="auto"``)."""


class TargetError(ValueError):
    """A version that nothing can be written for; the message says why."""


def parsed(values: Iterable[str]) -> Targets:
    """The versions of texts like ``transformers=5.20``, in order; raises :class:`TargetError`."""
    versions = {}
    for value in values:
        library, equals, version = value.partition("=")
        if not equals:
            raise TargetError(f"{value!r} is no LIBRARY=VERSION, as in transformers=5.20")
        versions[library.strip().lower()] = version.removeprefix("=").strip()
    return checked(versions)


def checked(versions: Mapping[str, str]) -> Targets:
    """The versions, in order; raises :class:`TargetError`."""
    for library, version in versions.items():
        oldest = OLDEST.get(library)
        if oldest is None:
            raise TargetError(f"{library!r} is no library whose version matters; there are {', '.join(OLDEST)}")
        if not re.fullmatch(r"\d+(\.\d+){1,3}", version):
            raise TargetError(f"{version!r} is no version of {library}; write one like {oldest!r}")
        if _key(version) < _key(oldest):
            raise TargetError(f"{library} {version} is too old for migrated code, which needs {oldest} or later")
    return tuple(sorted(versions.items()))


def precedes(project: Project, library: str, version: str) -> bool:
    """Whether the project is held to a version of a library from before this one."""
    held = dict(project.targets).get(library)
    return held is not None and _key(held) < _key(version)


def spelled(project: Project, name: str) -> str:
    """A keyword as the project's versions spell it."""
    library, since, before = _NEWER.get(name, ("", "", name))
    return before if precedes(project, library, since) else name


def _key(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
