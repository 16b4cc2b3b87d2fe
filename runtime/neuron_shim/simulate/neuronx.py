"""The module ``torch_neuronx`` while the device is simulated: what is asked of it besides the device itself.

The names are those of TorchNeuron (torch_neuronx/__init__.py, April 2026; not verified against 2.33). Whatever else
a script wants of it, above all NKI kernels, exists on Trainium only.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

_SAYS = "Simulated Neuron: torch_neuronx.{} exists on Trainium only."


class _Simulated(ModuleType):
    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(_SAYS.format(name))


def install(native: ModuleType) -> None:
    """Make ``import torch_neuronx`` and ``importlib.util.find_spec("torch_neuronx")`` succeed."""
    from neuron_shim.simulate import device

    module = _Simulated("torch_neuronx", "The simulated Neuron device of neuron_shim.")
    # find_spec answers with the spec of a module that is already imported; it needs no loader to be found.
    module.__spec__ = ModuleSpec("torch_neuronx", loader=None, origin="neuron_shim.simulate")
    module.__file__ = __file__
    members = {
        "__version__": "0+simulated",
        "is_neuron_runtime_initialized": native.is_initialized,
        "get_executed_ops": lambda: sorted(native.operators()),
        "get_fallback_ops": list,
        "clear_op_tracking": native.clear_operators,
    }
    members |= {name: getattr(device, name) for name in dir(device) if "memory" in name}
    for name, value in members.items():
        setattr(module, name, value)
    sys.modules["torch_neuronx"] = module
