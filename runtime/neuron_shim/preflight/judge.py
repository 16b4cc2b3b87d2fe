"""From what happened to what a person should know: phases, and findings from the worst on."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from neuron_shim.preflight.generation import generation_findings
from neuron_shim.preflight.refused import refusal_findings, two_devices
from neuron_shim.preflight.result import Ending, Finding, InputShape, Phase, Result, Severity
from neuron_shim.preflight.shapes import shape_findings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from neuron_shim.preflight.journal import Event
    from neuron_shim.preflight.launch import Ended

SECONDS_PER_SHAPE = 60
"""A new input shape stalls a run for about a minute (TRL 1.16 release notes, measured on Trainium by its authors)."""

# Registered to run on the CPU (torch_neuronx/python_ops/cpu_fallback_registrations.py, April 2026; not verified on
# hardware). TorchNeuron publishes no list of the others that it lacks.
ON_CPU = frozenset(
    {
        *("linalg_qr", "_linalg_svd", "_linalg_eigh", "linalg_cholesky_ex", "linalg_inv_ex", "linalg_lu_factor_ex"),
        *("linalg_ldl_factor_ex", "_linalg_slogdet", "_linalg_det", "cholesky_inverse", "triangular_solve"),
    }
)
# The size of what they return depends on the values, which no static shape can hold. A mask as index calls nonzero.
OF_UNKNOWN_SIZE = frozenset(
    {
        *("nonzero", "masked_select", "_unique", "_unique2", "unique_dim", "unique_consecutive", "bincount"),
        *("unique_dim_consecutive",),
    }
)
# Copies to the host and what moves no numbers: nothing is compiled for these.
NO_KERNELS = frozenset({"_local_scalar_dense", "resize_", "set_", "is_same_size", "equal", "_copy_from"})

TWO_DEVICES = "Expected all tensors to be on the same device"  # torch looks before the device does
OF_THE_DEVICE = ("imulated Neuron", TWO_DEVICES)
LONGEST_ERROR = 200
PHASES = ("training", "evaluation", "inference", "generation")


def judge(script: str, journals: Mapping[int, Sequence[Event]], ended: Ended) -> Result:
    """``journals`` has the events of each rank."""
    ending = _ending(journals, ended)
    phases = _phases(journals)
    findings = [
        *refusal_findings(journals),
        *_failure(ending),
        *shape_findings(phases, journals),
        *generation_findings(journals),
        *_loading(journals),
        *_placement(journals),
        *_operators(journals),
        *_early(journals),
    ]
    order = list(Severity)
    findings.sort(key=lambda finding: order.index(finding.severity))
    return Result(
        script=script,
        processes=len(ended.statuses),
        steps=sum(event["event"] == "step" for event in journals.get(0, ())),
        generated=sum(event["event"] == "generate" for event in journals.get(0, ())),
        ending=ending,
        phases=tuple(phases),
        findings=tuple(findings),
        seconds_per_shape=SECONDS_PER_SHAPE,
    )


def of_kind(journals: Mapping[int, Sequence[Event]], kind: str) -> list[tuple[int, Event]]:
    """Rank and event."""
    return [(rank, event) for rank, events in journals.items() for event in events if event["event"] == kind]


# --- How it ended


def _ending(journals: Mapping[int, Sequence[Event]], ended: Ended) -> Ending:
    """Of the rank that failed first, if any did."""
    ranks = list(range(len(ended.statuses)))
    if ended.first_to_fail is not None:
        ranks.sort(key=lambda rank: rank != ended.first_to_fail)
    ends: dict[int, Event] = {
        rank: event for rank in ranks for event in journals.get(rank, ()) if event["event"] == "end"
    }
    for rank in ranks:
        event = ends.get(rank)
        if event is None:
            status = ended.statuses[rank]
            if status == 0:  # by os._exit
                continue
            how = f"signal {-status}" if status < 0 else f"exit status {status}"
            return Ending("died", error=f"the process ended with {how}", rank=rank)
        if event["how"] in {"interrupted", "impossible"}:
            return Ending(event["how"], error=event.get("message", ""), rank=rank)
        if event["how"] == "failed":
            error = _first_line(event["message"])
            refused = any(mark in message for message in event.get("chain", ()) for mark in OF_THE_DEVICE)
            if event["type"] != "SystemExit":
                error = f"{event['type']}: {error}"
            return Ending("failed", refused, error, event.get("where"), rank)
    return Ending(ends[0]["how"] if 0 in ends else "finished")


def _first_line(message: str) -> str:
    line = next((line for line in message.splitlines() if line.strip()), "")
    return f"{line[:LONGEST_ERROR]}..." if len(line) > LONGEST_ERROR else line


def _failure(ending: Ending) -> list[Finding]:
    if not (ending.how == "failed" and ending.by_device):
        return []
    if TWO_DEVICES in ending.error:
        return [two_devices(ending.where, "an operator is given tensors of two devices, and the script ended here")]
    return [
        Finding(
            "device-refused",
            Severity.FAILS,
            ending.where,
            ending.error.split(": ", 1)[-1].removeprefix("Simulated Neuron: "),
            "The script ended here.",
            "Correct it and run preflight again: what comes after was not seen.",
        )
    ]


# --- Phases


def _phases(journals: Mapping[int, Sequence[Event]]) -> list[Phase]:
    calls: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for _, event in of_kind(journals, "call"):
        if event["device"] == "neuron":
            calls[event["phase"], event["model"]].append(event)
    first_of_phase = {name: [key for key in calls if key[0] == name][:1] for name in PHASES}
    phases = []
    for (name, model), events in sorted(calls.items(), key=lambda item: PHASES.index(item[0][0])):
        leads = first_of_phase[name] == [(name, model)]  # graphs and kernels are told by phase, not by model
        graphs = [event for rank, event in of_kind(journals, "graph") if rank == 0 and event["phase"] == name]
        compiled = {(event["source"], str(event["shapes"])): event for event in graphs}
        kernels, later = _kernels(journals, name, compiled_backward=any(graph["trains"] for graph in graphs))
        phases.append(
            Phase(
                name,
                model,
                calls=len(events),
                shapes=_shapes(events),
                graphs=len(graphs) if leads else 0,
                backward_graphs=sum(graph["trains"] for graph in compiled.values()) if leads else 0,
                kernels=kernels if leads else 0,
                new_kernels_later=later if leads else 0,
            )
        )
    return phases


def _shapes(events: Sequence[Event]) -> tuple[InputShape, ...]:
    seen: dict[str, list[tuple[int, Event]]] = defaultdict(list)
    number = 0
    last = None
    for event in events:
        number = number + 1 if event is not last else number
        seen[str(sorted(event["inputs"].items()))].append((number, event))
        last = event
    return tuple(
        InputShape(
            tensors=some[0][1]["inputs"],
            calls=len(some),
            first_call=some[0][0],
            where=some[0][1]["where"],
            made_by=_maker(some[0][1]),
        )
        for some in seen.values()
    )


def _maker(event: Event) -> str | None:
    loader = event.get("loader")
    if loader is None:
        return None
    where = loader["where"]
    of_the_user = where is not None and not any(part in where for part in ("site-packages", "dist-packages"))
    return f"{loader['collator']} ({where})" if of_the_user else str(loader["collator"])


def _kernels(journals: Mapping[int, Sequence[Event]], phase: str, *, compiled_backward: bool) -> tuple[int, int]:
    """How many, and how many of them were new after the second step or call of the phase."""
    first: dict[str, int] = {}
    start: int | None = None
    for _, event in of_kind(journals, "kernel"):
        name = event["operator"].removeprefix("aten::").partition(".")[0]
        # The backward pass of a compiled graph is compiled as one graph as well.
        if event["phase"] != phase or name in NO_KERNELS or (compiled_backward and event["backward"]):
            continue
        start = event["call"] if start is None else start
        first.setdefault(f"{event['operator']} {event['tensors']}", event["call"])
    return len(first), sum(call > (start or 0) + 1 for call in first.values())


# --- Where models and numbers are


def _loading(journals: Mapping[int, Sequence[Event]]) -> list[Finding]:
    on_device = {event["loaded_at"] for _, event in of_kind(journals, "call") if event["device"] == "neuron"}
    findings = {}
    for _, event in of_kind(journals, "loading"):
        moved = event["where"] in on_device
        findings[event["where"]] = Finding(
            "device-map",
            Severity.COSTS if moved else Severity.FAILS,
            event["where"],
            f'device_map="{event["device_map"]}" loads {event["model"]} on the CPU',
            "accelerate looks for GPUs only, and does not say that it found none."
            + (" Something moves it to the device later." if moved else " The model computes on the CPU."),
            'Write device_map="neuron".',
        )
    return list(findings.values())


def _placement(journals: Mapping[int, Sequence[Event]]) -> list[Finding]:
    calls = [event for _, event in of_kind(journals, "call")]
    anything = any(event["device"] == "neuron" for event in calls)
    found = {event["model"]: event for event in calls if event["device"] == "cpu" and not event["loaded_at"]}
    return [
        Finding(
            "model-on-cpu",
            Severity.COSTS if anything else Severity.FAILS,
            event["where"],
            f"{model} computes on the CPU",
            "Its parameters were never moved to the Neuron device.",
            'Load it with device_map="neuron", or move it: model.to("neuron").',
        )
        for model, event in found.items()
    ]


def _operators(journals: Mapping[int, Sequence[Event]]) -> list[Finding]:
    """By kind and line: an operator in a library may be many, and is nothing that the user could change."""
    met: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for _, event in of_kind(journals, "kernel"):
        name = event["operator"].removeprefix("aten::").partition(".")[0]
        library = f" in {event['library']}" if event["library"] else ""
        if name in ON_CPU:
            met["cpu-fallback", event["where"]][f"{name}{library}"] = None
        elif name in OF_UNKNOWN_SIZE:
            met["data-dependent-size", event["where"]][f"{name}{library}"] = None
        if any(dtype == "float64" and shape for dtype, shape in event["tensors"]):  # a Python number has no shape
            met["float64", event["where"]][library.removeprefix(" in ")] = None
    return [
        Finding(
            kind,
            Severity.COSTS,
            where,
            _OPERATORS[kind][0].format(", ".join(filter(None, names))).removesuffix(": "),
            *_OPERATORS[kind][1:],
        )
        for (kind, where), names in met.items()
    ]


# Kind of finding: what, why, what to do.
_OPERATORS = {
    "cpu-fallback": (
        "runs on the CPU: {}",
        "TorchNeuron has no kernel for it: its tensors are copied to the CPU and back.",
        "Compute it once and keep the result, or compute it on the CPU on purpose.",
    ),
    "data-dependent-size": (
        "the values decide the size of a result: {}",
        "Each size is a new shape for what uses it, and the operator itself may run on the CPU.",
        "Instead of a mask as index use torch.where, or do it on the CPU.",
    ),
    "float64": (
        "float64 on the device: {}",
        "TorchNeuron computes it in float32.",
        "Use float32, or compute on the CPU where the digits matter.",
    ),
}


def _early(journals: Mapping[int, Sequence[Event]]) -> list[Finding]:
    return [
        Finding(
            "device-before-group",
            Severity.COSTS,
            event["where"],
            "the device is used before TrainingArguments or the Accelerator exist",
            "In one process that is allowed; started by torchrun it fails.",
            "Build TrainingArguments or the Accelerator first, then load the model on the device.",
        )
        for _, event in of_kind(journals, "early")
    ]
