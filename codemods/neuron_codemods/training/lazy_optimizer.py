"""Takes the optimizer class out of `make_optimizer_constructor_lazy(...)`.

The wrapper put the making of an optimizer off until the model was parallelised. Natively the model is sharded where it
is loaded, so the optimizer is made from its parameters at once.

https://docs.pytorch.org/docs/stable/optim.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import AnyEdit, Change, Edit, RemoveStatement
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renaming import erased
from neuron_codemods.values import keyword

RULE = Rule(
    code="NM136",
    name="lazy-optimizer",
    summary="make_optimizer_constructor_lazy(AdamW) is AdamW.",
    url="https://docs.pytorch.org/docs/stable/optim.html",
    outcomes=(Outcome.REWRITTEN, Outcome.MANUAL),
)

NAME = "make_optimizer_constructor_lazy"


def check(module: Module) -> Iterator[Change]:
    gone: set[ast.AST] = set()
    for call in module.calls:
        symbol = module.symbol(module.resolve(call.func))
        wrapped = _wrapped(call) if symbol is not None and symbol.name == NAME else None
        if wrapped is not None:
            gone.add(call.func)
            message = f"{NAME} goes: the optimizer is made when the model is sharded already."
            yield Change(Outcome.REWRITTEN, call, message, _unwrap(module, call, wrapped))
    yield from erased(module, (NAME,), gone)


def _wrapped(call: ast.Call) -> ast.expr | None:
    given = keyword(call, "optimizer_cls")
    nodes = [*call.args, *([given.value] if given is not None else [])]
    return nodes[0] if len(nodes) == 1 and not isinstance(nodes[0], ast.Starred) else None


def _unwrap(module: Module, call: ast.Call, wrapped: ast.expr) -> tuple[AnyEdit, ...]:
    statement = module.parent(call)
    if isinstance(statement, ast.Assign) and isinstance(wrapped, ast.Name) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Name) and target.id == wrapped.id:
            return (RemoveStatement(statement),)
    (start, end), (first, last) = module.source.span(call), module.source.span(wrapped)
    is_long = len(module.source.segment(wrapped).splitlines()) > 1
    before, after = "()" if is_long else ("", "")
    return (Edit.replace((start, first), before), Edit.replace((last, end), after))


CASES = (
    Case(
        "the class itself",
        """import torch
from optimum.neuron.distributed import make_optimizer_constructor_lazy

optimizer_cls = make_optimizer_constructor_lazy(torch.optim.AdamW)
optimizer = optimizer_cls(model.parameters(), lr=1e-4)
""",
        """import torch

optimizer_cls = torch.optim.AdamW
optimizer = optimizer_cls(model.parameters(), lr=1e-4)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "called at once",
        """from torch.optim import AdamW
from optimum.neuron.distributed.utils import make_optimizer_constructor_lazy as lazy

optimizer = lazy(optimizer_cls=AdamW)(model.parameters(), lr=1e-4)
""",
        """from torch.optim import AdamW

optimizer = AdamW(model.parameters(), lr=1e-4)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "under its own name",
        """from torch.optim import AdamW
from optimum.neuron.distributed import make_optimizer_constructor_lazy

AdamW = make_optimizer_constructor_lazy(AdamW)
optimizer = AdamW(model.parameters())
""",
        """from torch.optim import AdamW

optimizer = AdamW(model.parameters())
""",
    ),
    Case(
        "passed on",
        """from optimum.neuron.distributed import make_optimizer_constructor_lazy

build(wrapper=make_optimizer_constructor_lazy)
""",
        """# TODO(neuron-migrate NM136): Delete the wrapper and use the optimizer class itself: \
make_optimizer_constructor_lazy(AdamW) becomes AdamW: https://docs.pytorch.org/docs/stable/optim.html
from optimum.neuron.distributed import make_optimizer_constructor_lazy

build(wrapper=make_optimizer_constructor_lazy)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "another library's function of that name",
        "from mylib import make_optimizer_constructor_lazy\n\nmake_optimizer_constructor_lazy(AdamW)\n",
    ),
    Case("an optimizer", "from torch.optim import AdamW\n\noptimizer = AdamW(model.parameters())\n"),
    Case("a method of that name", "optimizer = factory.make_optimizer_constructor_lazy(AdamW)\n"),
    Case("a text that speaks of it", 'print("make_optimizer_constructor_lazy(AdamW)")\n'),
)
