"""Start the simulated device in this process."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import TYPE_CHECKING

from neuron_shim.environment import read_number
from neuron_shim.notice import say_once

if TYPE_CHECKING:
    from types import ModuleType

# What looks for the device once, when it is first asked, and remembers the answer.
_LIBRARIES = ("transformers", "accelerate", "trl", "peft", "diffusers")
_active = False


class NotPossible(RuntimeError):
    """The simulated device cannot be started here; the message says why and what to do."""


def is_active() -> bool:
    """Whether the Neuron device of this process is the simulated one."""
    return _active


def activate() -> None:
    """Make ``torch.device("neuron")`` exist in this process. Call it before transformers and the like are imported.

    The device computes on the CPU. It is built with a C++ compiler on first use (half a minute on two cores) and kept
    in a cache folder (``NEURON_SHIM_CACHE``). Without a compiler a slower device written in Python takes its place, in
    a single process only.

    Under torchrun each process has one device, ``neuron:LOCAL_RANK``. A second call does nothing.

    Raises:
        NotPossible: there is a real Neuron device or another accelerator, a library has been imported that has already
            looked for the device, or neither of the two devices can be had.
    """
    global _active
    if _active:
        return
    _refuse_what_exists()
    index = read_number("LOCAL_RANK", at_least=0) or 0
    count = max(read_number("LOCAL_WORLD_SIZE", at_least=1) or 1, index + 1)
    native = _native(processes=read_number("WORLD_SIZE", at_least=1) or 1)
    if native is not None:
        _start_compiled(native, index, count)
    else:
        _start_python()
    _active = True


def _refuse_what_exists() -> None:
    if importlib.util.find_spec("torch_neuronx") is not None:
        raise NotPossible(
            "torch_neuronx is installed here: run the script on the real device, or simulate one in an environment "
            "without it."
        )
    early = [name for name in _LIBRARIES if name in sys.modules]
    if early:
        raise NotPossible(
            f"{early[0]} was imported before the simulated device was activated, and may have found no device. "
            f"Call activate() first, or run the script with `python -m neuron_shim.simulate SCRIPT`."
        )
    import torch

    name = torch._C._get_privateuse1_backend_name()
    if name != "privateuseone":
        raise NotPossible(f"torch already has a device named {name} in the one place for devices from outside.")
    if torch.accelerator.is_available():
        raise NotPossible(
            f"This machine computes on {torch.accelerator.current_accelerator()}, which the libraries would prefer to "
            f"a simulated Neuron device. Hide it, for example with CUDA_VISIBLE_DEVICES= in the environment."
        )


def _native(*, processes: int) -> ModuleType | None:
    """The compiled device, or None where the one in Python has to do."""
    from neuron_shim.simulate import build

    if not build.is_built() and build.find_compiler() is not None:
        say_once("build", "building the simulated device, once: this takes half a minute or more.")
    try:
        return build.load()
    except (build.NoCompiler, build.BuildError, OSError) as error:
        if processes > 1:
            raise NotPossible(
                f"The simulated device needs a C++ compiler to run in {processes} processes: {error}. Install g++, or "
                f"run a single process."
            ) from error
        say_once("simulate", f"simulating the device in Python, which is slower: {error}")
        return None


def _start_compiled(native: ModuleType, index: int, count: int) -> None:
    import torch

    from neuron_shim.simulate import device, distributed, dynamo, neuronx
    from neuron_shim.simulate.record import note_first_use
    from neuron_shim.simulate.refusals import tolerated

    device.use(native)
    native.start(index, count, note_first_use, tolerated)
    os.register_at_fork(after_in_child=native.after_fork_in_child)
    torch.utils.rename_privateuse1_backend("neuron")
    torch._register_device_module("neuron", device)
    torch.utils.generate_methods_for_privateuse1_backend()
    neuronx.install(native)
    distributed.register(native)
    dynamo.register()


def _start_python() -> None:
    from neuron_shim.simulate import device, dynamo, neuronx, pure_python

    device.use(pure_python)
    pure_python.start()
    neuronx.install(pure_python)
    dynamo.refuse()
