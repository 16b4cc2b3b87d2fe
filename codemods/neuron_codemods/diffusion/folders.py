"""What a file tells the others of a project about folders with compiled pipelines."""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.diffusion.given import constant_of
from neuron_codemods.diffusion.loads import all_loads, exports, saves
from neuron_codemods.module import Module
from neuron_codemods.project import Compiled, folder_of


def folders(module: Module) -> Iterator[Compiled]:
    """The folders that a file writes compiled pipelines to, where it says folder and model."""
    found = all_loads(module)
    for _, folder, origins in saves(module, found) if found.flow is not None else ():
        name = constant_of(module, folder) if folder is not None else None
        for load in found.among(origins):
            model = constant_of(module, load.model)
            if isinstance(name, str) and isinstance(model, str) and exports(module, load):
                said = ((key, constant_of(module, given.value)) for key, given in load.settings.items())
                yield Compiled.told(folder_of(module.path, name), model, said)
