"""The compiler "neuron" of ``torch.compile``: runs each graph as it is, and counts it."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from neuron_shim.simulate.record import CompiledGraph, add_graph, callers_line
from neuron_shim.simulate.refusals import tolerated

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

_logger = logging.getLogger("neuron_shim")


class DynamicShapes(RuntimeError):
    """A graph was to be compiled for sizes that are not known yet."""


def register() -> None:
    """Make ``torch.compile(backend="neuron")`` known to torch."""
    from torch._dynamo.backends.registry import register_backend
    from torch._dynamo.device_interface import DeviceInterface, register_interface_for_device

    from neuron_shim.simulate import device

    # What torch._dynamo asks of a device while it traces: the names are those of torch.neuron.
    asked = (
        *("Event", "Stream", "current_device", "set_device", "device_count", "is_available", "stream"),
        *("current_stream", "set_stream", "synchronize", "get_device_properties", "memory_allocated"),
    )
    members: dict[str, Any] = {
        name: value if isinstance(value := getattr(device, name), type) else staticmethod(value) for name in asked
    }
    members["is_bf16_supported"] = staticmethod(lambda including_emulation=False: True)
    members["is_dtype_supported"] = staticmethod(lambda dtype, including_emulation=False: not dtype.is_complex)
    register_interface_for_device("neuron", type("NeuronInterface", (DeviceInterface,), members))
    register_backend(compile_graph, name="neuron")


class NotCompiled:
    """In the place of the backend where the device is the one in Python, whose tensors torch cannot trace."""

    def load(self) -> None:
        raise RuntimeError(
            'torch.compile(backend="neuron") needs the compiled simulated device, and there is no C++ compiler here. '
            "Install g++, or run without torch.compile (generate: disable_compile=True)."
        )


def refuse() -> None:
    """Make ``torch.compile(backend="neuron")`` say why it cannot be had."""
    from torch._dynamo.backends import registry

    registry._BACKENDS["neuron"] = NotCompiled()


def compile_graph(
    graph: torch.fx.GraphModule,
    inputs: list[Any],
    *,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
) -> Callable[..., Any]:
    """What TorchNeuron would compile runs as it is. Torch calls this for each graph and each set of input shapes.

    TorchNeuron takes static shapes only, knows a single mode and warns of others
    (https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/compile/reference-torch-compile.html).

    Raises:
        DynamicShapes: a size of an input is symbolic, as with ``dynamic=True``, or with ``dynamic=None`` the second
            time that a dimension has another size.
    """
    import torch

    from neuron_shim.simulate import device

    if mode not in (None, "default"):
        _logger.warning("neuron_shim: the neuron backend has no mode %r, and compiles as with mode='default'.", mode)
    source = _source(graph)
    dynamic = [value for value in inputs if isinstance(value, torch.SymInt)]
    tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
    symbolic = [tensor for tensor in tensors if any(isinstance(size, torch.SymInt) for size in tensor.shape)]
    if dynamic or symbolic:
        sizes = ", ".join(str(tuple(tensor.shape)) for tensor in symbolic) or f"{len(dynamic)} sizes"
        message = (
            f"Simulated Neuron: dynamic shapes in a graph to be compiled ({sizes}, at {source}), and TorchNeuron "
            f"compiles static shapes only. Compile with dynamic=False, and pad to one length or use a static cache."
        )
        if not tolerated("dynamic", message):
            raise DynamicShapes(message)
    add_graph(
        CompiledGraph(
            # Parameters and buffers are inputs as well, and known by this mark of torch._dynamo.
            shapes=tuple(
                tuple(size if isinstance(size, int) else -1 for size in tensor.shape)
                for tensor in tensors
                if getattr(tensor, "_dynamo_static_input_type", None) is None
            ),
            operators=sum(node.op.startswith("call_") for node in graph.graph.nodes),
            trains=torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors),
            source=source,
            called_from=callers_line(),
        )
    )
    return device.as_one_kernel(graph.forward)


def _source(graph: torch.fx.GraphModule) -> str | None:
    """``file:line`` of the first operator: the innermost line of its stack."""
    for node in graph.graph.nodes:
        lines = re.findall(r'File "(.+?)", line (\d+)', node.stack_trace or "")
        if node.op.startswith("call_") and lines:
            return ":".join(lines[-1])
    return None
