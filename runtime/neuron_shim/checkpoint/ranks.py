"""Who writes, and how the others learn that it failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.environment import is_main_process

_WORDS = 1024  # one fixed size: on Neuron every other length would be compiled anew


@dataclass(frozen=True)
class Ranks:
    """The processes of an export. With ``device`` they work together; without it the main one works alone."""

    device: Any = None

    @property
    def writes(self) -> bool:
        return is_main_process()

    def agree(self, error: BaseException | None) -> None:
        """Collective: raise on every rank if the one that writes has failed.

        Raises:
            ExportError: the message of rank 0; on rank 0 the error itself.
        """
        if self.device is not None:
            import torch
            from torch import distributed

            words = torch.zeros(_WORDS, dtype=torch.int32)
            if self.writes and error is not None:
                text = (str(error) or type(error).__name__).encode()[:_WORDS]
                words[: len(text)] = torch.tensor(list(text), dtype=torch.int32)
            words = words.to(self.device)
            distributed.broadcast(words, src=0)
            if not self.writes and (text := bytes(word for word in words.tolist() if word)):
                raise ExportError(f"Rank 0 could not export: {text.decode(errors='replace')}")
        if error is not None:
            raise error
