"""Marks names of neuronx_distributed (NxD) with what shards natively: DTensor plans, device meshes, FSDP.

Parallel layers need a plan, the mesh replaces `parallel_state`, and `fully_shard` the ZeRO-1 optimizer. A model of
transformers needs none of it: `DistributedConfig(tp_size=N, fsdp_size=M)` where it is loaded. `move_model_to_device`,
`clip_grad_norm` and the seed are rewritten.

https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import AnyEdit, Change, Edit
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.xla import rows, uses
from neuron_codemods.xla.uses import Use
from neuron_codemods.xla.writing import expression, is_whole, stack_free

RULE = Rule(
    code="NM613",
    name="neuronx-distributed",
    summary="neuronx_distributed: parallel layers, parallel_state, ZeRO-1, checkpoints, trainer functions.",
    url="https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)


def check(module: Module) -> Iterator[Change]:
    moved = {}
    for use, call in uses.calls(module, RULE.code):
        if use.symbol == "move_model_to_device":
            change = _moved(module, use, call)
            if change is not None:
                moved[use.node] = change
                yield change
    yield from rows.changes(module, RULE.code, frozenset(moved))


def _moved(module: Module, use: Use, call: ast.Call) -> Change | None:
    """``move_model_to_device(model, device)`` is ``model.to(device)``."""
    if len(call.args) != 2 or call.keywords or any(isinstance(item, ast.Starred) for item in call.args):
        return None
    model, device = call.args
    if is_whole(module, call) is None or not stack_free(module, model):
        return None
    source = module.source
    (start, end), (first, last), (where, stop) = source.span(call), source.span(model), source.span(device)
    simple = expression(module, model) == source.segment(model)
    opening, closing = ("", "") if simple else ("(", ")")
    edits: tuple[AnyEdit, ...] = (
        Edit.replace((start, first), opening),
        Edit.replace((last, where), f"{closing}.to("),
        Edit.replace((stop, end), ")"),
    )
    return Change(Outcome.REWRITTEN, use.node, use.row.message, (*edits, *use.erases))


CASES = (
    Case(
        "the model goes to the device",
        """import torch
from neuronx_distributed.parallel_layers.grads import clip_grad_norm
from neuronx_distributed.utils.model_utils import move_model_to_device

move_model_to_device(model, device)
clip_grad_norm(model.parameters(), 1.0)
""",
        """import torch

model.to(device)
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
""",
        (Outcome.REWRITTEN, Outcome.REVIEW),
    ),
    Case(
        "parallel layers",
        """from neuronx_distributed.parallel_layers import ColumnParallelLinear, parallel_state

layer = ColumnParallelLinear(8, 8)
rank = parallel_state.get_data_parallel_rank()
""",
        """# TODO(neuron-migrate NM613): ColumnParallelLinear has no drop-in: make it a plain torch.nn layer and \
shard it with a plan of torch.distributed.tensor.parallel (ColwiseParallel), or load the model with \
DistributedConfig(tp_size=N): https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html
from neuronx_distributed.parallel_layers import ColumnParallelLinear, parallel_state

layer = ColumnParallelLinear(8, 8)
# TODO(neuron-migrate NM613): Replace get_data_parallel_rank() with mesh.get_local_rank("dp") of the device mesh: \
https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html
rank = parallel_state.get_data_parallel_rank()
""",
        (Outcome.MANUAL, Outcome.MANUAL),
    ),
    Case(
        "torch's own plan", "from torch.distributed.tensor.parallel import ColwiseParallel\n\nprint(ColwiseParallel)\n"
    ),
    Case("Megatron's", "from megatron.core import parallel_state\n\nprint(parallel_state.get_data_parallel_rank())\n"),
    Case("a local class", "class ColumnParallelLinear:\n    pass\n\n\nprint(ColumnParallelLinear)\n"),
)
