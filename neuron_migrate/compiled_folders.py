"""Which model a folder with a compiled one was made of: what its configuration says, where the folder is at hand.

A rule opens no file, so the command looks for it: ``neuron_config.json`` (Optimum Neuron 0.2 and later) names the
``checkpoint_id``, ``config.json`` has kept the ``_name_or_path`` of the original.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuron_codemods import ModuleFacts

_LARGEST = 1 << 20
"""How many bytes of a configuration are read at most: real ones have a few thousand."""


def originals(modules: Iterable[ModuleFacts]) -> Iterator[tuple[str, str]]:
    """For each folder that a file asks for, how the project knows it and the id of the original model."""
    from neuron_codemods.project import folder_of

    for module in modules:
        for folder in sorted(module.asks):
            # A script starts beside itself or where the command does; which of the two, its text does not say.
            for place in (Path(module.path).parent / folder, Path(folder)):
                model = original(place)
                if model is not None:
                    yield folder_of(module.path, folder), model
                    break


def original(folder: Path) -> str | None:
    """The id of the model that a folder was compiled from, or None where it does not say."""
    checkpoint = _read(folder / "neuron_config.json").get("checkpoint_id")
    if isinstance(checkpoint, str) and checkpoint:
        return checkpoint
    config = _read(folder / "config.json")
    name = config.get("_name_or_path")
    if isinstance(config.get("neuron"), dict) and isinstance(name, str) and _is_id(name):
        return name
    return None


def _is_id(name: str) -> bool:
    """Whether a name is that of a model on the Hub, and not a place on the machine that compiled it."""
    return bool(name) and not name.startswith((".", "/", "~")) and name.count("/") < 2 and "\\" not in name


def _read(path: Path) -> dict[str, object]:
    try:
        with path.open("rb") as stream:
            found = json.loads(stream.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
