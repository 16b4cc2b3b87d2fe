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
    """Run the model for each length, so that all of them are compiled before the first request.

        warm_up(model, rows=8, lengths=(128, 256))
        warm_up(model, rows=1, lengths=(128,), generate={"cache_implementation": "static", "max_cache_len": 256})

    The model computes without gradients, in evaluation mode, and is left in the mode it was in.

    Args:
        lengths: the buckets.
        generate: settings for ``model.generate``, which is then called instead of the model: two new tokens, unless
            they say otherwise.
        inputs: makes what the model is given from rows and length; by default token ids and a mask, once without
            padding and once with some.

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
            started = time.perf_counter()
            for given in [inputs(rows, length)] if inputs else _whole_and_padded(rows, length):
                _run(model, given, generate)
            _wait()
            seconds[rows, length] = time.perf_counter() - started
            _logger.info("neuron_shim: %d x %d is compiled (%.1f s).", rows, length, seconds[rows, length])
    return seconds


def _run(model: Any, given: Mapping[str, Any], generate: Mapping[str, Any] | None) -> None:
    if generate is not None:
        # generate wants the prompt on the CPU.
        model.generate(**given, **{"max_new_tokens": 2, "min_new_tokens": 2, "do_sample": False, **generate})
        return
    device = next(model.parameters()).device
    model(**{name: value.to(device) if hasattr(value, "to") else value for name, value in given.items()})


def _whole_and_padded(rows: int, length: int) -> Iterator[dict[str, Any]]:
    """Inputs without padding, and inputs with some.

    transformers leaves the mask out where nothing is padded (masking_utils.py, ``_ignore_causal_mask_sdpa``), so the
    two are compiled apart.
    """
    import torch

    for padding in (0, 1)[: min(length, 2)]:
        mask = torch.ones(rows, length, dtype=torch.long)
        mask[:, :padding] = 0
        yield {"input_ids": torch.ones_like(mask), "attention_mask": mask}


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
