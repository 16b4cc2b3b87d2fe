"""Which EC2 instances have which Neuron chips.

Sizes: https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/neuron-hardware/ and the page on the
logical NeuronCore configuration, which is 2 unless it is set: four logical cores of eight physical ones a chip.
"""

from __future__ import annotations

import re

NATIVE = ("trn2", "trn3")
XLA_ONLY = ("trn1", "inf2", "inf1")
CORES_OF_A_CHIP = 8
DEFAULT_LOGICAL_CONFIG = 2


def family(instance: str) -> str:
    """ "trn2" of "trn2u.48xlarge"; "" of what names no instance type."""
    match = re.match(r"([a-z]+\d)[a-z0-9-]*\.[a-z0-9-]+$", instance)
    return match[1] if match else ""
