"""The byte strings without which a file cannot concern this tool.

A file that holds none of them is never decoded, let alone parsed. This module imports nothing, so that looking costs
what reading the bytes costs.
"""

from __future__ import annotations

ROOT = b"euron"
"""In every import of Optimum Neuron, every name of it and every marker: most files are told by this one search."""

NEEDLES: tuple[bytes, ...] = (b"optimum", b"Neuron", b"neuron-migrate")
"""An import; a name taken from another file of the project; a marker or a suppression."""


def concerns(data: bytes) -> bool:
    """Whether a file with these bytes may hold something to migrate or a marker to report."""
    return ROOT in data and any(needle in data for needle in NEEDLES)
