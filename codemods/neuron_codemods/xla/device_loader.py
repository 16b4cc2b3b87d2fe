"""Moves batches to the device in the loop, as `pl.MpDeviceLoader` did: the loop iterates over the DataLoader itself.

A loader is followed through variables, attributes of `self` and parameters of functions to the loops that iterate over
it. Where one trains, the DataLoader gets `drop_last=True`: a smaller last batch would be compiled for its shape.

https://docs.pytorch.org/docs/stable/data.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from neuron_codemods.edits import AnyEdit, CallEdit, Change, Edit, InsertLines, RemoveStatement
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.scopes import Binding
from neuron_codemods.values import has_splat, keyword, literal, visible
from neuron_codemods.xla import uses
from neuron_codemods.xla.uses import Use
from neuron_codemods.xla.writing import Words, is_alone, stack_free

RULE = Rule(
    code="NM607",
    name="device-loader",
    summary="MpDeviceLoader, ParallelLoader: the loop moves its batches to the device.",
    url="https://docs.pytorch.org/docs/stable/data.html",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

_SEND = "accelerate.utils.send_to_device"
_DATA_LOADER = "torch.utils.data.DataLoader"
_PASSES_ON = frozenset({"enumerate", "tqdm", "iter", "islice", "track", "progress_bar", "trange", "list"})
"""Functions whose results are the items of their first argument, whatever module they come from."""
_WITHOUT_MEANING = frozenset(
    {
        "loader_prefetch_size",
        "device_prefetch_size",
        "host_to_device_transfer_threads",
        "batchdim",
        "batches_per_execution",
    }
    | {"fixed_batch_size", "loader", "device", "devices"}
)


@dataclass(eq=False)
class _Made:
    """One place where a loader for the device is made."""

    use: Use
    call: ast.Call
    """What is replaced by the plain loader: a call of MpDeviceLoader, or of ``per_device_loader``."""
    loader: ast.expr
    device: ast.expr | None
    loops: list[ast.For] = field(default_factory=list)
    names: list[ast.Name] = field(default_factory=list)
    """The uses of the variable that holds it, in its own scope."""
    edits: list[AnyEdit] = field(default_factory=list)


def check(module: Module) -> Iterator[Change]:
    for use in uses.of_rule(module, RULE.code):
        call = uses.called(module, use)
        made = list(_made(module, use, call)) if call is not None else []
        if made and all(_follow(module, item) for item in made):
            yield from _rewritten(module, use, made)
        else:
            yield _left(use)


def _left(use: Use) -> Change:
    message = (
        f"Iterate over the DataLoader itself instead of {use.symbol}, and begin the loop with batch = "
        "accelerate.utils.send_to_device(batch, neuron_device())."
    )
    return Change(Outcome.MANUAL, use.node, message)


# Where loaders are made ---------------------------------------------------------------------------------------------


def _made(module: Module, use: Use, call: ast.Call) -> Iterator[_Made]:
    given = [*call.args, *(item.value for item in call.keywords if item.arg in ("loader", "device", "devices"))]
    if has_splat(call) or any(item.arg not in _WITHOUT_MEANING for item in call.keywords) or not given:
        return
    if any(isinstance(argument, ast.Starred) for argument in given):
        return
    loader = given[0]
    if use.symbol == "MpDeviceLoader":
        yield _Made(use, call, loader, given[1] if len(given) > 1 else None)
        return
    devices = given[1] if len(given) > 1 else None
    device = devices.elts[0] if isinstance(devices, (ast.List, ast.Tuple)) and devices.elts else None
    for taken in _per_device(module, call):
        if taken is None:
            return
        yield _Made(use, taken, loader, taken.args[0] if taken.args else device)


def _per_device(module: Module, call: ast.Call) -> Iterator[ast.Call | None]:
    """The calls of ``per_device_loader`` on a ParallelLoader, or None where something else is done with it."""
    above = module.parent(call)
    if isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Name):
        binding = _single(module, above.targets[0])
        for reference in module.references(binding) if binding is not None else ():
            yield _taken(module, reference.node)
        if binding is None:
            yield None
    else:
        yield _taken(module, call)


def _taken(module: Module, node: ast.AST) -> ast.Call | None:
    above = module.parent(node)
    call = module.parent(above) if above is not None else None
    if isinstance(above, ast.Attribute) and above.attr == "per_device_loader" and isinstance(call, ast.Call):
        return call
    return None


def _single(module: Module, target: ast.Name) -> Binding | None:
    """The binding of a variable that is only ever given this one value."""
    bindings = module.scope(target).bindings.get(target.id, [])
    return bindings[0] if len(bindings) == 1 and bindings[0].node is target else None


# Where they are iterated --------------------------------------------------------------------------------------------


def _follow(module: Module, made: _Made) -> bool:
    """Find the loops over a loader; False where it goes where it cannot be followed."""
    return stack_free(module, made.loader) and _flow(module, made.call, made, 0)


def _flow(module: Module, node: ast.expr, made: _Made, depth: int) -> bool:
    """Where the value of an expression goes."""
    above = module.parent(node)
    if depth > 4:
        return False
    if isinstance(above, ast.For) and above.iter is node:
        return _iterates(module, above, made)
    if isinstance(above, ast.Call) and isinstance(above.func, (ast.Name, ast.Attribute)) and node in above.args:
        name = above.func.id if isinstance(above.func, ast.Name) else above.func.attr
        if name == "len":
            return True
        if name in _PASSES_ON and above.args[0] is node:
            return _flow(module, above, made, depth)
        return _into_parameter(module, above, node, made, depth)
    if isinstance(above, ast.keyword):
        call = module.parent(above)
        return isinstance(call, ast.Call) and _into_parameter(module, call, above, made, depth)
    if isinstance(above, ast.Assign) and len(above.targets) == 1:
        return _into_target(module, above.targets[0], made, depth)
    return False


def _into_target(module: Module, target: ast.expr, made: _Made, depth: int) -> bool:
    if isinstance(target, ast.Name):
        scope = module.scope(target)
        bindings = scope.bindings.get(target.id, [])
        own = next((binding for binding in bindings if binding.node is target), None)
        if own is None or target.id in module.names.declared:
            return False
        nodes = [
            reference.node
            for reference in module.references(own)
            if reference.node is not made.loader and (len(bindings) == 1 or module.binding(reference.node) is own)
        ]
        if depth == 0:
            made.names = nodes
        return all(_flow(module, node, made, depth + 1) for node in nodes)
    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
        nodes_ = [
            node
            for node in module.names.attributes
            if node.attr == target.attr and isinstance(node.value, ast.Name) and isinstance(node.ctx, ast.Load)
        ]
        return all(node is made.loader or _flow(module, node, made, depth + 1) for node in nodes_)
    return False


def _into_parameter(module: Module, call: ast.Call, given: ast.AST, made: _Made, depth: int) -> bool:
    function = _definition(module, call.func)
    if function is None:
        return False
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    if names[:1] == ["self"] and isinstance(call.func, ast.Attribute):
        names = names[1:]
    if isinstance(given, ast.keyword):
        name = given.arg
    else:
        index = call.args.index(given)  # type: ignore[arg-type]
        name = names[index] if index < len(names) else None
    scopes = [scope for scope in module.names.module.walk() if scope.node is function]
    for scope in scopes:
        bindings = scope.bindings.get(name or "", [])
        if len(bindings) == 1:
            nodes = [reference.node for reference in module.references(bindings[0])]
            return all(_flow(module, node, made, depth + 1) for node in nodes)
    return False


def _definition(module: Module, function: ast.expr) -> ast.FunctionDef | None:
    """The function of this module that is called, by its name or as a method of ``self``."""
    if isinstance(function, ast.Name):
        binding = module.binding(function)
        return binding.node if binding is not None and isinstance(binding.node, ast.FunctionDef) else None
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "self":
        owner = next((node for node in module.ancestors(function) if isinstance(node, ast.ClassDef)), None)
        methods = owner.body if owner is not None else []
        return next((m for m in methods if isinstance(m, ast.FunctionDef) and m.name == function.attr), None)
    return None


def _iterates(module: Module, loop: ast.For, made: _Made) -> bool:
    if not is_alone(module, loop.body[0]) or _batch(loop) is None:
        return False
    made.loops.append(loop)
    return True


def _batch(loop: ast.For) -> ast.expr | None:
    """The target that holds the batch: the second one under ``enumerate``."""
    node: ast.expr = loop.iter
    while isinstance(node, ast.Call) and node.args:
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name == "enumerate":
            target = loop.target
            return target.elts[1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else None
        if name not in _PASSES_ON:
            break
        node = node.args[0]
    return loop.target


# What is written ----------------------------------------------------------------------------------------------------


def _rewritten(module: Module, use: Use, made: list[_Made]) -> Iterator[Change]:
    edits: list[AnyEdit] = [*use.erases]
    requires: list[str] = []
    for item in made:
        edits += _plain(module, item)
        for loop in item.loops:
            edit, needed = _moving(module, loop, item)
            edits += edit
            requires += needed
    if use.symbol == "ParallelLoader":
        statement = module.parent(use.node)
        assignment = module.parent(statement) if statement is not None else None
        if isinstance(assignment, ast.Assign):
            edits.append(RemoveStatement(assignment))
    yield Change(Outcome.REWRITTEN, use.node, use.row.message, tuple(edits), tuple(dict.fromkeys(requires)))
    for item in made:
        yield from _drop_last(module, item)


def _plain(module: Module, made: _Made) -> Iterator[AnyEdit]:
    """The loader itself in the place of the one for the device; a variable that only renames it goes."""
    source = module.source
    statement = module.parent(made.call)
    loader = made.loader
    if (
        isinstance(statement, ast.Assign)
        and isinstance(loader, ast.Name)
        and isinstance(statement.targets[0], ast.Name)
    ):
        target = statement.targets[0]
        if target.id == loader.id:
            yield RemoveStatement(statement)
            return
        binding = module.binding(loader)
        same_scope = binding is not None and binding.scope is module.scope(target)
        once = same_scope and _single(module, target) is not None and len(binding.scope.bindings[loader.id]) == 1  # type: ignore[union-attr]
        if once and all(_means(module, node, loader) and module.is_placed(node) for node in made.names):
            yield RemoveStatement(statement)
            yield from (Edit.replace(source.span(node), loader.id) for node in made.names)
            return
    start, end = source.span(made.call)
    if isinstance(made.call.func, ast.Attribute) and made.call.func.attr == "per_device_loader":
        yield Edit.replace((start, end), source.segment(loader))
    else:
        first, last = source.span(loader)
        opening, closing = ("(", ")") if source.needs_brackets(loader) else ("", "")
        yield Edit.replace((start, first), opening)
        yield Edit.replace((last, end), closing)


def _means(module: Module, node: ast.Name, loader: ast.Name) -> bool:
    """Whether the name of the loader means the same at another place."""
    return module.scope(node).home(loader.id) is module.scope(loader).home(loader.id)


def _moving(module: Module, loop: ast.For, made: _Made) -> tuple[list[AnyEdit], list[str]]:
    target = _batch(loop)
    assert target is not None
    if _moves_already(loop, target):
        return [], []
    words = Words(module, loop.body[0])
    device = made.device
    if (
        isinstance(device, (ast.Name, ast.Attribute))
        and stack_free(module, device)
        and (_is_of_self(device) or visible(module, device, loop.body[0]))
        and not _is_self_elsewhere(module, device, loop, made)
    ):
        where = module.source.segment(device)
    else:
        where = words.device()
    text = module.source.segment(target) if target.lineno == target.end_lineno else ast.unparse(target)
    plain = text[1:-1].strip() if isinstance(target, ast.Tuple) and text.startswith("(") else text
    value = f"({plain})" if isinstance(target, ast.Tuple) else text
    line = f"{plain} = {words.name(_SEND)}({value}, {where})"
    return [InsertLines(loop.body[0], (line,))], words.requires


def _is_of_self(device: ast.expr) -> bool:
    return isinstance(device, ast.Attribute) and isinstance(device.value, ast.Name) and device.value.id == "self"


def _is_self_elsewhere(module: Module, device: ast.expr, loop: ast.For, made: _Made) -> bool:
    names = {node.id for node in ast.walk(device) if isinstance(node, ast.Name)}
    return "self" in names and _class(module, loop) is not _class(module, made.call)


def _class(module: Module, node: ast.AST) -> ast.ClassDef | None:
    return next((above for above in module.ancestors(node) if isinstance(above, ast.ClassDef)), None)


def _moves_already(loop: ast.For, target: ast.expr) -> bool:
    """Whether the loop begins with moving all parts of the batch itself."""
    left = {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
    for statement in loop.body:
        read = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)} & left
        if not read:
            continue
        calls = [node.func for node in ast.walk(statement) if isinstance(node, ast.Call)]
        names = [call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls]
        if not isinstance(statement, ast.Assign) or not {"to", "send_to_device"} & set(names):
            return False
        left -= read
        if not left:
            return True
    return False


# A static last batch ------------------------------------------------------------------------------------------------


def _drop_last(module: Module, made: _Made) -> Iterator[Change]:
    call = _data_loader(module, made.loader)
    if call is None or keyword(call, "drop_last", "batch_sampler") is not None or has_splat(call):
        return
    if len(call.args) > 1 and any(isinstance(argument, ast.Starred) for argument in call.args):
        return
    size = keyword(call, "batch_size")
    given = size.value if size is not None else call.args[1] if len(call.args) > 1 else None
    if given is None or literal(given) in (1, None) or not any(_trains(loop) for loop in made.loops):
        return
    message = (
        "drop_last=True leaves out a last batch that is smaller than the others, which the device would compile for "
        "its shape. Delete it to train on all samples."
    )
    yield Change(Outcome.REVIEW, call, message, (CallEdit(call, added=(("drop_last", "True"),)),))


def _data_loader(module: Module, loader: ast.expr) -> ast.Call | None:
    """The call that made the loader, if there is only one."""
    if isinstance(loader, ast.Call):
        call: ast.expr | None = loader
    elif isinstance(loader, ast.Name):
        binding = module.binding(loader)
        call = binding.value if binding is not None else None
    else:
        return None
    made = isinstance(call, ast.Call) and module.resolve(call.func) in (_DATA_LOADER, _DATA_LOADER_MODULE)
    return call if made else None  # type: ignore[return-value]


_DATA_LOADER_MODULE = "torch.utils.data.dataloader.DataLoader"


def _trains(loop: ast.For) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == "backward" for node in ast.walk(loop))


CASES = (
    Case(
        "a loader with a name of its own",
        """import torch_neuronx
import torch_xla.distributed.parallel_loader as pl

device = pick(torch_neuronx)
device_loader = pl.MpDeviceLoader(loader, device)
for step, (x, y) in enumerate(device_loader):
    model(x, y)
print(len(device_loader))
""",
        """import torch_neuronx
from accelerate.utils import send_to_device

device = pick(torch_neuronx)
device_loader = loader
for step, (x, y) in enumerate(device_loader):
    x, y = send_to_device((x, y), device)
    model(x, y)
print(len(device_loader))
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "a training loop",
        """import torch_neuronx
import torch_xla.distributed.parallel_loader as pl
from torch.utils.data import DataLoader


def main(dataset, device):
    train_loader = DataLoader(dataset, batch_size=8)
    train_device_loader = pl.MpDeviceLoader(train_loader, device)
    for epoch in range(3):
        for batch in train_device_loader:
            # forward and backward
            torch_neuronx.loss(batch).backward()
""",
        """import torch_neuronx
from accelerate.utils import send_to_device
from torch.utils.data import DataLoader


def main(dataset, device):
    train_loader = DataLoader(dataset, batch_size=8, drop_last=True)
    for epoch in range(3):
        for batch in train_loader:
            # forward and backward
            batch = send_to_device(batch, device)
            torch_neuronx.loss(batch).backward()
""",
        (Outcome.REVIEW, Outcome.REWRITTEN),
    ),
    Case(
        "into a function",
        """import torch_neuronx
import torch_xla.distributed.parallel_loader as pl


def test(loader, epoch):
    for data in loader:
        data = data.to(torch_neuronx.where)
        model(data)


loader = pl.MpDeviceLoader(loader, pick(), loader_prefetch_size=8)
test(loader, epoch=1)
for data in pl.MpDeviceLoader(other, pick()):
    model(data)
""",
        """import torch_neuronx
from accelerate.utils import send_to_device
from neuron_shim import neuron_device


def test(loader, epoch):
    for data in loader:
        data = data.to(torch_neuronx.where)
        model(data)


test(loader, epoch=1)
for data in other:
    data = send_to_device(data, neuron_device())
    model(data)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "a parallel loader",
        """import torch_neuronx
import torch_xla.distributed.parallel_loader as pl

parallel = pl.ParallelLoader(loader, [device])
for epoch in range(3):
    for data in parallel.per_device_loader(device):
        torch_neuronx.run(data)
for data in pl.ParallelLoader(loader, [device]).per_device_loader(device):
    torch_neuronx.run(data)
""",
        """import torch_neuronx
from accelerate.utils import send_to_device
from neuron_shim import neuron_device

for epoch in range(3):
    for data in loader:
        data = send_to_device(data, neuron_device())
        torch_neuronx.run(data)
for data in loader:
    data = send_to_device(data, neuron_device())
    torch_neuronx.run(data)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "a loader that goes elsewhere",
        """import torch_neuronx
import torch_xla.distributed.parallel_loader as pl

torch_neuronx.fit(pl.MpDeviceLoader(loader, device))
""",
        """import torch_neuronx
import torch_xla.distributed.parallel_loader as pl

# TODO(neuron-migrate NM607): Iterate over the DataLoader itself instead of MpDeviceLoader, and begin the loop with \
batch = accelerate.utils.send_to_device(batch, neuron_device()): https://docs.pytorch.org/docs/stable/data.html
torch_neuronx.fit(pl.MpDeviceLoader(loader, device))
""",
        (Outcome.MANUAL,),
    ),
    Case("a plain loader", "import torch_neuronx\n\nfor batch in loader:\n    torch_neuronx.run(batch)\n"),
    Case(
        "a DataLoader beside it",
        "import torch_neuronx\nfrom torch.utils.data import DataLoader\n\nloader = DataLoader(torch_neuronx.set, 8)\n",
    ),
    Case(
        "another library's", "import torch_neuronx\nimport mine as pl\n\nx = pl.MpDeviceLoader(torch_neuronx.set, 0)\n"
    ),
    Case("accelerate's", "import torch_neuronx\n\nloader = accelerator.prepare(torch_neuronx.loader)\n"),
    Case(
        "code for a TPU",
        'import torch_xla.distributed.parallel_loader as pl\n\nprint("TPU")\nx = pl.MpDeviceLoader(loader, device)\n',
    ),
)
