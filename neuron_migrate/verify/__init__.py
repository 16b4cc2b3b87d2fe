"""Whether a script fits the libraries that are installed in some interpreter, without running it."""

from __future__ import annotations

from neuron_codemods.library_uses import LIBRARIES

NEEDLES = tuple(name.encode() for name in LIBRARIES)
"""Without one of these a file imports no library that is looked at."""
