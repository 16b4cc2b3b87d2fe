"""A stand-in for the real codemods: fixed words do what a rule might do, the bad things included.

Everything that the command and the codemods share comes from the real package: its directory is on this one's path, so
``neuron_codemods.model`` and ``neuron_codemods.needles`` are the real ones.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

__path__.append(str(Path(__file__).parents[4] / "codemods" / "neuron_codemods"))

_HOMES = {
    "migrate": "engine",
    "Settings": "model",
    "SourceError": "model",
    "ModuleFacts": "project",
    "Project": "project",
    "collect": "project",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(name)
