"""Which keywords in a migrated script diffusers would ignore without an error."""

from __future__ import annotations

import ast
import importlib
import inspect
import warnings
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from neuron_codemods.diffusion.flow import ELSEWHERE, Flow
from neuron_codemods.diffusion.given import arguments
from neuron_codemods.diffusion.pipelines import LOADING, PIPELINES
from neuron_codemods.module import Module

_COMPONENT_LOADERS = ("diffusers.ControlNetModel", "diffusers.UNet2DConditionModel")


def find(dotted: str) -> Any:
    """The installed object of a name such as ``diffusers.FluxPipeline.from_pretrained``."""
    root, _, rest = dotted.partition(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return attrgetter(rest)(importlib.import_module(root))


def unknown(text: str) -> list[str]:
    """Keywords of loads and calls of pipelines that are no parameter: what diffusers would swallow."""
    return [*_of_loads(Module(text)), *_of_calls(Module(text))]


def _of_loads(module: Module) -> Iterator[str]:
    for call in module.calls:
        name, _, method = (module.resolve(call.func) or "").rpartition(".")
        if method in ("from_pretrained", "from_pipe") and name in PIPELINES:
            known = LOADING | PIPELINES[name].components | {"pretrained_model_name_or_path"}
        elif method == "from_pretrained" and name in _COMPONENT_LOADERS:
            known = LOADING | {"subfolder"}
        else:
            continue
        found = arguments(module, call)
        assert found.unknown is None, ast.unparse(call)
        yield from (f"{name}.{method}({given}=)" for given in found.given if given not in known)


def _of_calls(module: Module) -> Iterator[str]:
    loads = {}
    derived = {}
    for call in module.calls:
        name, _, method = (module.resolve(call.func) or "").rpartition(".")
        if method in ("from_pretrained", "from_pipe") and name in PIPELINES:
            loads[call] = name
            if method == "from_pipe":
                derived[call] = call.args[0]
    for call, origins in Flow(module, loads, derived).calls():
        for origin in origins - {ELSEWHERE}:
            kind = find(loads[origin])
            known = inspect.signature(kind.__call__).parameters.keys() - {"kwargs"}
            given = arguments(module, call).given
            yield from (f"{loads[origin]}(...)({name}=)" for name in given if name not in known)
