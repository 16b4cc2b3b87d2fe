"""The result as text and as JSON."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import textwrap
from typing import TYPE_CHECKING

from neuron_shim.preflight.result import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from neuron_shim.preflight.result import Finding, InputShape, Phase, Result

HEADINGS = {
    Severity.FAILS: "WOULD FAIL",
    Severity.RECOMPILES: "RECOMPILES",
    Severity.COSTS: "COSTS TIME",
}
SHOWN_SHAPES = 4
LEGEND = "Kernels: operators outside of torch.compile, each with each shape it met (late: new after the second call)."
WIDEST = 120


def as_json(result: Result) -> str:
    told = dataclasses.asdict(result)
    told["compile_seconds_estimate"] = result.compile_seconds
    return json.dumps(told, indent=2)


def as_text(result: Result, width: int | None = None) -> str:
    width = min(WIDEST, width or shutil.get_terminal_size().columns)
    blocks = [_head(result, width), *_ended_badly(result, width)]
    if result.phases:
        blocks.append(_table(result.phases, width))
        blocks.append(_wrapped(_estimate(result), width))
    blocks += [_finding(number, finding, width) for number, finding in enumerate(result.findings, 1)]
    blocks.append(_wrapped(_summary(result), width))
    return "\n\n".join(blocks)


def _wrapped(text: str, width: int, first: str = "", rest: str = "") -> str:
    return "\n".join(
        textwrap.wrap(
            text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
        )
    )


def _head(result: Result, width: int) -> str:
    done = [_count(result.steps, "optimizer step")] if result.steps else []
    done += [_count(result.generated, "call", "calls") + " of generate"] if result.generated else []
    processes = _count(result.processes, "process", "processes")
    ran = f" ran {' and '.join(done)}" if done else ""
    return _wrapped(
        f"{result.script}:{ran} in {processes} on a simulated Neuron device. Nothing here was measured on Trainium.",
        width,
    )


def _ended_badly(result: Result, width: int) -> Iterator[str]:
    ending = result.ending
    rank = f" in rank {ending.rank}" if result.processes > 1 else ""
    at = f" at {short(ending.where)}" if ending.where else ""
    if ending.how == "failed" and not ending.by_device:
        yield _wrapped(
            f"The script failed{rank}{at}, not the device: {ending.error}. Its traceback is above. What follows was "
            f"seen until then.",
            width,
        )
    elif ending.how == "died":
        yield _wrapped(
            f"The script did not end by itself{rank}: {ending.error}. What follows was seen until then.", width
        )
    elif ending.how == "interrupted":
        yield "Interrupted. What follows was seen until then."


def _table(phases: Sequence[Phase], width: int) -> str:
    """One line a phase, and below it the shapes with the line that made them."""
    rows = [("PHASE", "MODEL", "CALLS", "SHAPES", "GRAPHS", "KERNELS")]
    for phase in phases:
        graphs = f"{phase.graphs}+{phase.backward_graphs}" if phase.backward_graphs else str(phase.graphs)
        kernels = (
            f"{phase.kernels} ({phase.new_kernels_later} late)" if phase.new_kernels_later else f"{phase.kernels}"
        )
        rows.append((phase.name, phase.model, str(phase.calls), str(len(phase.shapes)), graphs, kernels))
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    lines = []
    for number, row in enumerate(rows):
        left = "  ".join(cell.ljust(widths[column]) for column, cell in enumerate(row[:2]))
        right = "  ".join(cell.rjust(widths[column + 2]) for column, cell in enumerate(row[2:5]))
        lines.append(f"{left}  {right}  {row[5]}".rstrip())
        if number:
            lines += _shape_lines(phases[number - 1].shapes, width)
    if any(phase.kernels for phase in phases):
        lines.append(_wrapped(LEGEND, width))
    return "\n".join(lines)


def _shape_lines(shapes: Sequence[InputShape], width: int) -> Iterator[str]:
    """The shapes by the line that called the model, and what made them."""
    places: dict[tuple[str, str | None], list[InputShape]] = {}
    for one in shapes:
        places.setdefault((one.where, one.made_by), []).append(one)
    for (where, made_by), some in places.items():
        maker = f", batches by {_shortened(made_by)}" if made_by else ""
        yield _wrapped(f"{short(where)}{maker}", width, "  ", "    ")
        for one in some[:SHOWN_SHAPES]:
            calls = f" ({_count(one.calls, 'call')})" if len(shapes) > 1 else ""
            yield _wrapped(f"{_described(one)}{calls}", width, "    ", "      ")
        if len(some) > SHOWN_SHAPES:
            yield f"    and {len(some) - SHOWN_SHAPES} more"


def _described(one: InputShape) -> str:
    """The shapes, those of equal tensors once: input_ids, labels 2x57."""
    names: dict[str, list[str]] = {}
    for name, shape in one.tensors.items():
        names.setdefault("x".join(map(str, shape)) or "a number", []).append(name)
    parts = [f"{_few(some)} {shape}" for shape, some in names.items()]
    return ", ".join(parts[:3]) + (", ..." if len(parts) > 3 else "") or "no tensors"


def _few(names: Sequence[str]) -> str:
    return "/".join(names[:3]) + ("/..." if len(names) > 3 else "")


def _estimate(result: Result) -> str:
    minutes = result.compile_seconds / 60
    return (
        f"Estimate, not measured: {_count(result.shapes, 'input shape')} x {result.seconds_per_shape} s = "
        f"{minutes:g} min of compilation, with an empty cache (the release notes of TRL 1.16 give a minute for a new "
        f"length)."
    )


def _finding(number: int, finding: Finding, width: int) -> str:
    where = f"{short(finding.where)}  " if finding.where else ""
    ranks = f" (rank {', '.join(map(str, finding.ranks))})" if finding.ranks else ""
    what = _shortened(finding.what)
    head = f"{number}. {HEADINGS[finding.severity]}  {where}{what}{ranks}"
    return "\n".join(
        (
            _wrapped(head, width, "", "   "),
            _wrapped(f"Why: {finding.why}", width, "   ", "        "),
            _wrapped(f"Do:  {finding.advice}", width, "   ", "        "),
        )
    )


def _summary(result: Result) -> str:
    counts = {severity: sum(one.severity is severity for one in result.findings) for severity in Severity}
    parts = (
        (counts[Severity.FAILS], "would fail"),
        (counts[Severity.RECOMPILES], "would recompile at every step or nearly"),
        (counts[Severity.COSTS], "would cost time"),
    )
    told = ", ".join(f"{count} {what}" for count, what in parts if count)
    return f"Found: {told}." if told else "Found nothing that would fail or recompile."


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def short(place: str | None) -> str:
    """A path from here, if that is shorter."""
    if place is None:
        return "?"
    path, _, line = place.rpartition(":")
    try:
        relative = os.path.relpath(path)
    except ValueError:  # another drive
        return place
    return f"{relative if len(relative) < len(path) else path}:{line}"


def _shortened(text: str) -> str:
    """The same with the path in parentheses from here, as in "collate (/home/me/train.py:20)"."""
    before, bracket, rest = text.rpartition(" (")
    place, close, after = rest.partition(")")
    if bracket and close and place.startswith("/"):
        return f"{before} ({short(place)}){after}"
    return text
