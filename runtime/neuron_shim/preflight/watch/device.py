"""The device: what it refuses, which kernels and graphs it would compile."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from neuron_shim.simulate import CompiledGraph, Kernel, report_kernels, watch
from neuron_shim.simulate.record import callers_line, librarys_line, report_graphs

if TYPE_CHECKING:
    from neuron_shim.preflight.watch.state import State


def install(state: State) -> None:
    seen: set[tuple[str, ...]] = set()

    def refused(kind: str, message: str) -> bool:
        where = callers_line()
        operator = re.search(r"operator ([\w:.]+)", message)
        if (kind, where, operator[1] if operator else "") not in seen:
            seen.add((kind, where, operator[1] if operator else ""))
            state.note("refusal", kind=kind, message=message, where=where)
        return True

    def kernel(kernel: Kernel) -> None:
        state.note(
            "kernel",
            operator=kernel.operator,
            tensors=kernel.tensors,
            backward=not kernel.in_main_thread,
            where=callers_line(),
            library=librarys_line(),
        )

    def graph(graph: CompiledGraph) -> None:
        state.note("graph", shapes=graph.shapes, trains=graph.trains, source=graph.source, where=graph.called_from)

    watch(refused)
    report_kernels(kernel)
    report_graphs(graph)
