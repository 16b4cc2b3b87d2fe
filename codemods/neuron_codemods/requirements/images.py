"""Container images that hold the old stack, and instances that the native one does not run on."""

from __future__ import annotations

import re

_OLD_IMAGE = re.compile(
    r"huggingface-[\w-]*neuronx|neuronx-tgi|optimum-neuron|text-generation-inference:[\w.-]*neuron"
    r"|pytorch-(?:training|inference)-neuronx?:(?:1\.|2\.[0-9]\b)",
    re.IGNORECASE,
)
_OLD_INSTANCE = re.compile(r"\b(?:ml\.)?(?:trn1n?|inf[12])\.(?:\d+)?x?large\b")

ADVICE = (
    "Build on an image that has torch-neuronx 2.14 and Python 3.12, or on plain Ubuntu with the packages installed: "
    "this one holds the stack of Optimum Neuron."
)
INSTANCE_ADVICE = "TorchNeuron runs on Trn2 and Trn3 only: ask for such an instance instead."


def is_old_image(name: str) -> bool:
    """Whether an image is one of Hugging Face's or AWS's with the XLA stack."""
    return _OLD_IMAGE.search(name) is not None


def old_instance(text: str) -> str | None:
    """The instance type of Trn1, Inf1 or Inf2 in a text, if there is one."""
    found = _OLD_INSTANCE.search(text)
    return found.group() if found else None
