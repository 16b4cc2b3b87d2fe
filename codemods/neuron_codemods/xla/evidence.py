"""Whether the XLA code of a file runs on Neuron: code for TPUs and GPUs looks the same and must be left alone.

What tells: imports of the packages that only exist for Neuron, and the names of environment variables. A file that
imports such a package is migrated by default. One that only imports torch_xla is migrated where these rules are asked
for (``--select NM6``) and neither the file nor, where it says nothing, the rest of the project speaks of TPUs or GPUs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from neuron_codemods.module import Module, once
from neuron_codemods.scopes import Binding

NEURON, OTHER = "neuron", "other"
"""What a file says about the machine that it runs on."""

ROOM = "NM6"

_NEURON_PACKAGES = frozenset(
    {"torch_neuronx", "torch_neuron", "neuronx_distributed", "neuronx_distributed_training", "libneuronxla"}
    | {"neuronx_distributed_inference", "transformers_neuronx", "neuronxcc", "neuron_shim"}
)
_NEURON_TEXT = re.compile(r"NEURON(CORE)?(_[A-Z0-9_]+)?")
_OTHER_TEXT = re.compile(r"TPU|(XRT_)?TPU_[A-Z0-9_]+|COLAB_TPU_ADDR|COLAB_GPU|XRT_TPU_CONFIG")
_OTHER_MODULE = re.compile(r"(^|[._])tpu([._]|$)|^jax($|\.)")
_OTHER_PJRT = frozenset({"TPU", "GPU", "CUDA", "ROCM"})


@once
def is_on(module: Module) -> bool:
    """Whether the rules of this room look at a module."""
    if imports_neuron(module):
        return True
    if not module.asks_for(ROOM) or not module.uses_stack:
        return False
    told = hardware(module)
    return told == NEURON if told else _project(module) != OTHER


@once
def imports_neuron(module: Module) -> bool:
    """Whether a module imports something that only exists for Neuron."""
    return module.uses_neuron or any(
        (binding.qualified or "").partition(".")[0] in _NEURON_PACKAGES for binding in _imports(module)
    )


def hardware(module: Module) -> str:
    """``neuron``, ``other`` (a TPU or GPU) or nothing, by what a module imports and the texts in it."""
    if imports_neuron(module):
        return NEURON
    texts = [constant.value for constant in module.names.strings if isinstance(constant.value, str)]
    if any(_NEURON_TEXT.fullmatch(text) for text in texts):
        return NEURON
    if any(_OTHER_TEXT.fullmatch(text) for text in texts) or _sets_other_device(module):
        return OTHER
    if any(_OTHER_MODULE.search(name) for name in _names(module)):
        return OTHER
    return ""


def _project(module: Module) -> str:
    told = {facts.hardware for facts in module.project.modules} - {""}
    return OTHER if told == {OTHER} else NEURON


def _sets_other_device(module: Module) -> bool:
    """``os.environ["PJRT_DEVICE"] = "CUDA"`` and the like."""
    for constant in module.names.strings:
        if constant.value == "PJRT_DEVICE":
            statement = module.statement(constant)
            values = {node.value for node in ast.walk(statement) if isinstance(node, ast.Constant)}
            if values & _OTHER_PJRT:
                return True
    return False


def _names(module: Module) -> Iterator[str]:
    """Everything that is imported, as it is written."""
    for node in module.names.imports:
        before = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        yield from (f"{before}{alias.name}" for alias in node.names)


def _imports(module: Module) -> Iterator[Binding]:
    for scope in module.names.module.walk():
        for bindings in scope.bindings.values():
            yield from (binding for binding in bindings if binding.is_import)
