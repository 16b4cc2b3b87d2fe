"""What a file tells the others of a project about folders with compiled models, and what it asks."""

from __future__ import annotations

import ast

from neuron_codemods.inference.flow import origins
from neuron_codemods.inference.loads import folder_key, loads, writes
from neuron_codemods.module import Module
from neuron_codemods.project import Compiled, folder_of
from neuron_codemods.values import constant


def folders(module: Module) -> tuple[tuple[Compiled, ...], frozenset[str]]:
    """The folders that a file writes compiled models to, and those that it only loads."""
    if not module.uses_neuron:
        return (), frozenset()
    found = loads(module)
    by_call = {load.call: load for load in found if load.problem is None}
    written: dict[str, Compiled] = {}
    for _, model, places in writes(module):
        for origin in origins(module, model):
            load = by_call.get(origin) if isinstance(origin, ast.Call) else None
            name = constant(module, load.source if load is not None else None)
            if isinstance(name, str) and load is not None and load.exported_by is None:
                for place in places:
                    key = folder_key(module, place) or ""
                    if key.startswith("="):
                        folder = folder_of(module.path, key[1:])
                        said = ((key, constant(module, given.value)) for key, given in load.settings.items())
                        written[folder] = Compiled.told(folder, name, said)
    asked = set()
    for load in found:
        key = folder_key(module, load.source) or ""
        if load.problem is not None and key.startswith("="):
            asked.add(key[1:])
    return tuple(written[folder] for folder in sorted(written)), frozenset(asked)
