"""Findings for what the device refuses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from neuron_shim.preflight.result import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from neuron_shim.preflight.journal import Event

# Kind of refusal: kind of finding, what, why, what to do.
_KINDS = {
    "complex": (
        "complex-dtype",
        "a complex tensor on the device",
        "The device has no complex dtype.",
        "Compute with real and imaginary parts (for rotary embeddings cos and sin), or on the CPU.",
    ),
    "fork": (
        "fork",
        "a forked process uses the device",
        "Its parent had initialised the device, and a child that is forked cannot use it.",
        'Start processes with multiprocessing.get_context("spawn"), and keep the device out of DataLoader workers.',
    ),
    "group": (
        "device-before-group",
        "the device is used before init_process_group",
        "The process is bound to its core when the group is made; the runtime must not be running by then.",
        "Build TrainingArguments or the Accelerator, or call init_process_group, before anything is on the device.",
    ),
    "dynamic": (
        "dynamic-shapes",
        "torch.compile is given a size that is not fixed",
        "TorchNeuron compiles static shapes only.",
        "Compile with dynamic=False, and call neuron_shim.configure() before.",
    ),
}


def refusal_findings(journals: Mapping[int, Sequence[Event]]) -> list[Finding]:
    found: dict[tuple[str, str | None], tuple[Event, list[int]]] = {}
    for rank, events in journals.items():
        for event in events:
            if event["event"] == "refusal":
                key = (event["kind"], _where(event))
                found.setdefault(key, (event, []))[1].append(rank)
    return [
        _finding(event, where, () if len(set(ranks)) == len(journals) else tuple(sorted(set(ranks))))
        for (_, where), (event, ranks) in found.items()
    ]


def _where(event: Event) -> str | None:
    """The line to change: of a device that was used too early, the line that used it."""
    used = re.search(r"before init_process_group, at (.+:\d+)\. Put", event["message"])
    return used[1] if used else event["where"]


def _finding(event: Event, where: str | None, ranks: tuple[int, ...]) -> Finding:
    kind = event["kind"]
    if kind == "collective":
        return _collective(event, where, ranks)
    if kind == "devices":
        return _devices(event, where, ranks)
    name, what, why, advice = _KINDS[kind]
    return Finding(name, Severity.FAILS, where, what, why, advice, ranks)


def _collective(event: Event, where: str | None, ranks: tuple[int, ...]) -> Finding:
    lacking = re.search(r"has no (.+?) \(as far", event["message"])
    return Finding(
        "collective",
        Severity.FAILS,
        where,
        f"{lacking[1] if lacking else 'a collective'} between processes",
        "The process group of TorchNeuron lacks it (sources of April 2026).",
        "Use a collective that it has: all_reduce, all_gather, broadcast, reduce_scatter, all_to_all of even parts.",
        ranks,
    )


def _devices(event: Event, where: str | None, ranks: tuple[int, ...]) -> Finding:
    operator = re.search(r"operator aten::(\w+)", event["message"])
    size = re.search(r"a tensor of size (\[.*?\]) on (\S+)\)", event["message"])
    which = f"a tensor of size {size[1]} is on the {size[2].upper()}" if size else "a tensor is on the CPU"
    what = f"{operator[1] if operator else 'an operator'} is given tensors of two devices: {which}"
    return two_devices(where, what, ranks)


def two_devices(where: str | None, what: str, ranks: tuple[int, ...] = ()) -> Finding:
    return Finding(
        "wrong-device",
        Severity.FAILS,
        where,
        what,
        "All tensors of an operator have to be on the device.",
        "Create the tensor with device=model.device, or move it before it is used.",
        ranks,
    )
