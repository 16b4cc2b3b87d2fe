"""The process group "neuron": gloo on the memory of the simulated device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuron_shim.simulate.record import first_use
from neuron_shim.simulate.refusals import tolerated

if TYPE_CHECKING:
    from datetime import timedelta
    from types import ModuleType


def register(native: ModuleType) -> None:
    """Make ``init_process_group("neuron")`` known to torch, as the default for tensors on the device."""
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_gloo_available():
        return

    def create(store: dist.Store, rank: int, size: int, timeout: timedelta) -> Any:
        is_default = not dist.is_initialized()
        if is_default and native.is_initialized():
            # TorchNeuron binds the process to its core when the group is made, and asserts that no core is in use yet
            # (torch_neuronx/distributed/backend.py, April 2026).
            message = (
                f"Simulated Neuron: the device was used before init_process_group, at {first_use()}. Put nothing on "
                f"the device until the process group exists: build TrainingArguments or the Accelerator first."
            )
            if not tolerated("group", message):
                raise AssertionError(message)
        native.use_device()
        return native.process_group(dist.ProcessGroupGloo(store, rank, size, timeout), is_default)

    dist.Backend.register_backend("neuron", create, devices=["neuron"])
