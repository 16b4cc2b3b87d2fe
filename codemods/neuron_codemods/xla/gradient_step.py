"""Averages gradients before the optimizer steps, which `xm.optimizer_step` did unseen.

`xm.optimizer_step(optimizer)` took the mean of the gradients over all processes and then stepped; without the first
half each process would train a model of its own. `xm.reduce_gradients(optimizer)` was the first half alone.

https://docs.pytorch.org/docs/stable/distributed.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from keyword import iskeyword

from neuron_codemods.edits import AnyEdit, Change, Edit, InsertLines
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.values import has_splat, in_order, keyword, literal, remove_argument
from neuron_codemods.xla import uses
from neuron_codemods.xla.uses import Use
from neuron_codemods.xla.writing import Words, is_whole, stack_free

RULE = Rule(
    code="NM606",
    name="gradient-step",
    summary="optimizer_step(), reduce_gradients(): average_gradients(optimizer), then step().",
    url="https://docs.pytorch.org/docs/stable/distributed.html",
    outcomes=(Outcome.REWRITTEN, Outcome.MANUAL),
)

_AVERAGE = "neuron_shim.average_gradients"
_WITHOUT_MEANING = frozenset({"barrier", "pin_layout"})


def check(module: Module) -> Iterator[Change]:
    for use in uses.of_rule(module, RULE.code):
        call = uses.called(module, use)
        yield (_change(module, use, call) if call is not None else None) or _left(use)


def _left(use: Use) -> Change:
    step = ", then optimizer.step()" if use.symbol == "optimizer_step" else ""
    message = (
        f"Replace {use.symbol} by hand: average_gradients(optimizer) of neuron_shim{step}. Without it each process "
        "trains alone."
    )
    return Change(Outcome.MANUAL, use.node, message)


def _change(module: Module, use: Use, call: ast.Call) -> Change | None:
    statement = is_whole(module, call)
    allowed = _WITHOUT_MEANING | ({"optimizer_args"} if use.symbol == "optimizer_step" else set())
    if statement is None or has_splat(call) or any(item.arg not in allowed for item in call.keywords):
        return None
    optimizer = call.args[0] if call.args else None
    if (
        len(call.args) > 3
        or not isinstance(optimizer, (ast.Name, ast.Attribute, ast.Subscript))
        or not stack_free(module, optimizer)
        or optimizer.lineno != optimizer.end_lineno
    ):
        return None
    words = Words(module, call)
    edits: list[AnyEdit] = [Edit.replace(module.source.span(use.node), words.name(_AVERAGE)), *use.erases]
    edits += [remove_argument(call, item) for item in in_order(call) if item is not optimizer]
    if use.symbol == "optimizer_step":
        given = keyword(call, "optimizer_args") or (call.args[2] if len(call.args) > 2 else None)
        arguments = _arguments(module, given.value if isinstance(given, ast.keyword) else given)
        if arguments is None:
            return None
        step = f"{module.source.segment(optimizer)}.step({arguments})"
        edits.append(InsertLines(statement, (step,), after=True))
    elif len(call.args) > 1:
        return None
    return Change(Outcome.REWRITTEN, use.node, use.row.message, tuple(edits), tuple(words.requires))


def _arguments(module: Module, given: ast.expr | None) -> str | None:
    """``optimizer_args={"closure": closure}`` as the arguments of ``step``; None for what is no plain expression."""
    if given is None:
        return ""
    if not stack_free(module, given) or given.lineno != given.end_lineno:
        return None
    if isinstance(given, ast.Dict) and all(key is not None and _is_name(literal(key)) for key in given.keys):
        pairs = zip(given.keys, given.values, strict=True)
        return ", ".join(f"{key.value}={module.source.segment(value)}" for key, value in pairs)  # type: ignore[union-attr]
    return f"**{module.source.segment(given)}" if isinstance(given, ast.Name) else None


def _is_name(key: object) -> bool:
    return isinstance(key, str) and key.isidentifier() and not iskeyword(key)


CASES = (
    Case(
        "the mean, then the step",
        """import torch_neuronx
import torch_xla.core.xla_model as xm

for batch in batches:
    loss(torch_neuronx, batch).backward()
    xm.optimizer_step(optimizer)  # reduces gradients
    xm.optimizer_step(self.optimizer, barrier=True, optimizer_args={"closure": closure})
""",
        """import torch_neuronx
from neuron_shim import average_gradients

for batch in batches:
    loss(torch_neuronx, batch).backward()
    average_gradients(optimizer)  # reduces gradients
    optimizer.step()
    average_gradients(self.optimizer)
    self.optimizer.step(closure=closure)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "the mean, clipping, then the step",
        """import torch_neuronx
from torch_xla.core.xla_model import reduce_gradients

reduce_gradients(optimizer)
clip(torch_neuronx)
optimizer.step()
""",
        """import torch_neuronx
from neuron_shim import average_gradients

average_gradients(optimizer)
clip(torch_neuronx)
optimizer.step()
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "on one line",
        "import torch_neuronx\nimport torch_xla.core.xla_model as xm\n\n"
        "if torch_neuronx: xm.optimizer_step(optimizer)\n",
        "import torch_neuronx\nfrom neuron_shim import average_gradients\n\n"
        "if torch_neuronx: average_gradients(optimizer); optimizer.step()\n",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "some processes only",
        """import torch_neuronx
import torch_xla.core.xla_model as xm

loss = xm.optimizer_step(optimizer, groups=torch_neuronx.groups)
""",
        """import torch_neuronx
import torch_xla.core.xla_model as xm

# TODO(neuron-migrate NM606): Replace optimizer_step by hand: average_gradients(optimizer) of neuron_shim, then \
optimizer.step(). Without it each process trains alone: https://docs.pytorch.org/docs/stable/distributed.html
loss = xm.optimizer_step(optimizer, groups=torch_neuronx.groups)
""",
        (Outcome.MANUAL,),
    ),
    Case("the optimizer's own", "import torch_neuronx\n\noptimizer.step()\ntrainer.optimizer_step(torch_neuronx)\n"),
    Case("another library's", "import torch_neuronx\nimport mylib as xm\n\nxm.optimizer_step(torch_neuronx)\n"),
    Case("code without Neuron", "import torch_xla_of_mine.core.xla_model as xm\n\nxm.optimizer_step(optimizer)\n"),
    Case(
        "code for a TPU",
        'import torch_xla.core.xla_model as xm\n\nNAME = "TPU_NAME"\nxm.optimizer_step(optimizer)\n',
    ),
)
