"""Whether a script fits the installed libraries, without running it: as ``--verify`` does, in this process."""

from __future__ import annotations

import warnings
from dataclasses import asdict

from neuron_codemods.library_uses import library_uses
from neuron_codemods.module import Module
from neuron_migrate.verify.probe import answer


def problems(text: str) -> list[str]:
    """What in a script does not fit: one line for each thing."""
    told = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # libraries warn when their parts are first imported
        for use in library_uses(Module(text)):
            problem = answer(asdict(use))
            if problem is not None:
                told.append(f"line {use.line}: {problem}")
    return told
