"""Averaging gradients over all processes, for training loops that step their optimizer by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch

BUCKET_BYTES = 1 << 26
"""About how many bytes of gradients travel together: few collectives, and little memory beside the gradients."""


def average_gradients(optimizer: torch.optim.Optimizer) -> None:
    """Replace each gradient by its mean over all processes: call it before ``optimizer.step()``.

    This is what ``xm.optimizer_step(optimizer)`` of torch_xla did before its step, and ``xm.reduce_gradients`` alone
    (torch_xla/core/xla_model.py: a sum over the replicas, scaled by their number). It leaves order and moment to the
    loop: gradients are clipped before or after it as the loop says, and accumulated without any communication.
    ``torch.nn.parallel.DistributedDataParallel`` has the same result where a loop makes one backward pass for each
    step, and overlaps communication with that pass.

    Gradients of one dtype travel together. Without a process group, or with a single process, nothing
    happens. All processes must have gradients for the same parameters. Sharded parameters (DTensor) are left alone:
    their gradients are reduced by what sharded them.

    Raises:
        TypeError: a gradient is sparse.
    """
    import torch
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_initialized() or dist.get_world_size() == 1:
        return
    with torch.no_grad():
        for gradients in _buckets(optimizer):
            together = torch.cat([gradient.flatten() for gradient in gradients])
            dist.all_reduce(together)
            together /= dist.get_world_size()
            parts = together.split([gradient.numel() for gradient in gradients])
            for gradient, mean in zip(gradients, parts, strict=True):
                gradient.copy_(mean.view_as(gradient))


def _buckets(optimizer: torch.optim.Optimizer) -> Iterator[list[torch.Tensor]]:
    """The gradients of an optimizer, in groups that travel together."""
    open_buckets: dict[tuple[torch.dtype, torch.device], list[torch.Tensor]] = {}
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            gradient = parameter.grad
            if gradient is None or hasattr(gradient, "_local_tensor"):
                continue
            if gradient.is_sparse:
                raise TypeError("average_gradients takes dense gradients: make the embedding with sparse=False.")
            bucket = open_buckets.setdefault((gradient.dtype, gradient.device), [])
            bucket.append(gradient)
            if sum(item.numel() * item.element_size() for item in bucket) >= BUCKET_BYTES:
                del open_buckets[gradient.dtype, gradient.device]
                yield bucket
    yield from open_buckets.values()
