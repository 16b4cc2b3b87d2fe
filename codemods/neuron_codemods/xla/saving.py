"""Saves with `torch.save` on rank 0, where `xm.save` and `xser.save` moved tensors to the CPU and chose the process.

The tensors still go to the CPU first, so that the file loads on any machine, and the other processes still wait.
torch_xla wrote one file on each machine; now there is one of rank 0.

https://docs.pytorch.org/docs/stable/notes/serialization.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import AnyEdit, Change, Edit, InsertLines
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.values import has_splat, keyword, literal, remove_argument
from neuron_codemods.xla import uses
from neuron_codemods.xla.uses import Use
from neuron_codemods.xla.writing import Words, is_alone, is_whole, under

RULE = Rule(
    code="NM609",
    name="xla-save",
    summary="xm.save(), xser.save(), xser.load(): torch.save() on rank 0 with tensors on the CPU, torch.load().",
    url="https://docs.pytorch.org/docs/stable/notes/serialization.html",
    outcomes=(Outcome.REVIEW, Outcome.MANUAL),
)

_SEND = "accelerate.utils.send_to_device"
_CHOICES = frozenset({"master_only", "global_master", "sync_xla_data"})
_RANK_WORDS = ("rank", "ordinal", "master", "root", "main_process", "is_main")


def check(module: Module) -> Iterator[Change]:
    for use in uses.of_rule(module, RULE.code):
        call = uses.called(module, use)
        change = None
        if call is not None:
            change = _saved(module, use, call) if use.symbol == "save" else _loaded(module, use, call)
        yield change or _left(use)


def _left(use: Use) -> Change:
    message = (
        f"Replace {use.symbol} with {use.row.native}; save on rank 0 only, with the tensors moved to the CPU."
        if use.symbol == "save"
        else "Replace load with torch.load(); it reads what torch.save() writes."
    )
    return Change(Outcome.MANUAL, use.node, message)


def _loaded(module: Module, use: Use, call: ast.Call) -> Change | None:
    if len(call.args) != 1 or call.keywords:
        return None
    words = Words(module, call)
    edit = Edit.replace(module.source.span(use.node), words.torch("load"))
    return Change(Outcome.REVIEW, use.node, use.row.message, (edit, *use.erases), tuple(words.requires))


def _saved(module: Module, use: Use, call: ast.Call) -> Change | None:
    statement = is_whole(module, call)
    data = call.args[0] if call.args else None
    if statement is None or data is None or isinstance(data, ast.Starred) or has_splat(call):
        return None
    chosen = keyword(call, "master_only")
    master_only = literal(chosen.value) if chosen is not None else True
    if (
        len(call.args) != 2
        or any(item.arg not in _CHOICES for item in call.keywords)
        or not isinstance(master_only, bool)
    ):
        return None
    words, source = Words(module, call), module.source
    first, last = source.span(data)
    edits: list[AnyEdit] = [
        Edit.replace(source.span(use.node), words.torch("save")),
        Edit.insert(first, f"{words.name(_SEND)}("),
        Edit.insert(last, ', "cpu")'),
        *(remove_argument(call, item) for item in call.keywords),
        *use.erases,
    ]
    if master_only and not _is_guarded(module, call):
        alone = is_alone(module, statement)
        if alone:
            edits.append(under(module, statement, words.is_main()))
            barrier = words.guarded(f"{words.torch('distributed.barrier')}()")
            edits.append(InsertLines(statement, tuple(barrier), after=True))
        else:
            edits.append(Edit.insert(source.span(statement)[0], f"{words.is_main()} and "))
    return Change(Outcome.REVIEW, use.node, use.row.message, tuple(edits), tuple(words.requires))


def _is_guarded(module: Module, call: ast.Call) -> bool:
    """Whether only some processes come here, so that waiting for the others would be for ever."""
    below: ast.AST = call
    for above in module.ancestors(call):
        if isinstance(above, ast.If) and below is not above.test:
            text = module.source.segment(above.test).lower()
            if any(word in text for word in _RANK_WORDS):
                return True
        if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        below = above
    return False


CASES = (
    Case(
        "a checkpoint",
        """import torch
import torch_neuronx
import torch_xla.core.xla_model as xm

torch.distributed.init_process_group()
xm.save({"model": model.state_dict()}, torch_neuronx.path)
""",
        """import torch
import torch_neuronx
from accelerate.utils import send_to_device
from neuron_shim import is_main_process

torch.distributed.init_process_group()
if is_main_process():
    torch.save(send_to_device({"model": model.state_dict()}, "cpu"), torch_neuronx.path)
torch.distributed.barrier()
""",
        (Outcome.REVIEW,),
    ),
    Case(
        "where the script chose the process itself",
        """import torch
import torch_neuronx
import torch_xla.core.xla_model as xm

if rank == 0:
    xm.save(model.state_dict(), torch_neuronx.path, master_only=False)
""",
        """import torch
import torch_neuronx
from accelerate.utils import send_to_device

if rank == 0:
    torch.save(send_to_device(model.state_dict(), "cpu"), torch_neuronx.path)
""",
        (Outcome.REVIEW,),
    ),
    Case(
        "a file for each tensor",
        """import torch
import torch_neuronx
import torch_xla.utils.serialization as xser

xser.save(state, torch_neuronx.path, global_master=True)
state = xser.load(path)
""",
        """import torch
import torch_neuronx
from accelerate.utils import send_to_device
from neuron_shim import is_main_process

if is_main_process():
    torch.save(send_to_device(state, "cpu"), torch_neuronx.path)
if torch.distributed.is_initialized():
    torch.distributed.barrier()
state = torch.load(path)
""",
        (Outcome.REVIEW, Outcome.REVIEW),
    ),
    Case(
        "a function that is passed on",
        """import torch_neuronx
import torch_xla.core.xla_model as xm

trainer.fit(torch_neuronx.model, save_function=xm.save)
""",
        """import torch_neuronx
import torch_xla.core.xla_model as xm

# TODO(neuron-migrate NM609): Replace save with torch.save; save on rank 0 only, with the tensors moved to the CPU: \
https://docs.pytorch.org/docs/stable/notes/serialization.html
trainer.fit(torch_neuronx.model, save_function=xm.save)
""",
        (Outcome.MANUAL,),
    ),
    Case("torch's own", "import torch\nimport torch_neuronx\n\ntorch.save(torch_neuronx.state, path)\n"),
    Case("a method", "import torch_neuronx\n\nmodel.save(torch_neuronx.path)\n"),
    Case("another library's", "import torch_neuronx\nimport mine as xm\n\nxm.save(torch_neuronx.state, path)\n"),
    Case("code for a TPU", 'import torch_xla.core.xla_model as xm\n\nxm.save(state, "TPU")\n'),
)
