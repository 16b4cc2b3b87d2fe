"""The machine as the checks see it; the tests make others."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DMI = Path("/sys/devices/virtual/dmi/id")
DEVICES = Path("/dev")


@dataclass(frozen=True)
class Machine:
    environment: Mapping[str, str]
    packages: Mapping[str, str]
    """Distributions that are installed, by normalised name, and their versions."""

    autoload: frozenset[str]
    """The entry points of the group torch.backends, as module:attribute."""

    python: tuple[int, int]
    system: str
    processor: str
    dmi: Mapping[str, str] = field(default_factory=dict)
    """What the firmware says: sys_vendor, product_name."""

    neuron_devices: int = 0
    """Chips that the driver shows as /dev/neuronN."""


def this_machine() -> Machine:
    packages, autoload = _packages()
    return Machine(
        environment=dict(os.environ),
        packages=packages,
        autoload=autoload,
        python=sys.version_info[:2],
        system=platform.system(),
        processor=platform.machine(),
        dmi={name: text for name in ("sys_vendor", "product_name") if (text := _read(DMI / name))},
        neuron_devices=_count_devices(),
    )


def normalised(name: str) -> str:
    """https://packaging.python.org/en/latest/specifications/name-normalization/"""
    return re.sub(r"[-_.]+", "-", name).lower()


def _packages() -> tuple[dict[str, str], frozenset[str]]:
    from importlib import metadata

    found: dict[str, str] = {}
    for distribution in metadata.distributions():
        fields: Any = distribution.metadata  # None, or without these, of a folder that was half removed
        name, version = (fields.get("Name"), fields.get("Version")) if fields is not None else (None, None)
        if name and version:  # the first one on the path is the one that is imported
            found.setdefault(normalised(name), version)
    return found, frozenset(point.value for point in metadata.entry_points(group="torch.backends"))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _count_devices() -> int:
    try:
        return sum(re.fullmatch(r"neuron\d+", path.name) is not None for path in DEVICES.iterdir())
    except OSError:
        return 0
