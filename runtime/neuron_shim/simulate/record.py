"""What a run on the simulated device leaves behind for those who want to know: graphs compiled, first use."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

_graphs: list[CompiledGraph] = []
_first_use: str | None = None
_report_graph: Callable[[CompiledGraph], None] | None = None
# C++ has other names for dtypes than Python.
_DTYPES = {
    "Double": "float64",
    "Float": "float32",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Bool": "bool",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Char": "int8",
    "Byte": "uint8",
}

# Whose lines are not the user's: this package, the standard library, and everything installed.
_OWN = str(Path(__file__).parents[1])
_INSTALLED = ("site-packages", "dist-packages")
_STANDARD = os.path.dirname(os.__file__)  # the standard library


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
    called_from: str
    """``file:line`` of the user's line that led to the compilation."""


@dataclass(frozen=True)
class Kernel:
    """One operator with the shapes it met: on Trainium, one entry of the kernel cache in eager mode.

    The key of that cache is the operator with the shapes and dtypes of its tensors (torch_neuronx, docs/new_op.md,
    April 2026). Neighbouring operators may be compiled together, so these are the most that there can be.
    """

    operator: str
    tensors: tuple[tuple[str, tuple[int, ...]], ...]
    """dtype and shape of each tensor that is given to it."""
    in_main_thread: bool
    """False in the backward pass, which runs in threads of autograd."""


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


def report_kernels(report: Callable[[Kernel], None]) -> None:
    """Call ``report`` when an operator that runs by itself, in no compiled graph, meets new shapes."""
    from neuron_shim.simulate import device

    def new_shape(operator: str, tensors: list[tuple[str, tuple[int, ...]]], in_main_thread: bool) -> None:
        named = tuple((_DTYPES.get(dtype, dtype), shape) for dtype, shape in tensors)
        report(Kernel(operator, named, in_main_thread))

    device.report_shapes(new_shape)


def report_graphs(report: Callable[[CompiledGraph], None]) -> None:
    """Call ``report`` for each graph that is compiled from now on."""
    global _report_graph
    _report_graph = report


def add_graph(graph: CompiledGraph) -> None:
    _graphs.append(graph)
    if _report_graph is not None:
        _report_graph(graph)


def note_first_use() -> None:
    global _first_use
    if _first_use is None:
        _first_use = callers_line()


def callers_line() -> str:
    """The innermost line that is neither this package's nor an installed one's, else the innermost of all.

    In a thread of autograd, which has no such line, that of the main thread, which waits for it.
    """
    here = list(traceback.walk_stack(sys._getframe(1)))
    if threading.current_thread() is not threading.main_thread():
        waiting = sys._current_frames().get(threading.main_thread().ident or 0)
        here += list(traceback.walk_stack(waiting)) if waiting else []
    frame, line = users_frame(here) or here[0]
    return f"{frame.f_code.co_filename}:{line}"


def librarys_line() -> str | None:
    """``package/module.py:line`` of the innermost line of an installed library other than torch, if the user's own
    lines are further out."""
    for frame, line in traceback.walk_stack(sys._getframe(1)):
        name = frame.f_code.co_filename
        installed = next((folder for folder in _INSTALLED if folder in name), None)
        if installed is None and _is_users((frame, line)) and not name.startswith(_OWN):
            return None
        if installed is not None and not (inside := name.split(f"{installed}{os.sep}")[-1]).startswith("torch"):
            return f"{inside}:{line}"
    return None


def users_line(places: Iterable[tuple[FrameType, int]]) -> str | None:
    """``file:line`` of the first of these places, innermost first, that is the user's."""
    place = users_frame(list(places))
    return f"{place[0].f_code.co_filename}:{place[1]}" if place else None


def users_frame(places: list[tuple[FrameType, int]]) -> tuple[FrameType, int] | None:
    others = [pair for pair in places if not pair[0].f_code.co_filename.startswith((_OWN, "<frozen"))]
    return next(filter(_is_users, others), others[0] if others else None)


def _is_users(place: tuple[FrameType, int]) -> bool:
    name = place[0].f_code.co_filename
    return not any(folder in name for folder in _INSTALLED) and not name.startswith((_STANDARD, "<"))
