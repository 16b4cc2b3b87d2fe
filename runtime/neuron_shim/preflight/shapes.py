"""Findings about the shapes that models are called with, outside of ``generate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuron_shim.preflight.result import Finding, Phase, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from neuron_shim.preflight.journal import Event

MULTIPLE = 128
RECOMPILE_LIMIT = 8  # of torch._dynamo


def shape_findings(phases: Sequence[Phase], journals: Mapping[int, Sequence[Event]]) -> Iterator[Finding]:
    for phase in phases:
        if phase.name != "generation" and len(phase.shapes) > 1:
            if _differ_in_rows_only(phase):
                yield _partial_batch(phase)
            else:
                yield _many_shapes(phase, _loader(journals, phase))


def every_step(shapes: int, calls: int) -> bool:
    """Whether new shapes keep coming: more than every third call after the first has one."""
    return shapes - 1 > (calls - 1) / 3


def _differ_in_rows_only(phase: Phase) -> bool:
    lengths: dict[str, set[tuple[int, ...]]] = {}
    for one in phase.shapes:
        for name, shape in one.tensors.items():
            lengths.setdefault(name, set()).add(tuple(shape[1:]))
    return all(len(some) == 1 for some in lengths.values())


def _partial_batch(phase: Phase) -> Finding:
    rows = sorted({shape[0] for one in phase.shapes for shape in one.tensors.values() if shape})
    odd = min(phase.shapes, key=lambda one: min(shape[0] for shape in one.tensors.values() if shape))
    keeps_coming = len(rows) > 2 and every_step(len(rows), phase.calls)
    setting = "drop_last=True in the DataLoader, or neuron_shim.pad_batches(collator, rows=...)."
    if phase.name == "training":
        setting = "dataloader_drop_last=True in the training arguments, or drop_last=True in the DataLoader."
    return Finding(
        "partial-batch",
        Severity.RECOMPILES if keeps_coming else Severity.COSTS,
        odd.where,
        f"{phase.name}: batches of {_listed(rows)} rows",
        "A batch that is not full is another shape, which is compiled as well.",
        f"Use {setting}",
    )


def _many_shapes(phase: Phase, loader: Mapping[str, Any] | None) -> Finding:
    count, padded = len(phase.shapes), len({_padded(one.tensors) for one in phase.shapes})
    severity = Severity.RECOMPILES if every_step(count, phase.calls) else Severity.COSTS
    made_by = phase.shapes[0].made_by
    why = "Each new shape is compiled, for about a minute."
    if padded < count:
        why += f" Padded to multiples of {MULTIPLE}, {count} shapes are {padded}."
    if phase.graphs and count > RECOMPILE_LIMIT:
        why += f" After {RECOMPILE_LIMIT} shapes torch.compile gives up and the model runs operator by operator."
    return Finding(
        "input-shapes",
        severity,
        phase.shapes[1].where,
        f"{phase.name}: {count} input shapes in {phase.calls} calls"
        + (f", made by {made_by}" if made_by is not None else ""),
        why,
        _advice(loader),
    )


def _advice(loader: Mapping[str, Any] | None) -> str:
    if loader is None:
        return f"Pad to one length or to a multiple of {MULTIPLE} before the model is called."
    where = loader["where"] or ""
    if "/trl/" in where:
        return f"Set pad_to_multiple_of={MULTIPLE} in the trainer's config, without padding_free."
    if loader["pads"]:
        return f"Give {loader['collator']} pad_to_multiple_of={MULTIPLE}."
    return f"Wrap the collator: neuron_shim.pad_batches({loader['collator']}, multiple={MULTIPLE})."


def _padded(tensors: Mapping[str, Sequence[int]]) -> str:
    """The shapes with every length but the number of rows brought to a multiple."""
    return str(
        sorted((name, shape[:1], [-(-size // MULTIPLE) for size in shape[1:]]) for name, shape in tensors.items())
    )


def _loader(journals: Mapping[int, Sequence[Event]], phase: Phase) -> Mapping[str, Any] | None:
    for events in journals.values():
        for event in events:
            if event["event"] == "call" and event["phase"] == phase.name and event["model"] == phase.model:
                found: Mapping[str, Any] | None = event["loader"]
                return found
    return None


def _listed(numbers: Sequence[int]) -> str:
    return " and ".join(map(str, numbers)) if len(numbers) < 4 else f"{numbers[0]} to {numbers[-1]}"
