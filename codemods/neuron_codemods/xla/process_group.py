"""Makes the process group without XLA: `init_process_group("xla")`, and `xmp.spawn`, whose processes torchrun starts.

torch takes the backend of the accelerator that it finds, `neuron` on Trainium and `gloo` on a CPU. What `xmp.spawn` or
`torch_xla.launch` called in each process is called once: start the script with torchrun.

https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/guides/torch-distributed.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import AnyEdit, CallEdit, Change, Edit, InsertLines
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.values import constant, in_order, keyword, literal
from neuron_codemods.xla import evidence, table, uses
from neuron_codemods.xla.uses import Use
from neuron_codemods.xla.writing import INIT, Words, called_with, is_alone, is_whole, makes_group

RULE = Rule(
    code="NM605",
    name="process-group",
    summary='init_process_group("xla"), xmp.spawn, torch_xla.launch: torch finds the backend, torchrun starts.',
    url="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/guides/torch-distributed.html",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

_GROUPS = {INIT: 0, "torch.distributed.new_group": 2}
"""Functions that take a backend, with the number of that argument."""
_ADDRESSES = frozenset({"xla://", "pjrt://"})


def check(module: Module) -> Iterator[Change]:
    if not evidence.is_on(module):
        return
    for call in module.calls:
        function = module.resolve(call.func)
        if function in _GROUPS:
            yield from _group(module, call, _GROUPS[function])
    for use in uses.of_rule(module, RULE.code):
        call_ = uses.called(module, use)
        yield (_started(module, use, call_) if call_ is not None else None) or _left(use)


def _left(use: Use) -> Change:
    if use.symbol not in ("spawn", "launch"):
        return Change(
            Outcome.MANUAL, use.node, f"Delete this use of {use.row.module}: no backend has to be registered."
        )
    message = (
        f"Replace {use.symbol}: start the script with torchrun --nproc_per_node=N, call "
        "torch.distributed.init_process_group() and then the function with the rank."
    )
    return Change(Outcome.MANUAL, use.node, message)


def _group(module: Module, call: ast.Call, position: int) -> Iterator[Change]:
    given = keyword(call, "backend") or (call.args[position] if len(call.args) > position else None)
    backend = given.value if isinstance(given, ast.keyword) else given
    removed = set()
    if given is not None and constant(module, backend) == "xla":
        removed.add(in_order(call).index(given))
    address = keyword(call, "init_method") or (call.args[1] if position == 0 and len(call.args) > 1 else None)
    where = address.value if isinstance(address, ast.keyword) else address
    if address is not None and literal(where) in _ADDRESSES:
        removed.add(in_order(call).index(address))
    if not removed:
        return
    if any(index < len(call.args) - 1 and index + 1 not in removed for index in removed if index < len(call.args)):
        yield Change(Outcome.MANUAL, call, "Leave out the backend xla, and name the arguments behind it.")
        return
    message = "The process group gets the backend of the accelerator that torch finds: neuron on Trainium."
    yield Change(Outcome.REWRITTEN, call, message, (CallEdit(call, removed=frozenset(removed)),), launch="")


def _started(module: Module, use: Use, call: ast.Call) -> Change | None:
    statement = is_whole(module, call)
    if statement is None or not call.args or not isinstance(call.args[0], (ast.Name, ast.Attribute)):
        return None
    given = keyword(call, "args") or (call.args[1] if len(call.args) > 1 else None)
    values = given.value if isinstance(given, ast.keyword) else given
    if isinstance(values, ast.Starred) or any(item.arg in (None, "kwargs") for item in call.keywords):
        return None
    if any(_uses_stack(module, item) for item in in_order(call) if item not in (call.args[0], given)):
        return None
    words = Words(module, call)
    edits: list[AnyEdit] = [*use.erases]
    if makes_group(module):
        rank = words.rank()
    else:
        rank = f"{words.torch('distributed.get_rank')}()"
        start = f"{words.torch('distributed.init_process_group')}()"
        if is_alone(module, statement):
            edits.append(InsertLines(statement, (start,)))
        else:
            edits.append(Edit.insert(module.source.span(statement)[0], f"{start}; "))
    edits += called_with(module, call, call.args[0], values, rank)
    return Change(Outcome.REVIEW, use.node, use.row.message, tuple(edits), tuple(words.requires), launch="")


def _uses_stack(module: Module, argument: ast.AST) -> bool:
    """Whether an argument that goes holds what has to be looked at."""
    names = (node for node in ast.walk(argument) if isinstance(node, ast.Name))
    return any(table.is_stack(module.resolve(name) or "") for name in names)


CASES = (
    Case(
        "the backend is found",
        """import torch_neuronx
import torch.distributed as dist
import torch_xla.distributed.xla_backend

dist.init_process_group("xla", init_method="xla://", timeout=patience)
print(torch_neuronx)
""",
        """import torch_neuronx
import torch.distributed as dist
import torch_xla.distributed.xla_backend

dist.init_process_group(timeout=patience)
print(torch_neuronx)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "by the name of a variable",
        'import torch\nimport torch_neuronx\n\ndevice = "xla"\ntorch.distributed.init_process_group(backend=device)\n',
        'import torch\nimport torch_neuronx\n\ndevice = "xla"\ntorch.distributed.init_process_group()\n',
        (Outcome.REWRITTEN,),
    ),
    Case(
        "what was spawned is called",
        """import torch
import torch_neuronx
import torch_xla.distributed.xla_multiprocessing as xmp


def main(index, flags):
    train(flags, torch_neuronx)


if __name__ == "__main__":
    xmp.spawn(main, args=(flags,), nprocs=8, start_method="fork")
""",
        """import torch
import torch_neuronx


def main(index, flags):
    train(flags, torch_neuronx)


if __name__ == "__main__":
    torch.distributed.init_process_group()
    main(torch.distributed.get_rank(), flags)
""",
        (Outcome.REVIEW,),
    ),
    Case(
        "where the function makes the group itself",
        """import torch.distributed as dist
import torch_neuronx
import torch_xla


def main(index):
    dist.init_process_group()
    train(torch_neuronx)


torch_xla.launch(main)
""",
        """import os
import torch.distributed as dist
import torch_neuronx


def main(index):
    dist.init_process_group()
    train(torch_neuronx)


main(int(os.environ.get("RANK", 0)))
""",
        (Outcome.REVIEW,),
    ),
    Case(
        "a function that is made on the spot",
        """import torch_neuronx
import torch_xla.distributed.xla_multiprocessing as xmp

xmp.spawn(lambda index: train(torch_neuronx))
""",
        """import torch_neuronx
import torch_xla.distributed.xla_multiprocessing as xmp

# TODO(neuron-migrate NM605): Replace spawn: start the script with torchrun --nproc_per_node=N, call \
torch.distributed.init_process_group() and then the function with the rank: \
https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/guides/torch-distributed.html
xmp.spawn(lambda index: train(torch_neuronx))
""",
        (Outcome.MANUAL,),
    ),
    Case("another backend", 'import torch\nimport torch_neuronx\n\ntorch.distributed.init_process_group("gloo")\n'),
    Case("the native one", 'import torch\nimport torch_neuronx\n\ntorch.distributed.init_process_group("neuron")\n'),
    Case(
        "code for a TPU",
        "import torch_xla.runtime\nimport torch.distributed as dist\n\n"
        'HOST = "TPU_WORKER_ID"\ndist.init_process_group("xla")\n',
    ),
    Case(
        "torch's own",
        "import torch_neuronx\nimport torch.multiprocessing as mp\n\nmp.spawn(main, args=(2,), nprocs=2)\n",
    ),
    Case("a method", 'import torch_neuronx\n\npool.spawn(main)\nstate.init_process_group("xla")\n'),
)
