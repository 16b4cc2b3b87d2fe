"""Replaces names of torch_xla that have a native one, and marks those that have none.

Counters of lazy graphs, SPMD meshes and the XLA profiler have no place in an eager backend; the marker says what does
their work. Behind each name stands one row of the table of this room.

https://docs.pytorch.org/docs/stable/index.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import Change, RemoveStatement
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.xla import metrics, rows, uses

RULE = Rule(
    code="NM610",
    name="xla-name",
    summary="Names of torch_xla by their rows: metrics, profiler, SPMD, FSDP, amp, utilities.",
    url="https://docs.pytorch.org/docs/stable/index.html",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)


def check(module: Module) -> Iterator[Change]:
    done: set[ast.AST] = set()
    for use in uses.of_rule(module, RULE.code):
        statement = metrics.is_printed(module, use)
        if statement is None:
            continue
        done.add(use.node)
        if not metrics.is_master_print(module, statement):
            message = "What was printed goes: there are no counters of lazy graphs any more."
            yield Change(Outcome.REWRITTEN, use.node, message, (RemoveStatement(statement), *use.erases))
    yield from rows.changes(module, RULE.code, frozenset(done))


CASES = (
    Case(
        "names with a native one",
        """import torch
import torch_neuronx
import torch_xla.core.xla_model as xm
from torch_xla.amp.syncfree import AdamW

optimizer = AdamW(torch_neuronx.parameters)
batch = xm.send_cpu_data_to_device(batch, device)
xm.set_rng_state(seed)
""",
        """import torch
import torch_neuronx
from accelerate.utils import send_to_device

optimizer = torch.optim.AdamW(torch_neuronx.parameters)
batch = send_to_device(batch, device)
torch.manual_seed(seed)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.REVIEW),
    ),
    Case(
        "counters of lazy graphs",
        """import torch_neuronx
import torch_xla.debug.metrics as met

print(met.metrics_report())
print(met.metrics_report(), torch_neuronx)
""",
        """import torch_neuronx
import torch_xla.debug.metrics as met

# TODO(neuron-migrate NM610): Delete metrics_report(), which told of lazy graphs: torch_neuronx.get_fallback_ops() \
names operations that ran on the CPU: https://docs.pytorch.org/docs/stable/index.html
print(met.metrics_report(), torch_neuronx)
""",
        (Outcome.REWRITTEN, Outcome.MANUAL),
    ),
    Case(
        "an imported name is marked once",
        """import torch_neuronx
from torch_xla.distributed.fsdp import XlaFullyShardedDataParallel as FSDP

model = FSDP(torch_neuronx.model)
other = FSDP(model)
""",
        """import torch_neuronx
# TODO(neuron-migrate NM610): Replace XlaFullyShardedDataParallel: torch.distributed.fsdp.fully_shard(model) shards \
natively, and its checkpoints need no consolidation: https://docs.pytorch.org/docs/stable/index.html
from torch_xla.distributed.fsdp import XlaFullyShardedDataParallel as FSDP

model = FSDP(torch_neuronx.model)
other = FSDP(model)
""",
        (Outcome.MANUAL,),
    ),
    Case("torch's own profiler", "import torch_neuronx\nimport torch.profiler as xp\n\nxp.profile(torch_neuronx)\n"),
    Case("a parameter of that name", "import torch_neuronx\n\n\ndef f(met):\n    met.metrics_report(torch_neuronx)\n"),
    Case(
        "torch's FSDP",
        "import torch_neuronx\nfrom torch.distributed.fsdp import fully_shard\n\nfully_shard(torch_neuronx)\n",
    ),
    Case("code for a TPU", 'import torch_xla.debug.metrics as met\n\nprint(met.metrics_report(), "TPU")\n'),
)
