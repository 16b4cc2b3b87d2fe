"""The distributions of the old stack and of the native one, and the versions that work together.

The native pins are those of Neuron 2.33 (torch 2.14 with torch-neuronx 2.14, Python 3.12 or later):
https://awsdocs-neuron.readthedocs-hosted.com/en/v2.33.0/setup/pytorch/update-manual.html. The libraries' lower bounds
are the versions that the rules were checked against; what they need themselves is in their metadata.
"""

from __future__ import annotations

OPTIMUM_NEURON = "optimum-neuron"

LEFTOVERS = frozenset(
    (  # noqa: SIM905 (one string keeps to a few lines what would be a dozen)
        "aws-neuronx-runtime-discovery libneuronxla neuron-cc neuronx-distributed neuronx-distributed-inference "
        "neuronx-distributed-training tensorboard-plugin-neuron tensorboard-plugin-neuronx tensorflow-neuron "
        "tensorflow-neuronx torch-neuron torch-xla transformers-neuronx"
    ).split()
)
"""What only the XLA stack, or Inf1, needed. A torch-xla that is left makes transformers take the machine for a TPU."""

TORCH_NEURONX = "torch-neuronx==2.14.*"
COMPILER = "neuronx-cc==2.*"
KERNELS = "nki"
SHIM = "neuron-migrate[runtime]"

TORCH = "2.14"
"""The release of torch that the native torch-neuronx is built for."""
BUILT_WITH_TORCH = frozenset(("torchaudio", "torchvision"))
"""Each release of these belongs to one release of torch."""

LIBRARIES = {
    "accelerate": "1.15",
    "diffusers": "0.42",
    "huggingface-hub": "1.31",
    "peft": "0.21",
    "sentence-transformers": "6.2",
    "transformers": "5.24",
    "trl": "1.16",
}
"""The oldest version of each that migrated code runs on."""

HELD_BACK = {
    "numpy": ("2.1.0", "2.3.0"),
    "protobuf": ("5.29.0", "6.30.0"),
    "safetensors": ("0.8.0",),
    "tokenizers": ("0.23.1",),
}
"""What Optimum Neuron pinned to old versions, each with versions of which the native stack needs one."""

EXTRAS = {
    "training": ("trl", "peft"),
    "diffusers": ("diffusers", "peft"),
    "sentence-transformers": ("sentence-transformers",),
}
"""Which libraries an extra of optimum-neuron brought."""

NEURON_EXTRAS = frozenset(("neuron", "neuronx"))
"""Extras with which ``optimum`` 1.x brought optimum-neuron; optimum 2 has none of them any more."""

NEURON_INDEX = "https://pip.repos.neuron.amazonaws.com"
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
"""Without the first, pip finds empty placeholders of torch-neuronx; the second has torch without CUDA."""

PYTHON = "3.12"
"""The oldest Python that TorchNeuron runs on."""

URL = "https://awsdocs-neuron.readthedocs-hosted.com/en/v2.33.0/setup/pytorch/update-manual.html"
