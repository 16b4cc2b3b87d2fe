"""Compile before it counts."""

from __future__ import annotations

import contextlib
import logging
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_logger = logging.getLogger("neuron_shim")


def warm_up(
    model: Any,
    *,
    rows: int,
    lengths: Sequence[int],
    generate: Mapping[str, Any] | None = None,
    inputs: Callable[[int, int], Mapping[str, Any]] | None = None,
) -> dict[tuple[int, int], float]:
    """Run the model once for each length, so that all of them are compiled before the first request.

        warm_up(model, rows=8, lengths=(128, 256))
        warm_up(model, rows=1, lengths=(128,), generate={"cache_implementation": "static", "max_cache_len": 256})

    The model computes without gradients, in evaluation mode, and is left in the mode it was in.

    Args:
        lengths: the buckets.
        generate: settings for ``model.generate``, which is then called instead of the model: two new tokens, unless
            they say otherwise.
        inputs: makes what the model is given from rows and length; by default token ids and a mask of ones.

    Returns:
        The seconds that each (rows, length) took.

    Raises:
        ValueError: there are no lengths.
    """
    import torch

    if not lengths:
        raise ValueError("lengths is empty: name the buckets that the model will be given.")
    seconds = {}
    with _evaluating(model), torch.no_grad():
        for length in lengths:
            given = dict((inputs or _ones)(rows, length))
            started = time.perf_counter()
            if generate is not None:
                # generate wants the prompt on the CPU.
                model.generate(**given, **{"max_new_tokens": 2, "min_new_tokens": 2, "do_sample": False, **generate})
            else:
                device = next(model.parameters()).device
                moved = {name: value.to(device) if hasattr(value, "to") else value for name, value in given.items()}
                model(**moved)
            _wait()
            seconds[rows, length] = time.perf_counter() - started
            _logger.info("neuron_shim: %d x %d is compiled (%.1f s).", rows, length, seconds[rows, length])
    return seconds


def _ones(rows: int, length: int) -> dict[str, Any]:
    import torch

    return {name: torch.ones(rows, length, dtype=torch.long) for name in ("input_ids", "attention_mask")}


@contextlib.contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def _wait() -> None:
    """The device may still be at work when a call returns."""
    import torch

    if torch.accelerator.is_available():
        torch.accelerator.synchronize()
