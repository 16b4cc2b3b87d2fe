"""Deletes what cut, ran and waited for lazy graphs: `xm.mark_step()`, `torch_xla.sync()`, `with torch_xla.step():`.

The native backend runs operations when they are called. What waited for the device (`xm.wait_device_ops()`,
`sync(wait=True)`) still waits, and a step closure is called at once.

https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import AnyEdit, Change, Edit, RemoveStatement, Unwrap
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.values import keyword, literal
from neuron_codemods.xla import uses
from neuron_codemods.xla.uses import Use
from neuron_codemods.xla.writing import Words, called_with, is_alone, is_whole

RULE = Rule(
    code="NM602",
    name="lazy-graph",
    summary="mark_step(), torch_xla.sync(), torch_xla.step(), add_step_closure(): there is no lazy graph.",
    url="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html",
    outcomes=(Outcome.REWRITTEN, Outcome.MANUAL),
)

_WAITS = "torch.accelerator.synchronize"


def check(module: Module) -> Iterator[Change]:
    for use in uses.of_rule(module, RULE.code):
        call = uses.called(module, use)
        yield (_change(module, use, call) if call is not None else None) or _left(use)


def _left(use: Use) -> Change:
    do = "Call the closure itself instead of" if use.symbol == "add_step_closure" else "Delete this use of"
    message = f"{do} {use.symbol}: there is no lazy graph, operations run when they are called."
    return Change(Outcome.MANUAL, use.node, message)


def _change(module: Module, use: Use, call: ast.Call) -> Change | None:
    if use.symbol == "step":
        return _unwrapped(module, use, call)
    if use.symbol == "add_step_closure":
        return _called_at_once(module, use, call)
    statement = is_whole(module, call)
    if statement is None:
        return None
    if use.symbol == "wait_device_ops" or _waits(call):
        return _waited(module, use, statement)
    edits: tuple[AnyEdit, ...] = (RemoveStatement(statement), *use.erases)
    return Change(Outcome.REWRITTEN, use.node, use.row.message, edits)


def _waits(call: ast.Call) -> bool:
    given = keyword(call, "wait")
    value = given.value if given is not None else call.args[0] if call.args else None
    return value is not None and literal(value) is not False


def _waited(module: Module, use: Use, statement: ast.Expr) -> Change:
    """TorchNeuron is asynchronous too; without an accelerator there is nothing to wait for, and torch refuses."""
    words = Words(module, use.node)
    condition, wait = f"{words.torch('accelerator.is_available')}()", f"{words.torch('accelerator.synchronize')}()"
    span = module.source.span(statement)
    if is_alone(module, statement):
        step, newline = module.source.indentation_step, module.source.newline(span[0])
        text = f"if {condition}:{newline}{module.source.indentation(span[0])}{step}{wait}"
    else:
        text = f"{condition} and {wait}"
    message = "The wait for the device is torch.accelerator.synchronize(), where there is an accelerator."
    return Change(Outcome.REWRITTEN, use.node, message, (Edit.replace(span, text), *use.erases), tuple(words.requires))


def _unwrapped(module: Module, use: Use, call: ast.Call) -> Change | None:
    item = module.parent(call)
    statement = module.parent(item) if isinstance(item, ast.withitem) else None
    if not isinstance(statement, ast.With) or len(statement.items) != 1 or item.optional_vars is not None:  # type: ignore[union-attr]
        return None
    return Change(Outcome.REWRITTEN, use.node, use.row.message, (Unwrap(statement), *use.erases))


def _called_at_once(module: Module, use: Use, call: ast.Call) -> Change | None:
    """``add_step_closure(f, args=(a, b))`` is ``f(a, b)``."""
    given = keyword(call, "args") or (call.args[1] if len(call.args) > 1 else None)
    values = given.value if isinstance(given, ast.keyword) else given
    if not call.args or isinstance(values, ast.Starred):
        return None
    if not isinstance(call.args[0], (ast.Name, ast.Attribute, ast.Lambda, ast.Call)):
        return None
    edits = called_with(module, call, call.args[0], values)
    return Change(Outcome.REWRITTEN, use.node, use.row.message, (*edits, *use.erases))


CASES = (
    Case(
        "steps are not marked",
        """import torch_neuronx
import torch_xla.core.xla_model as xm

for batch in batches:
    train(batch)
    xm.mark_step()
print(torch_neuronx)
""",
        """import torch_neuronx

for batch in batches:
    train(batch)
print(torch_neuronx)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "a block that holds nothing else",
        """import torch_neuronx
import torch_xla

if logging_step:
    torch_xla.sync()
print(torch_neuronx)
""",
        """import torch_neuronx

if logging_step:
    pass
print(torch_neuronx)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "what waits goes on waiting",
        """import torch
import torch_neuronx
import torch_xla.core.xla_model as xm

xm.mark_step(wait=True)
print(torch_neuronx)
""",
        """import torch
import torch_neuronx

if torch.accelerator.is_available():
    torch.accelerator.synchronize()
print(torch_neuronx)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "the block of a step",
        """import torch_neuronx
import torch_xla

with torch_xla.step():
    # forward and backward
    train(torch_neuronx)
""",
        """import torch_neuronx

# forward and backward
train(torch_neuronx)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "a step closure",
        """import torch_neuronx
import torch_xla.core.xla_model as xm

xm.add_step_closure(log, args=(loss.detach(), step), run_async=True)
xm.add_step_closure(torch_neuronx.report, args=(loss,))
xm.add_step_closure(lambda loss, step: print(step, loss.item()), (loss, step))
xm.add_step_closure(partial(log, step))
""",
        """import torch_neuronx

log(loss.detach(), step)
torch_neuronx.report(loss)
(lambda loss, step: print(step, loss.item()))(loss, step)
partial(log, step)()
""",
        (Outcome.REWRITTEN,) * 4,
    ),
    Case(
        "a callback cannot be followed",
        """import torch_neuronx
import torch_xla.core.xla_model as xm

trainer = torch_neuronx.trainer(on_step=xm.mark_step)
""",
        """import torch_neuronx
import torch_xla.core.xla_model as xm

# TODO(neuron-migrate NM602): Delete this use of mark_step: there is no lazy graph, operations run when they are \
called: https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html
trainer = torch_neuronx.trainer(on_step=xm.mark_step)
""",
        (Outcome.MANUAL,),
    ),
    Case("a method of another object", "import torch_neuronx\n\nscheduler.mark_step()\ntorch_neuronx.sync()\n"),
    Case(
        "code for a TPU",
        'import os\nimport torch_xla.core.xla_model as xm\n\nos.environ["PJRT_DEVICE"] = "TPU"\nxm.mark_step()\n',
    ),
    Case(
        "code that says both keeps to its imports",
        "import torch_xla.experimental.tpu as tpu\nimport torch_xla.core.xla_model as xm\n\nxm.mark_step()\n",
    ),
)
