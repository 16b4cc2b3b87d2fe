"""Findings about calls of ``generate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_shim.preflight.result import Finding, Severity
from neuron_shim.preflight.shapes import every_step

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from neuron_shim.preflight.journal import Event


def generation_findings(journals: Mapping[int, Sequence[Event]]) -> Iterator[Finding]:
    calls = [event for event in journals.get(0, ()) if event["event"] == "generate"]
    on_device = [event for event in calls if event["model_device"] == "neuron"]
    yield from _moved_prompts(on_device)
    yield from _growing_caches(on_device)
    yield from _prompt_shapes(on_device)


def _moved_prompts(calls: Sequence[Event]) -> Iterator[Finding]:
    # Trainers of TRL move the prompts themselves, and no setting stops them.
    moved = {
        event["where"]: event for event in calls if event["prompt_device"] == "neuron" and not event["in_trainer"]
    }
    for event in moved.values():
        yield Finding(
            "prompt-on-device",
            Severity.RECOMPILES,
            event["moved_at"] or event["where"],
            "the prompt is moved to the device before generate",
            "There it grows by a token at each step, and each length is a new shape, without torch.compile too.",
            "Leave the prompt on the CPU: generate moves what the model needs.",
        )


def _growing_caches(calls: Sequence[Event]) -> Iterator[Finding]:
    growing = {
        event["where"]: event
        for event in calls
        if event["forwards"] > 2
        and event["cache"] in {None, "dynamic"}
        and event["own_cache"] in {None, "DynamicCache"}
    }
    for event in growing.values():
        yield Finding(
            "growing-cache",
            Severity.RECOMPILES,
            event["where"],
            f"generate keeps its keys and values in a cache that grows: {event['forwards']} shapes for "
            f"{event['forwards']} tokens",
            "Each token is a new shape. With a static cache there are two: the prompt, and one token.",
            'Pass cache_implementation="static" and max_cache_len= (prompt and new tokens together).',
        )


def _prompt_shapes(calls: Sequence[Event]) -> Iterator[Finding]:
    shapes = list(dict.fromkeys(tuple(event["prompt"]) for event in calls))
    if len(shapes) < 2:
        return
    second = next(event for event in calls if tuple(event["prompt"]) == shapes[1])
    listed = ", ".join("x".join(map(str, shape)) for shape in shapes[:4]) + (", ..." if len(shapes) > 4 else "")
    yield Finding(
        "prompt-shapes",
        Severity.RECOMPILES if every_step(len(shapes), len(calls)) else Severity.COSTS,
        second["made_at"] or second["where"],
        f"{len(shapes)} shapes of prompts in {len(calls)} calls of generate ({listed})",
        "The part of the model that reads the prompt is compiled for each.",
        "Tokenize to one batch size and length: neuron_shim.tokenize_fixed(tokenizer, prompts, rows=..., length=...).",
    )
