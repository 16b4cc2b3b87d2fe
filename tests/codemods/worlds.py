"""Two stub worlds in which a script can run: the old one has Optimum Neuron, the native one must do without."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from unittest import mock

OLD = {
    "optimum": ("version",),
    "optimum.neuron": ("NeuronTrainer", "NeuronTrainingArguments", "NeuronSFTTrainer", "NeuronSFTConfig"),
    "optimum.neuron.trainers": ("NeuronTrainer", "NeuronSFTTrainer", "NeuronTrainerCallback"),
    "optimum.neuron.utils": ("something",),
}
NATIVE = {
    "transformers": ("Trainer", "TrainingArguments", "AutoModel"),
    "trl": ("SFTTrainer", "SFTConfig"),
    "peft": ("LoraConfig",),
    "neuron_shim": ("configure", "parallel_sizes"),
    "optimum.onnxruntime": ("ORTModel",),
    "elsewhere": ("NeuronTrainer", "Trainer", "error"),
}
NEW_NAMES = {
    "NeuronTrainer": "transformers.Trainer",
    "NeuronTrainingArguments": "transformers.TrainingArguments",
    "NeuronSFTTrainer": "trl.SFTTrainer",
    "NeuronSFTConfig": "trl.SFTConfig",
}


def old_world() -> dict[str, ModuleType]:
    return _modules({**NATIVE, **OLD})


def native_world() -> dict[str, ModuleType]:
    return _modules({**NATIVE, "optimum": ("version",)})


def run(text: str, modules: Mapping[str, ModuleType]) -> list[str]:
    """Run a script among these modules and return what it called ``seen`` with, each thing by its full name.

    ``seen`` is there without an import, and can be imported from ``probe``.
    """
    seen: list[str] = []
    hidden = {name: None for name in sys.modules if name.partition(".")[0] in ("optimum", *NATIVE)}
    probe = ModuleType("probe")
    probe.seen = lambda *things: seen.extend(map(_full_name, things))  # type: ignore[attr-defined]
    namespace = {"__name__": "script", "seen": probe.seen}
    with mock.patch.dict(sys.modules, {**hidden, **modules, "probe": probe}):
        exec(compile(text, "<script>", "exec"), namespace)
    return seen


def renamed(seen: list[str]) -> list[str]:
    """What a script that was rewritten right sees, from what the old one saw."""
    return [
        NEW_NAMES.get(name.rpartition(".")[2], name) if name.startswith("optimum.neuron") else name for name in seen
    ]


def _full_name(thing: object) -> str:
    kind = thing if isinstance(thing, type) else type(thing)
    return (
        f"{kind.__module__}.{kind.__qualname__}"
        if kind.__module__ != "builtins"
        else getattr(thing, "__name__", repr(thing))
    )


def _modules(contents: Mapping[str, tuple[str, ...]]) -> dict[str, ModuleType]:
    modules = {name: ModuleType(name) for name in contents}
    for name, module in modules.items():
        module.__path__ = []  # type: ignore[attr-defined]
        for item in contents[name]:
            setattr(module, item, type(item, (), {"__module__": name, "__init__": lambda self, *_, **__: None}))
        parent, _, last = name.rpartition(".")
        if parent in modules:
            setattr(modules[parent], last, module)
    return modules
