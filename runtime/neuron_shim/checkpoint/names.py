"""Names and shapes in a file, where they differ from those in memory.

transformers 5 keeps some models in another form than their files: experts are stacked, projections fused
(transformers/conversion_mapping.py). ``save_pretrained`` undoes that for the whole model at once
(core_model_loading.py, ``revert_weight_conversion``). Here the same function is called for as few tensors as it
accepts, so that only those are in memory together.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.dtypes import code_of, torch_dtype
from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.tensors import Tensor, buffers_of, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def as_in_files(model: Any, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The tensors under the names, and in the form, of a file that ``save_pretrained`` writes.

    Raises:
        ExportError: the conversion cannot be undone.
    """
    after = _described(_revert(model, tensors))
    if after == {tensor.name: (tensor.dtype, tensor.shape) for tensor in tensors}:
        return tuple(tensors)
    results: list[Tensor] = []
    for group in _groups(model, tensors, after):
        results.extend(group.results())
    return tuple(results)


def _revert(model: Any, tensors: Sequence[Tensor], values: dict[str, Any] | None = None) -> dict[str, Any]:
    import torch
    from transformers.core_model_loading import revert_weight_conversion

    if values is None:
        values = {t.name: torch.empty(t.shape, dtype=torch_dtype(t.dtype), device="meta") for t in tensors}
    reverted: dict[str, Any] = revert_weight_conversion(model, values)
    return reverted


def _described(values: dict[str, Any]) -> dict[str, tuple[str, tuple[int, ...]]]:
    return {name: (code_of(value.dtype), tuple(value.shape)) for name, value in values.items()}


class _Group:
    """Tensors that are converted together. The result is held until each of its tensors was read."""

    def __init__(self, model: Any, tensors: Sequence[Tensor], described: dict[str, tuple[str, tuple[int, ...]]]):
        self._model = model
        self._tensors = tensors
        self._described = described
        self._values: dict[str, Any] = {}

    def results(self) -> Iterator[Tensor]:
        if len(self._tensors) == 1 == len(self._described):
            [(name, (dtype, shape))] = self._described.items()
            [tensor] = self._tensors
            if (tensor.dtype, tensor.shape) == (dtype, shape):  # only the name differs, if anything
                yield tensor.renamed(name)
                return
        for name, (dtype, shape) in self._described.items():
            pieces = functools.partial(self._pieces, name)
            yield Tensor(name, dtype, shape, self._tensors[0].origin, pieces)

    def _pieces(self, name: str) -> Iterator[Any]:
        if name not in self._values:
            loaded = {tensor.name: whole(tensor) for tensor in self._tensors}
            if any(value is None for value in loaded.values()):  # a rank that does not write
                self._values = dict.fromkeys(self._described)
            else:
                self._values = _revert(self._model, self._tensors, loaded)
        value = self._values.pop(name)
        if value is not None:
            yield from buffers_of(value)


def _groups(model: Any, tensors: Sequence[Tensor], after: dict[str, tuple[str, tuple[int, ...]]]) -> Iterator[_Group]:
    """One tensor at a time; what cannot be converted alone, by layer."""
    groups: list[_Group] = []
    results: dict[str, tuple[str, tuple[int, ...]]] = {}
    together: dict[str, list[Tensor]] = {}
    for tensor in tensors:
        found = _try(model, [tensor], after)
        if found is None:
            match = re.match(r".*?\.\d+\.", tensor.name)
            together.setdefault(match[0] if match else "", []).append(tensor)
        else:
            groups.append(_Group(model, [tensor], found))
            results |= found
    for some in together.values():
        found = _try(model, some, after)
        if found is None:
            raise ExportError(
                f"{some[0].name} and {len(some) - 1} others could not be brought into the form of a file "
                f"({type(model).__name__}). Save the model with save_pretrained, without distributed_checkpoint."
            )
        groups.append(_Group(model, some, found))
        results |= found
    if results != after:
        missing = sorted(after.keys() ^ results.keys()) or sorted(after)
        raise ExportError(f"{missing[0]} could not be brought into the form of a file ({type(model).__name__}).")
    yield from groups


def _try(
    model: Any, tensors: Sequence[Tensor], after: dict[str, tuple[str, tuple[int, ...]]]
) -> dict[str, tuple[str, tuple[int, ...]]] | None:
    try:
        found = _described(_revert(model, tensors))
    except (RuntimeError, ValueError, KeyError, IndexError, TypeError):
        return None
    return found if all(after.get(name) == description for name, description in found.items()) else None
