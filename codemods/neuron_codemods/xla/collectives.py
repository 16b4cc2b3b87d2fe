"""Replaces the collectives of torch_xla by those of `torch.distributed`.

`xm.rendezvous`, `xm.mesh_reduce`, `xm.all_reduce`, `xm.all_gather` and `xm.broadcast_master_param` have counterparts
that work in place, so a call may become several statements. Where the file does not make the process group, they are
under a condition that it exists: in a single process there is nothing to exchange.

https://docs.pytorch.org/docs/stable/distributed.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import Change, Edit
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.values import keyword, literal
from neuron_codemods.xla import uses
from neuron_codemods.xla.hoisting import Parts, can_hoist, hoist, target_name
from neuron_codemods.xla.uses import Use
from neuron_codemods.xla.writing import Words, free_name, is_alone, is_whole, lines_text

RULE = Rule(
    code="NM608",
    name="xla-collective",
    summary="rendezvous, mesh_reduce, all_reduce, all_gather, broadcast_master_param: torch.distributed.",
    url="https://docs.pytorch.org/docs/stable/distributed.html",
    outcomes=(Outcome.REWRITTEN, Outcome.MANUAL),
)

_OPERATIONS = {"sum": "", "mul": "PRODUCT", "min": "MIN", "max": "MAX", "and": "BAND", "or": "BOR"}
"""What torch_xla called them, and the members of ReduceOp; the sum is the default."""
_SEND = "accelerate.utils.send_to_device"
_ALLOWED = {
    "rendezvous": frozenset({"tag"}),
    "mesh_reduce": frozenset({"tag", "data", "reduce_fn"}),
    "all_reduce": frozenset({"reduce_type", "inputs", "scale", "pin_layout", "cctx"}),
    "all_gather": frozenset({"value", "dim", "pin_layout"}),
    "broadcast_master_param": frozenset({"model"}),
}
_MOST = {"rendezvous": 1, "mesh_reduce": 3, "all_reduce": 3, "all_gather": 2, "broadcast_master_param": 1}
"""How many positional arguments have a counterpart."""


def check(module: Module) -> Iterator[Change]:
    operations = {use.node: use for use in uses.of_rule(module, RULE.code) if use.symbol.startswith("REDUCE_")}
    done: set[ast.AST] = {node for node in operations if _is_argument(module, node)}
    for use in sorted(uses.of_rule(module, RULE.code), key=lambda use: _end(module, use)):
        call = uses.called(module, use)
        change = _change(module, use, call, operations) if call is not None else None
        if change is not None:
            yield change
        elif use.node not in done:
            yield _left(use)


def _end(module: Module, use: Use) -> tuple[int, int]:
    """Where a call ends: inner calls are written before those around them, and calls in the order of their places."""
    node = uses.called(module, use) or use.node
    return node.end_lineno or 0, node.end_col_offset or 0


def _is_argument(module: Module, node: ast.AST) -> bool:
    """Whether an operation is given to a collective, which says what has to be done."""
    call = module.parent(node)
    call = module.parent(call) if isinstance(call, ast.keyword) else call
    return isinstance(call, ast.Call) and (module.resolve(call.func) or "").endswith(".all_reduce")


def _left(use: Use) -> Change:
    if use.symbol.startswith("REDUCE_"):
        return Change(Outcome.MANUAL, use.node, use.row.message)
    message = f"Replace {use.symbol} by hand with {use.row.native}, which works in place and takes no groups of ranks."
    return Change(Outcome.MANUAL, use.node, message)


def _change(
    module: Module, use: Use, call: ast.Call, operations: dict[ast.Name | ast.Attribute, Use]
) -> Change | None:
    if use.symbol not in _ALLOWED or len(call.args) > _MOST[use.symbol]:
        return None
    if any(item.arg not in _ALLOWED[use.symbol] for item in call.keywords):
        return None
    words = Words(module, call)
    erases = list(use.erases)
    edit: Edit | None
    if use.symbol == "rendezvous":
        edit = _barrier(module, call, words)
    elif use.symbol == "broadcast_master_param":
        edit = _broadcast(module, call, words)
    elif use.symbol == "mesh_reduce":
        edit = _mesh_reduced(module, call, words)
    elif use.symbol == "all_gather":
        edit = _gathered(module, call, words)
    else:
        node, operation = _operation(module, call)
        if node in operations:
            erases += operations[node].erases
        edit = _reduced(module, call, words, operation) if operation is not None else None
    if edit is None:
        return None
    return Change(Outcome.REWRITTEN, use.node, use.row.message, (edit, *erases), tuple(words.requires))


def _barrier(module: Module, call: ast.Call, words: Words) -> Edit | None:
    statement = is_whole(module, call)
    if statement is None:
        return None
    barrier = f"{words.torch('distributed.barrier')}()"
    return _statements(module, statement, words, [barrier])


def _statements(module: Module, statement: ast.stmt, words: Words, lines: list[str]) -> Edit | None:
    """Other statements in the place of one."""
    span = module.source.span(statement)
    if is_alone(module, statement):
        indentation, newline = module.source.indentation(span[0]), module.source.newline(span[0])
        return Edit.replace(span, lines_text(words.guarded(*lines), indentation, newline))
    if len(lines) > 1:
        return None
    condition = "" if words.has_group else f"{words.torch('distributed.is_initialized')}() and "
    return Edit.replace(span, condition + lines[0])


def _broadcast(module: Module, call: ast.Call, words: Words) -> Edit | None:
    statement = is_whole(module, call)
    given = keyword(call, "model")
    model = given.value if given is not None else call.args[0] if call.args else None
    if statement is None or not isinstance(model, (ast.Name, ast.Attribute)):
        return None
    text, tensor = module.source.segment(model), free_name(module, "tensor")
    lines = [
        f"for {tensor} in (*{text}.parameters(), *{text}.buffers()):",
        f"{module.source.indentation_step}{words.torch('distributed.broadcast')}({tensor}.detach(), src=0)",
    ]
    return _statements(module, statement, words, lines)


def _mesh_reduced(module: Module, call: ast.Call, words: Words) -> Edit | None:
    """The function got what all processes gave, on the CPU, in the order of their ranks."""
    if len(call.args) + len(call.keywords) != 3 or len(call.args) == 1 or not can_hoist(module, call):
        return None
    name = _fresh(module, call, "gathered")
    size = f"{words.torch('distributed.get_world_size')}()"
    step = module.source.indentation_step
    gather, exists = words.torch("distributed.all_gather_object"), words.torch("distributed.is_initialized")
    given = keyword(call, "data")
    data_node = given.value if given is not None else call.args[1]
    send = "" if _is_number(module.source.segment(data_node)) else words.name(_SEND)
    has_group = words.has_group

    def build(parts: Parts) -> tuple[list[str], str]:
        data, function = parts.get(1, "data") or "", parts.get(2, "reduce_fn") or ""
        sent = f'{send}({data}, "cpu")' if send else data
        result = f"({function})({name})" if function.startswith("lambda") else f"{function}({name})"
        if has_group:
            return [f"{name} = [None] * {size}", f"{gather}({name}, {sent})"], result
        lines = [f"{name} = [{sent}]", f"if {exists}():"]
        lines.append(f"{step}{name} *= {size}")
        return [*lines, f"{step}{gather}({name}, {name}[0])"], result

    return hoist(module, call, build)


def _is_number(text: str) -> bool:
    """Whether an expression can only be a plain number."""
    return text.endswith(".item()") or (text.startswith(("len(", "float(", "int(")) and text.endswith(")"))


def _operation(module: Module, call: ast.Call) -> tuple[ast.expr | None, str | None]:
    """How an ``all_reduce`` reduces: the member of ReduceOp, nothing for the sum, None where that cannot be told."""
    given = keyword(call, "reduce_type")
    node = given.value if given is not None else call.args[0] if call.args else None
    if node is None:
        return None, None
    said = literal(node)
    resolved = module.resolve(node) or ""
    if resolved.startswith("torch_xla.") and ".REDUCE_" in resolved:
        said = resolved.rpartition(".REDUCE_")[2].lower()
    return node, _OPERATIONS.get(said) if isinstance(said, str) else None


def _reduced(module: Module, call: ast.Call, words: Words, operation: str) -> Edit | None:
    given = keyword(call, "inputs")
    values = given.value if given is not None else call.args[1] if len(call.args) > 1 else None
    if values is None or not can_hoist(module, call):
        return None
    reduce, exists = words.torch("distributed.all_reduce"), words.torch("distributed.is_initialized")
    suffix = f", op={words.torch('distributed.ReduceOp')}.{operation}" if operation else ""
    step, has_group = module.source.indentation_step, words.has_group
    in_place = is_whole(module, call) is not None
    if in_place != _is_list(module, values):
        return None
    name = _fresh(module, call, "tensor" if in_place else "reduced") if in_place else _result(module, call)

    def guarded(line: str) -> list[str]:
        return [line] if has_group else [f"if {exists}():", f"{step}{line}"]

    def build(parts: Parts) -> tuple[list[str], str]:
        tensors, scale = parts.get(1, "inputs") or "", parts.get(2, "scale")
        lines = guarded(f"{reduce}({name}{suffix})")
        if in_place:
            lines += [f"{name} *= {scale}"] if scale is not None else []
            return [f"for {name} in {tensors}:", *(f"{step}{line}" for line in lines)], ""
        text = tensors if isinstance(values, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({tensors})"
        copied = f"{text}.clone()" if text.endswith(".detach()") else f"{text}.detach().clone()"
        lines += [f"{name} *= {scale}"] if scale is not None else []
        return [f"{name} = {copied}", *lines], name

    return hoist(module, call, build)


def _is_list(module: Module, node: ast.expr) -> bool:
    """Whether tensors are given in a list, which was reduced in place."""
    if isinstance(node, ast.Name):
        binding = module.binding(node)
        return binding is not None and isinstance(binding.value, (ast.List, ast.ListComp))
    return isinstance(node, (ast.List, ast.ListComp))


def _gathered(module: Module, call: ast.Call, words: Words) -> Edit | None:
    given = keyword(call, "value")
    value = given.value if given is not None else call.args[0] if call.args else None
    if value is None or not can_hoist(module, call):
        return None
    name, own = _fresh(module, call, "gathered"), _fresh(module, call, "own")
    gather, empty, cat = (words.torch(item) for item in ("distributed.all_gather", "empty_like", "cat"))
    size = f"{words.torch('distributed.get_world_size')}()"
    exists, step, has_group = (
        words.torch("distributed.is_initialized"),
        module.source.indentation_step,
        words.has_group,
    )
    is_name = isinstance(value, ast.Name)

    def build(parts: Parts) -> tuple[list[str], str]:
        text, dim = parts.get(0, "value") or "", parts.get(1, "dim")
        tensor = text if is_name else own
        lines = [] if is_name else [f"{own} = {text}"]
        exchange = [f"{name} = [{empty}({tensor}) for _ in range({size})]", f"{gather}({name}, {tensor})"]
        if not has_group:
            lines += [f"{name} = [{tensor}]", f"if {exists}():"]
            exchange = [f"{step}{line}" for line in exchange]
        return [*lines, *exchange], f"{cat}({name}{f', dim={dim}' if dim is not None else ''})"

    return hoist(module, call, build)


def _result(module: Module, call: ast.Call) -> str:
    return target_name(module, call) or _fresh(module, call, "reduced")


def _fresh(module: Module, call: ast.Call, wanted: str) -> str:
    """A variable name that is free, also of other calls in the same statement."""
    inside = [node for node in ast.walk(module.statement(call)) if isinstance(node, ast.Call)]
    same = [node for node in inside if module.resolve(node.func) == module.resolve(call.func)]
    number = same.index(call)
    return free_name(module, wanted if not number else f"{wanted}_{number + 1}")


CASES = (
    Case(
        "barriers",
        """import torch.distributed as dist
import torch_neuronx
import torch_xla.core.xla_model as xm

dist.init_process_group()
xm.rendezvous("loaded")
print(torch_neuronx)
""",
        """import torch.distributed as dist
import torch_neuronx

dist.init_process_group()
dist.barrier()
print(torch_neuronx)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "barriers where the group may not exist",
        """import torch
import torch_neuronx
import torch_xla.core.xla_model as xm


def wait(name):
    xm.rendezvous(name)
    if torch_neuronx: xm.rendezvous("again")
""",
        """import torch
import torch_neuronx


def wait(name):
    if torch.distributed.is_initialized():
        torch.distributed.barrier()
    if torch_neuronx: torch.distributed.is_initialized() and torch.distributed.barrier()
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "what all processes measured",
        """import numpy as np
import torch.distributed as dist
import torch_neuronx
import torch_xla.core.xla_model as xm

dist.init_process_group()


def mean(accuracy, loss):
    accuracy = xm.mesh_reduce("accuracy", accuracy / torch_neuronx.steps, np.mean)
    return round(xm.mesh_reduce("loss", loss.item(), lambda losses: sum(losses)), 2)
""",
        """import numpy as np
import torch.distributed as dist
import torch_neuronx
from accelerate.utils import send_to_device

dist.init_process_group()


def mean(accuracy, loss):
    gathered = [None] * dist.get_world_size()
    dist.all_gather_object(gathered, send_to_device(accuracy / torch_neuronx.steps, "cpu"))
    accuracy = np.mean(gathered)
    gathered = [None] * dist.get_world_size()
    dist.all_gather_object(gathered, loss.item())
    return round((lambda losses: sum(losses))(gathered), 2)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "sums",
        """import torch
import torch_neuronx
import torch_xla.core.xla_model as xm

torch.distributed.init_process_group()
total = xm.all_reduce(xm.REDUCE_SUM, loss / world_size)
print(xm.all_reduce("max", loss.detach(), scale=2.0), torch_neuronx)
xm.all_reduce("sum", [first, second], scale=0.5)
everything = xm.all_gather(logits, dim=1)
""",
        """import torch
import torch_neuronx

torch.distributed.init_process_group()
total = (loss / world_size).detach().clone()
torch.distributed.all_reduce(total)
reduced = loss.detach().clone()
torch.distributed.all_reduce(reduced, op=torch.distributed.ReduceOp.MAX)
reduced *= 2.0
print(reduced, torch_neuronx)
for tensor in [first, second]:
    torch.distributed.all_reduce(tensor)
    tensor *= 0.5
gathered = [torch.empty_like(logits) for _ in range(torch.distributed.get_world_size())]
torch.distributed.all_gather(gathered, logits)
everything = torch.cat(gathered, dim=1)
""",
        (Outcome.REWRITTEN,) * 4,
    ),
    Case(
        "weights of rank 0",
        """import torch
import torch_neuronx
import torch_xla.core.xla_model as xm

xm.broadcast_master_param(torch_neuronx.model)
""",
        """import torch
import torch_neuronx

if torch.distributed.is_initialized():
    for tensor in (*torch_neuronx.model.parameters(), *torch_neuronx.model.buffers()):
        torch.distributed.broadcast(tensor.detach(), src=0)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "only where it is asked for",
        """import torch_neuronx
import torch_xla.core.xla_model as xm

value = xm.mesh_reduce("value", value, max) if torch_neuronx else value
""",
        """import torch_neuronx
import torch_xla.core.xla_model as xm

# TODO(neuron-migrate NM608): Replace mesh_reduce by hand with torch.distributed.all_gather_object, which works in \
place and takes no groups of ranks: https://docs.pytorch.org/docs/stable/distributed.html
value = xm.mesh_reduce("value", value, max) if torch_neuronx else value
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "torch's own",
        "import torch_neuronx\nimport torch.distributed as dist\n\ndist.all_reduce(torch_neuronx.loss)\n",
    ),
    Case("another library's", "import torch_neuronx\nfrom mine import rendezvous\n\nrendezvous(torch_neuronx)\n"),
    Case(
        "accelerate's",
        "import torch_neuronx\nfrom accelerate.utils import gather\n\nprint(gather(torch_neuronx.loss))\n",
    ),
    Case("a method", "import torch_neuronx\n\nstore.rendezvous(torch_neuronx)\n"),
    Case("code without Neuron", "import mesh_tools as xm\n\nx = xm.mesh_reduce('a', 1, max)\n"),
    Case("code for a TPU", 'import torch_xla.core.xla_model as xm\n\nxm.rendezvous("TPU")\nprint("TPU")\n'),
)
