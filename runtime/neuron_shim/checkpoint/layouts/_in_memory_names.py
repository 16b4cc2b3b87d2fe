"""A checkpoint of a sharded model holds the names and shapes that the model has in memory: check, then convert."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.architecture import known_model, tied_names
from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.names import as_in_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from neuron_shim.checkpoint.tensors import Tensor


class Expected:
    """What the architecture says the checkpoint must hold; nothing, if transformers does not know it."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._model = known_model(config)
        self._shapes: dict[str, tuple[int, ...]] = {}
        if self._model is not None:
            self._shapes = {name: tuple(value.shape) for name, value in self._model.state_dict().items()}

    @property
    def notes(self) -> tuple[str, ...]:
        if self._model is not None:
            return ()
        return ("The architecture is not one of transformers' own: that no shard is missing could not be checked.",)

    def shape(self, name: str) -> tuple[int, ...] | None:
        return self._shapes.get(name)

    def check_names(self, names: Iterable[str], folder: Path) -> None:
        if self._model is None:
            return
        held = {*names, *tied_names(self._model)}
        missing = [name for name in self._shapes if name not in held]
        if missing:
            raise ExportError(
                f"{missing[0]} is in no file of {folder}: {len(missing)} of the {len(self._shapes)} tensors of "
                f"{type(self._model).__name__} are missing."
            )

    def as_in_files(self, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tensors if self._model is None else as_in_files(self._model, tensors)
