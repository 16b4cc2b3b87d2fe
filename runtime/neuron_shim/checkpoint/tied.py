"""Tied embeddings stay tied: one tensor in the file, not two.

A tied model that was sharded when it was saved writes ``lm_head.weight`` beside ``embed_tokens.weight`` (transformers
5.24: ``remove_tied_weights_from_state_dict`` compares addresses, and gathered tensors each have their own). It still
loads, and takes the space of the embedding twice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.architecture import known_model, tied_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from neuron_shim.checkpoint.source import Checkpoint
    from neuron_shim.checkpoint.tensors import Tensor


def without_duplicates(checkpoint: Checkpoint) -> tuple[Checkpoint, tuple[str, ...]]:
    """The checkpoint without tensors that the model ties to an equal one, and their names."""
    if not _may_hold_duplicates(checkpoint):
        return checkpoint, ()
    tensors = {tensor.name: tensor for tensor in checkpoint.tensors}
    dropped: list[str] = []
    differing: list[str] = []
    for name, kept in _ties(checkpoint.config).items():
        if name in tensors and kept in tensors:
            (dropped if equal(tensors[name], tensors[kept]) else differing).append(name)
    notes = tuple(f"{name} is kept: the config ties it, but it differs from what it is tied to." for name in differing)
    left = tuple(tensor for tensor in checkpoint.tensors if tensor.name not in dropped)
    return replace(checkpoint, tensors=left, notes=(*checkpoint.notes, *notes)), tuple(dropped)


def _may_hold_duplicates(checkpoint: Checkpoint) -> bool:
    """Two tensors with one row per word of the vocabulary: only then is transformers asked, which takes seconds."""
    if checkpoint.is_adapter or checkpoint.collective:  # of a live model the names are known to be tied or not
        return False
    if all(config.get("tie_word_embeddings") in (False, None) for config in _with_parts(checkpoint.config)):
        if checkpoint.config.get("tie_word_embeddings") is False:
            return False
    sizes = [config.get("vocab_size") for config in _with_parts(checkpoint.config)]
    return sum(tensor.shape[:1] != () and tensor.shape[0] in sizes for tensor in checkpoint.tensors) > 1


def _ties(config: Mapping[str, Any]) -> dict[str, str]:
    model = known_model(config)
    if model is not None:
        return tied_names(model)
    if any(part.get("tie_word_embeddings") is True for part in _with_parts(config)):
        return {"lm_head.weight": "model.embed_tokens.weight"}  # what nearly all decoders call them
    return {}


def _with_parts(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The config and the configs within it."""
    return [config, *(part for value in config.values() if isinstance(value, dict) for part in _with_parts(value))]


def equal(one: Tensor, other: Tensor) -> bool:
    """Whether both hold the same bytes; a piece of each is in memory."""
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return False
    left, right = _flow(one), _flow(other)
    rest_left, rest_right = memoryview(b""), memoryview(b"")
    while True:
        rest_left = rest_left or next(left, memoryview(b""))
        rest_right = rest_right or next(right, memoryview(b""))
        size = min(len(rest_left), len(rest_right))
        if size == 0:
            return len(rest_left) == len(rest_right)
        if rest_left[:size] != rest_right[:size]:
            return False
        rest_left, rest_right = rest_left[size:], rest_right[size:]


def _flow(tensor: Tensor) -> Iterator[memoryview]:
    return (memoryview(piece).cast("B") for piece in tensor.pieces())
