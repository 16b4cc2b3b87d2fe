"""Compiling a module for fixed shapes, where the device asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from neuron_shim.device import accelerator_kind

if TYPE_CHECKING:
    from torch import nn

    ModuleT = TypeVar("ModuleT", bound=nn.Module)

# TorchNeuron has one backend, static shapes and one mode: the choice is not the caller's
# (https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/compile/reference-torch-compile.html).
_CHOSEN = frozenset({"backend", "dynamic", "mode"})


def compile_static(module: ModuleT, **options: Any) -> ModuleT:
    """Compile a module for the shapes it is called with, on Neuron; elsewhere leave it as it is.

    On Neuron this is ``module.compile(backend="neuron", dynamic=False)``: the first call with a set of input shapes
    compiles, and later calls with the same shapes do not, so pad inputs to one length. ``dynamic=False`` keeps torch
    from making a dimension dynamic when it sees a second size of it, which TorchNeuron refuses. On a GPU or the CPU
    the module runs eagerly: nothing there needs a compiler, and results are those of the plain module.

    The module is compiled in place and returned, so that its class, its attributes and the names in its state dict
    stay: ``save_pretrained``, ``isinstance`` and pipelines work as before. A bare layer of ``torch.nn`` stays eager:
    torch compiles in place only what a library or a script defines. Do not use it for a model that generates:
    ``generate(cache_implementation="static")`` compiles the decoding step by itself.

    Args:
        module: a module whose weights are loaded; its device does not matter.
        **options: other keywords of ``torch.compile``, such as ``fullgraph=True``. They count on Neuron only.

    Raises:
        TypeError: ``module`` is not a ``torch.nn.Module``, or an option is ``backend``, ``dynamic`` or ``mode``.
    """
    from torch import nn

    if not isinstance(module, nn.Module):
        raise TypeError(f"compile_static takes a torch.nn.Module, not {type(module).__name__}.")
    chosen = sorted(_CHOSEN & set(options))
    if chosen:
        raise TypeError(
            f"compile_static chooses {', '.join(chosen)} itself: on Neuron backend='neuron', dynamic=False and the "
            "default mode. Call torch.compile for anything else."
        )
    if accelerator_kind() == "neuron":
        module.compile(backend="neuron", dynamic=False, **options)
    return module
