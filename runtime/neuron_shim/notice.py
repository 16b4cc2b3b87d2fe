"""The few lines that the shim says: once each, by rank 0 only, through ``logging.getLogger("neuron_shim")``."""

from __future__ import annotations

import logging

from neuron_shim.environment import is_main_process

_logger = logging.getLogger("neuron_shim")
_said: set[str] = set()


def say_once(topic: str, message: str) -> None:
    """Log ``message`` as a warning unless something about ``topic`` was said before, or this is not rank 0.

    A warning, because Python prints those to stderr even where the script has not set up logging.
    """
    if topic not in _said and is_main_process():
        _said.add(topic)
        _logger.warning("neuron_shim: %s", message)
