"""Marks names of the XLA-era torch_neuronx, torch_neuron and their runtime that the native package has not got.

The native package has the same import name. What only the old one had (`analyze`, `DataParallel`, `xla_impl`,
`experimental`) is marked with what takes its place; what both have, and what only the new one has, stays.

https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.xla import rows

RULE = Rule(
    code="NM612",
    name="neuronx-name",
    summary="analyze, DataParallel, xla_impl, experimental of torch_neuronx, and all of torch_neuron: what to do.",
    url="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html",
    outcomes=(Outcome.MANUAL,),
)


def check(module: Module) -> Iterator[Change]:
    yield from rows.changes(module, RULE.code)


CASES = (
    Case(
        "several cores in one process",
        "import torch_neuronx\n\nmodel = torch_neuronx.DataParallel(model, [0, 1], set_dynamic_batching=False)\n",
        """import torch_neuronx

# TODO(neuron-migrate NM612): Run one process for each core with torchrun instead of DataParallel, each with its part \
of the batch: https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html
model = torch_neuronx.DataParallel(model, [0, 1], set_dynamic_batching=False)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "operations for XLA",
        "from torch_neuronx.xla_impl.ops import RmsNorm\n\nx = RmsNorm.apply(x)\n",
        """# TODO(neuron-migrate NM612): Replace the XLA RmsNorm with torch.nn.RMSNorm or \
torch.nn.functional.rms_norm: https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html
from torch_neuronx.xla_impl.ops import RmsNorm

x = RmsNorm.apply(x)
""",
        (Outcome.MANUAL,),
    ),
    Case("what the native package has", "import torch_neuronx\n\nprint(torch_neuronx.get_fallback_ops())\n"),
    Case("torch's own", "import torch\nimport torch_neuronx\n\nprint(torch.nn.DataParallel(torch_neuronx.model))\n"),
    Case("a local name", "import torch_neuronx\n\n\ndef analyze(x):\n    return torch_neuronx.nki_op(x)\n"),
)
