"""What a run on the simulated device leaves behind for those who want to know: graphs compiled, first use."""

from __future__ import annotations

import sys
import traceback
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

_graphs: list[CompiledGraph] = []
_first_use: str | None = None

# Whose lines are not the user's: this package, and everything installed.
_OWN = str(Path(__file__).parent)
_INSTALLED = ("site-packages", "dist-packages")


@dataclass(frozen=True)
class CompiledGraph:
    """One graph that ``torch.compile(backend="neuron")`` handed over: on Trainium, a compilation of about a minute."""

    shapes: tuple[tuple[int, ...], ...]
    """Of the tensors that are given to the graph, without parameters and buffers."""
    operators: int
    trains: bool
    """Whether an input needs a gradient: TorchNeuron then compiles a graph for the backward pass as well."""
    source: str | None
    """``file:line`` of the first operator of the graph."""


def compiled_graphs() -> tuple[CompiledGraph, ...]:
    """All graphs since the device was activated, in the order of their compilation."""
    return tuple(_graphs)


def shapes_compiled() -> Counter[tuple[tuple[int, ...], ...]]:
    """How many graphs were compiled for each set of input shapes."""
    return Counter(graph.shapes for graph in _graphs)


def first_use() -> str | None:
    """Where memory of the device was first asked for, as ``file:line``; None as long as it was not."""
    return _first_use


def record_operators(on: bool = True) -> None:
    """Count the operators that run on the device from now on, or no longer."""
    from neuron_shim.simulate import device

    device.record_operators(on)


def executed_operators() -> dict[str, int]:
    """How often each operator ran while they were counted, by the names that torch has for them (``aten::mm``)."""
    from neuron_shim.simulate import device

    return device.executed_operators()


def add_graph(graph: CompiledGraph) -> None:
    _graphs.append(graph)


def note_first_use() -> None:
    global _first_use
    if _first_use is None:
        _first_use = callers_line()


def callers_line() -> str:
    """The innermost line that is neither this package's nor an installed one's, else the innermost of all."""
    frames = list(traceback.walk_stack(sys._getframe(1)))
    others = [(frame, line) for frame, line in frames if not frame.f_code.co_filename.startswith((_OWN, "<frozen"))]
    users = [pair for pair in others if not any(name in pair[0].f_code.co_filename for name in _INSTALLED)]
    frame, line = (users or others or frames)[0]
    return f"{frame.f_code.co_filename}:{line}"
