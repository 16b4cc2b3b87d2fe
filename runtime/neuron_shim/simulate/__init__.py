"""A Neuron device on a machine that has none: a script runs as if on Trainium, and computes on the CPU.

    python -m neuron_shim.simulate train.py --max_steps 3
    torchrun --nproc_per_node=4 -m neuron_shim.simulate train.py --max_steps 3

Once active, ``torch.device("neuron")``, ``torch.neuron``, the process group "neuron" and the compiler "neuron" of
``torch.compile`` exist, so transformers, accelerate and TRL take the machine for Trainium. It shows what only such a
machine would: tensors on two devices at once, a device used before the process group exists or after a fork, a second
device in one process, complex numbers, dynamic shapes, collectives that are lacking.

It does not show which operators Trainium lacks, compiler errors, its memory limits, its numerics (float64 and int64
are computed as such here, TorchNeuron computes in 32 bits) or its speed. The device is modelled on what the Hugging
Face libraries call and on the public sources of TorchNeuron; none of it was verified on hardware.

Never active by import: ``activate()`` or the command above start it. Importing this package imports no torch.
"""

from __future__ import annotations

from neuron_shim.simulate.activation import NotPossible, activate, is_active
from neuron_shim.simulate.record import (
    CompiledGraph,
    Kernel,
    compiled_graphs,
    executed_operators,
    first_use,
    record_operators,
    report_kernels,
    shapes_compiled,
)
from neuron_shim.simulate.refusals import watch

__all__ = [
    "CompiledGraph",
    "Kernel",
    "NotPossible",
    "activate",
    "compiled_graphs",
    "executed_operators",
    "first_use",
    "is_active",
    "record_operators",
    "report_kernels",
    "shapes_compiled",
    "watch",
]
