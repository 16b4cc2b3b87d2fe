"""What a worker is given: a file, and what was chosen for it."""

from __future__ import annotations

from typing import NamedTuple

from neuron_codemods.model import Settings
from neuron_migrate.scan import Hit


class Job(NamedTuple):
    """One file to migrate."""

    hit: Hit
    settings: Settings
