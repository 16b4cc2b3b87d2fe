"""What a layout makes of a source: tensors, and what belongs beside them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.errors import ANEW, ExportError, check_is_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from neuron_shim.checkpoint.optimizer import SavedOptimizer
    from neuron_shim.checkpoint.replicas import Replicas
    from neuron_shim.checkpoint.tensors import Tensor

CONFIG = "config.json"
ADAPTER_CONFIG = "adapter_config.json"
MAX_JSON = 100_000_000  # bytes; the index of a large model has a hundredth of that


@dataclass(frozen=True)
class Checkpoint:
    """A model, or an adapter, whose bytes are still where they were."""

    layout: str
    tensors: tuple[Tensor, ...]
    config: Mapping[str, Any]
    """Of the model, or of the adapter."""

    companions: Mapping[str, Path | bytes]
    """File name at the destination, and the file to copy or its content. Never the config."""

    is_adapter: bool = False
    left_behind: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    base: Checkpoint | None = field(default=None, repr=False)
    """The model that a live adapter sits on."""

    writes: bool = True
    """False in a process that only takes part in putting the tensors together."""

    independent: bool = False
    """Whether tensors can be read at the same time, none holding what another one needs."""

    collective: bool = False
    """Whether every rank has to read every tensor."""

    replicas: tuple[Replicas, ...] = field(default=(), repr=False)
    """Tensors of which several copies were saved, to be compared before the first of each is taken."""

    widened: Callable[[], Checkpoint] | None = field(default=None, repr=False)
    """Makes the checkpoint in which each copy of a key/value head is a head of its own."""

    optimizer: SavedOptimizer | None = field(default=None, repr=False)
    """What was saved along of the optimizer."""

    plan: tuple[str, ...] = ()
    """How the tensors are made of what was saved, a line for each kind."""

    @property
    def config_name(self) -> str:
        return ADAPTER_CONFIG if self.is_adapter else CONFIG


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object.

    Raises:
        ExportError: the file is missing or holds something else.
    """
    try:
        check_is_file(path)
        if (size := path.stat().st_size) > MAX_JSON:
            raise ExportError(f"{path} has {size} bytes, which no checkpoint needs.")
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ExportError(f"{path} is missing.") from None
    except OSError as error:
        raise ExportError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise ExportError(f"{path} is no JSON, or was not written to its end: {error}. {ANEW}") from error
    if not isinstance(value, dict):
        raise ExportError(f"{path} holds no JSON object.")
    return value
