"""The byte strings without which a file cannot concern this tool.

A file that holds none of them is never decoded, let alone parsed. This module imports nothing, so that looking costs
what reading the bytes costs.
"""

from __future__ import annotations

NEEDLES: tuple[bytes, ...] = (b"optimum", b"neuron-migrate", b"Neuron", b"Trainium")
"""``optimum`` is in every import of Optimum Neuron, ``neuron-migrate`` in every marker and suppression; the other two
are in the names that a file may take from another file of the same project."""


def concerns(data: bytes) -> bool:
    """Whether a file with these bytes may hold something to migrate or a marker to report."""
    return any(needle in data for needle in NEEDLES)
