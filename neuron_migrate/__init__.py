"""The command ``neuron-migrate``: finds files, hands their text to the codemods, writes and reports."""

from __future__ import annotations

__all__ = ["__version__"]

__version__: str


def __getattr__(name: str) -> str:
    # Reading the installed metadata costs more than scanning a thousand files, so it waits until somebody asks.
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import metadata

    try:
        version = metadata.version("neuron-migrate")
    except metadata.PackageNotFoundError:  # run from a checkout
        version = "0+unknown"
    globals()["__version__"] = version
    return version
