"""What the simulated device refuses, and whether to go on all the same.

Nobody watching, a refusal is an error, as on Trainium. A watcher (``neuron_shim.preflight``) notes it and may let the
script go on, to see in one run what else would be refused: the operator then runs as the CPU would run it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Watcher = Callable[[str, str], bool]

_watcher: Watcher | None = None


def watch(watcher: Watcher) -> None:
    """Have ``watcher(kind, message)`` called at each refusal; it returns whether to go on.

    The kinds are "complex", "devices" (tensors of two devices at once), "fork", "collective", "dynamic" and "group"
    (used before the process group exists).
    """
    global _watcher
    _watcher = watcher


def tolerated(kind: str, message: str) -> bool:
    """Whether to go on where the device would raise an error with this message."""
    return _watcher is not None and _watcher(kind, message)
