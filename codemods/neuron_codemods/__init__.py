"""The rules that move Optimum Neuron code to native PyTorch: pure functions from text to text and findings.

No file is opened here. Names are loaded on first use, so that ``neuron_codemods.needles`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neuron_codemods.engine import migrate as migrate
    from neuron_codemods.model import Case as Case
    from neuron_codemods.model import Finding as Finding
    from neuron_codemods.model import Migration as Migration
    from neuron_codemods.model import Outcome as Outcome
    from neuron_codemods.model import Position as Position
    from neuron_codemods.model import Rule as Rule
    from neuron_codemods.model import Settings as Settings
    from neuron_codemods.model import SourceError as SourceError
    from neuron_codemods.project import ModuleFacts as ModuleFacts
    from neuron_codemods.project import Project as Project
    from neuron_codemods.project import collect as collect
    from neuron_codemods.texts import migrate_text as migrate_text

_HOMES = {
    "migrate": "engine",
    "Case": "model",
    "Finding": "model",
    "Migration": "model",
    "Outcome": "model",
    "Position": "model",
    "Rule": "model",
    "Settings": "model",
    "SourceError": "model",
    "ModuleFacts": "project",
    "Project": "project",
    "collect": "project",
    "migrate_text": "texts",
}

__all__ = [
    "Case",
    "Finding",
    "Migration",
    "ModuleFacts",
    "Outcome",
    "Position",
    "Project",
    "Rule",
    "Settings",
    "SourceError",
    "collect",
    "migrate",
    "migrate_text",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
