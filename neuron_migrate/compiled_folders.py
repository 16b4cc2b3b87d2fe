"""Which model a folder with a compiled one was made of: what its configuration says, where the folder is at hand.

A rule opens no file, so the command looks for it: ``neuron_config.json`` (Optimum Neuron 0.2 and later) names the
``checkpoint_id``, ``config.json`` has kept the ``_name_or_path`` of the original.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuron_codemods import ModuleFacts
    from neuron_codemods.project import Compiled

_LARGEST = 1 << 20
"""How many bytes of a configuration are read at most: real ones have a few thousand."""


def compiled(modules: Iterable[ModuleFacts]) -> Iterator[Compiled]:
    """Each folder that a file asks for and whose configuration names the original model."""
    from neuron_codemods.project import folder_of

    for module in modules:
        for folder in sorted(module.asks):
            # A script starts beside itself or where the command does; which of the two, its text does not say.
            for place in (Path(module.path).parent / folder, Path(folder)):
                found = read(place)
                if found is not None:
                    yield replace(found, folder=folder_of(module.path, folder))
                    break


def read(folder: Path) -> Compiled | None:
    """What a folder says of the model that it was compiled from, or None where it does not name it."""
    from neuron_codemods.project import Compiled

    exported = _read(folder / "neuron_config.json")
    checkpoint = exported.get("checkpoint_id")
    if isinstance(checkpoint, str) and checkpoint:
        return Compiled.told(str(folder), checkpoint, _settings(exported))
    config = _read(folder / "config.json")
    name, traced = config.get("_name_or_path"), config.get("neuron")
    if isinstance(traced, dict) and isinstance(name, str) and _is_id(name):
        return Compiled.told(str(folder), name, _settings(traced))
    return None


def _settings(told: dict[str, object]) -> Iterator[tuple[str, object]]:
    """The settings in a configuration, some of which are written with ``static_`` in front."""
    return ((key.removeprefix("static_"), value) for key, value in told.items())


def _is_id(name: str) -> bool:
    """Whether a name is that of a model on the Hub, and not a place on the machine that compiled it."""
    return bool(name) and not name.startswith((".", "/", "~")) and name.count("/") < 2 and "\\" not in name


def _read(path: Path) -> dict[str, object]:
    if not path.is_file():  # a pipe of that name would be waited for
        return {}
    try:
        with path.open("rb") as stream:
            found = json.loads(stream.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
