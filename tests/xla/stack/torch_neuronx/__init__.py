"""What torch_neuronx 2.x did in the scripts of these tests, on a CPU."""

import torch


def trace(func, example_inputs, *, compiler_args=None):
    """A traced model takes tensors of the CPU, gives such and knows no gradients."""
    with torch.no_grad():
        traced = torch.jit.trace(func, example_inputs)
    return torch.jit.freeze(traced.eval())


def async_load(trace, enable_async_load=True):
    pass
