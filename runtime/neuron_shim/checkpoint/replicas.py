"""Tensors of which there are several copies that should be equal: compared before anything is written.

They may differ where ranks were trained apart (key/value heads before Optimum Neuron 0.0.21), where rounding was
stochastic, or where the files are of two runs. Then it is the user who chooses, never the export.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.dtypes import bits_of, torch_dtype
from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.tensors import Tensor, buffers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from neuron_shim.checkpoint.source import Checkpoint

CHOICES = ("first", "mean", "widened")


@dataclass(frozen=True)
class Replicas:
    """The copies of one tensor; the first is the one in the checkpoint."""

    name: str
    copies: tuple[Tensor, ...]
    kv: bool = False
    """Whether they are copies of key/value heads, which a wider model can hold all."""

    @property
    def nbytes(self) -> int:
        return sum(copy.nbytes for copy in self.copies)


@dataclass(frozen=True)
class Spread:
    """How far copies are from the first: the largest difference, and the largest value for comparison."""

    difference: float
    largest: float


def settled(checkpoint: Checkpoint, choice: str | None, compared: Callable[[int], None]) -> Checkpoint:
    """The checkpoint with one tensor for each that has copies, all of which were compared.

    Args:
        choice: what to do where copies differ, one of ``CHOICES``.
        compared: told of bytes that were read.

    Raises:
        ExportError: copies differ, and nobody has chosen.
    """
    spreads = {some.name: (some, spread) for some in checkpoint.replicas if (spread := _spread(some, compared))}
    if not spreads:
        return replace(checkpoint, replicas=())
    told = _told(spreads)
    others = [name for name, (some, _) in spreads.items() if not some.kv]
    if choice is None:
        raise ExportError(f"{told} {_advice(others, checkpoint)}")
    if choice == "widened":
        if others or checkpoint.widened is None:
            raise ExportError(f"{told} Only key/value heads can be widened: choose --kv first or --kv mean.")
        wide = checkpoint.widened()
        heads = wide.config.get("num_key_value_heads")
        return replace(wide, replicas=(), notes=(*wide.notes, f"{told} All are kept: {heads} key/value heads."))
    kept = "The first of them is kept." if choice == "first" else "Their mean is kept."
    tensors = checkpoint.tensors
    if choice == "mean":
        tensors = tuple(_mean(spreads[one.name][0]) if one.name in spreads else one for one in tensors)
    return replace(checkpoint, tensors=tensors, replicas=(), notes=(*checkpoint.notes, f"{told} {kept}"))


def _told(spreads: dict[str, tuple[Replicas, Spread]]) -> str:
    name, (worst, spread) = max(spreads.items(), key=lambda item: item[1][1].difference)
    where = f"{worst.copies[0].origin} and {worst.copies[1].origin}"
    far = f"by {spread.difference:.3g}, where its largest value is {spread.largest:.3g}"
    if not math.isfinite(spread.difference):
        far = "because some values are NaN or infinite"
    return (
        f"{len(spreads)} tensor{'s have' if len(spreads) > 1 else ' has'} copies that should be equal and differ, "
        f"most of all {name} ({len(worst.copies)} copies, such as in {where}) {far}."
    )


def _advice(others: Sequence[str], checkpoint: Checkpoint) -> str:
    if others:
        return (
            f"If {others[0]} was trained alike on all ranks, the files are of two runs or steps. To export them all "
            f"the same, choose --kv first or --kv mean."
        )
    wide = ", --kv widened (exact: every copy becomes a key/value head of its own)" if checkpoint.widened else ""
    return f"No copy is the right one by itself: choose --kv first, --kv mean{wide}."


def _spread(replicas: Replicas, compared: Callable[[int], None]) -> Spread | None:
    """None if all copies have the same bytes."""
    import numpy
    import torch

    difference = largest = 0.0
    differ = False
    for pieces in aligned(replicas.copies):
        first = pieces[0]
        for other in pieces[1:]:
            if not numpy.array_equal(numpy.frombuffer(first, "u1"), numpy.frombuffer(other, "u1")):
                differ = True
                one, two = (
                    torch.frombuffer(bytearray(piece), dtype=torch_dtype(replicas.copies[0].dtype)).double()
                    for piece in (first, other)
                )
                difference = max(difference, float((one - two).abs().nan_to_num(nan=float("inf")).max()))
                largest = max(largest, float(one.abs().nan_to_num(nan=float("inf")).max()))
        compared(sum(len(piece) for piece in pieces))
    return Spread(difference, largest) if differ else None


def _mean(replicas: Replicas) -> Tensor:
    first = replicas.copies[0]
    dtype = torch_dtype(first.dtype)

    def pieces() -> Iterator[Any]:
        import torch

        for some in aligned(replicas.copies):
            values = torch.stack([torch.frombuffer(bytearray(piece), dtype=dtype).double() for piece in some])
            yield from buffers_of(values.mean(dim=0).to(dtype))

    return replace(first, pieces=pieces)


def aligned(tensors: Sequence[Tensor]) -> Iterator[tuple[memoryview, ...]]:
    """The bytes of tensors of one shape side by side, in pieces of whole elements."""
    flows = [(memoryview(piece).cast("B") for piece in tensor.pieces()) for tensor in tensors]
    size = bits_of(tensors[0].dtype) // 8
    rests = [memoryview(b"")] * len(flows)
    while True:
        rests = [rest or next(flow, memoryview(b"")) for rest, flow in zip(rests, flows, strict=True)]
        length = min(map(len, rests))
        if not length:
            if any(rests):
                raise ExportError(f"The copies of {tensors[0].name} have different lengths.")
            return
        length -= length % size
        yield tuple(rest[:length] for rest in rests)
        rests = [rest[length:] for rest in rests]
