"""Asks `torch.distributed` for ranks and sizes, which `xm.get_ordinal()` and its kind knew; prints on rank 0.

Where the file makes the process group, the group is asked; anywhere else the variables of torchrun are, so that a
script also runs in a single process. `xm.is_master_ordinal()` meant rank 0 of the machine, with `local=False` of all.

https://docs.pytorch.org/docs/stable/distributed.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import AnyEdit, Change, Edit, RemoveStatement
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.values import keyword, literal, remove_argument, rename_argument
from neuron_codemods.xla import metrics, uses
from neuron_codemods.xla.uses import Use
from neuron_codemods.xla.writing import Words, is_alone, is_whole, under

RULE = Rule(
    code="NM604",
    name="process-numbers",
    summary="get_ordinal(), xrt_world_size(), is_master_ordinal(), master_print(): torch.distributed knows.",
    url="https://docs.pytorch.org/docs/stable/distributed.html",
    outcomes=(Outcome.REWRITTEN, Outcome.MANUAL),
)

_NUMBERS = {
    "torch.distributed.get_rank": Words.rank,
    "torch.distributed.get_world_size": Words.world_size,
    "torch.distributed.get_node_local_rank": Words.local_rank,
}


def check(module: Module) -> Iterator[Change]:
    for use in uses.of_rule(module, RULE.code):
        call = uses.called(module, use)
        yield (_change(module, use, call) if call is not None else None) or _left(use)


def _left(use: Use) -> Change:
    native = use.row.native.removeprefix("neuron_shim.")
    return Change(Outcome.MANUAL, use.node, f"Replace {use.symbol} with {native}(), which torch_xla knew otherwise.")


def _change(module: Module, use: Use, call: ast.Call) -> Change | None:
    words = Words(module, use.node)
    if use.symbol == "master_print":
        return _printed(module, use, call, words)
    if use.symbol == "is_master_ordinal":
        edit = _mastered(module, call, words)
    else:
        edit = Edit.replace(module.source.span(call), _NUMBERS[use.row.native](words))
    if edit is None:
        return None
    return Change(Outcome.REWRITTEN, use.node, use.row.message, (edit, *use.erases), tuple(words.requires))


def _is_local(call: ast.Call, default: bool) -> bool | None:
    """What ``local=`` says, or None if that is not written out."""
    given = keyword(call, "local")
    value = given.value if given is not None else call.args[0] if call.args else None
    if value is None:
        return default
    said = literal(value)
    return said if isinstance(said, bool) else None


def _mastered(module: Module, call: ast.Call, words: Words) -> Edit | None:
    local = _is_local(call, True)
    if local is None:
        return None
    negation = module.parent(call)
    negated = isinstance(negation, ast.UnaryOp) and isinstance(negation.op, ast.Not)
    if not local:
        return Edit.replace(module.source.span(call), words.is_main())
    text = f"{words.local_rank()} {'!=' if negated else '=='} 0"
    node = negation if negated else call
    assert isinstance(node, ast.expr)
    above = module.parent(node)
    if isinstance(above, (ast.Compare, ast.BinOp, ast.UnaryOp, ast.Attribute, ast.Await)):
        text = f"({text})"
    return Edit.replace(module.source.span(node), text)


def _printed(module: Module, use: Use, call: ast.Call, words: Words) -> Change | None:
    statement = is_whole(module, call)
    told = metrics.printed(module, call)
    if statement is not None and told is not None:
        message = "What was printed goes: there are no counters of lazy graphs any more."
        return Change(Outcome.REWRITTEN, use.node, message, (RemoveStatement(statement), *use.erases, *told.erases))
    given, stream = keyword(call, "local"), keyword(call, "fd")
    local = literal(given.value) if given is not None else False
    if statement is None or not isinstance(local, bool):
        return None
    condition = f"{words.local_rank()} == 0" if local else words.is_main()
    edits: list[AnyEdit] = [Edit.replace(module.source.span(use.node), "print"), *use.erases]
    if given is not None:
        edits.append(remove_argument(call, given))
    if stream is not None:
        edits.append(rename_argument(call, stream, "file"))
    if is_alone(module, statement):
        edits.append(under(module, statement, condition))
    else:
        edits.append(Edit.insert(module.source.span(statement)[0], f"{condition} and "))
    return Change(Outcome.REWRITTEN, use.node, use.row.message, tuple(edits), tuple(words.requires))


CASES = (
    Case(
        "where the file makes the process group",
        """import torch_neuronx
import torch.distributed as dist
import torch_xla.core.xla_model as xm
import torch_xla.runtime as xr

dist.init_process_group()


def sampler():
    return torch_neuronx.split(xm.get_ordinal(), xm.xrt_world_size(), xr.global_ordinal(), xr.world_size())
""",
        """import torch_neuronx
import torch.distributed as dist

dist.init_process_group()


def sampler():
    return torch_neuronx.split(dist.get_rank(), dist.get_world_size(), dist.get_rank(), dist.get_world_size())
""",
        (Outcome.REWRITTEN,) * 4,
    ),
    Case(
        "where it may not exist",
        """import torch_neuronx
import torch_xla.core.xla_model as xm

print(f"{xm.get_ordinal()} of {xm.xrt_world_size()}", torch_neuronx)
""",
        """import os
import torch_neuronx

print(f"{int(os.environ.get('RANK', 0))} of {int(os.environ.get('WORLD_SIZE', 1))}", torch_neuronx)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "rank 0 of the machine, and of all",
        """import torch
import torch_neuronx
import torch_xla.core.xla_model as xm

if xm.is_master_ordinal(local=False):
    print(torch_neuronx)
if not xm.is_master_ordinal():
    wait()
""",
        """import torch
import torch_neuronx
from neuron_shim import is_main_process

if is_main_process():
    print(torch_neuronx)
if torch.distributed.get_node_local_rank(0) != 0:
    wait()
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "printing",
        '''import torch_neuronx
import torch_xla.core.xla_model as xm


def report(epoch):
    xm.master_print(f"epoch {epoch}", torch_neuronx, fd=stream, flush=True)
    if epoch: xm.master_print("later")
    xm.master_print(
        """several
lines""",
        epoch,
    )
''',
        '''import torch_neuronx
from neuron_shim import is_main_process


def report(epoch):
    if is_main_process():
        print(f"epoch {epoch}", torch_neuronx, file=stream, flush=True)
    if epoch: is_main_process() and print("later")
    if is_main_process():
        print(
            """several
lines""",
            epoch,
        )
''',
        (Outcome.REWRITTEN,) * 3,
    ),
    Case(
        "a function that is passed on",
        """import torch_neuronx
import torch_xla.core.xla_model as xm

log = torch_neuronx.logger(xm.master_print)
""",
        """import torch_neuronx
import torch_xla.core.xla_model as xm

# TODO(neuron-migrate NM604): Replace master_print with print(), which torch_xla knew otherwise: \
https://docs.pytorch.org/docs/stable/distributed.html
log = torch_neuronx.logger(xm.master_print)
""",
        (Outcome.MANUAL,),
    ),
    Case("a method of that name", "import torch_neuronx\n\ntorch_neuronx.run(state.get_ordinal())\n"),
    Case(
        "a local name that shadows the module", "import torch_neuronx\n\n\ndef f(xm):\n    return xm.get_ordinal()\n"
    ),
    Case(
        "code for a GPU",
        "import os\nimport torch_xla.core.xla_model as xm\n\n"
        'os.environ["PJRT_DEVICE"] = "CUDA"\nrank = xm.get_ordinal()\n',
    ),
    Case(
        "ranks of torch itself",
        "import torch_neuronx\nimport torch.distributed as dist\n\nprint(dist.get_rank(), torch_neuronx)\n",
    ),
    Case(
        "accelerate's",
        "import torch_neuronx\nfrom accelerate import PartialState\n\nPartialState().print(torch_neuronx)\n",
    ),
)
