"""Computes on `neuron_device()`, where a script named the XLA device: `xm.xla_device()`, `"xla"`, autocast.

The device of the native backend is called `neuron`. `neuron_device()` is that, or another accelerator, or the CPU, so
the script runs on each of them; autocast takes the type of the device.

https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from neuron_codemods.diffusion.loads import all_loads
from neuron_codemods.edits import AnyEdit, CallEdit, Change, Edit
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.values import in_order, keyword
from neuron_codemods.xla import evidence, uses
from neuron_codemods.xla.uses import Use
from neuron_codemods.xla.writing import Words

RULE = Rule(
    code="NM603",
    name="xla-device",
    summary='xm.xla_device(), the device "xla", autocast on it: neuron_device().',
    url="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

_NAME = re.compile(r"xla(:\d+)?")
_AUTOCAST = frozenset({"torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast"})
_GROUP = frozenset({"torch.distributed.init_process_group", "torch.distributed.new_group"})
_DEVICE_KEYWORDS = frozenset({"device", "map_location", "devices"})
_TYPE_KEYWORDS = frozenset({"device_type", "default"})
_ENVIRONMENT = frozenset({"os.environ", "os.environ.get", "os.getenv"})
_HELD = re.compile(r"dev(ice)?$|_dev(ice)?$|^dev(ice)?_|^DEVICE", re.IGNORECASE)

_DEVICE = "The device is neuron_device(): a NeuronCore, another accelerator, or the CPU."
_TYPE = "The type of the device is that of neuron_device()."


def check(module: Module) -> Iterator[Change]:
    if not evidence.is_on(module):
        return
    for use in uses.of_rule(module, RULE.code):
        call = uses.called(module, use)
        yield (_used(module, use, call) if call is not None else None) or _left(use)
    done: set[ast.AST] = set()
    for call in module.calls:
        if module.resolve(call.func) in _AUTOCAST:
            change = _autocast(module, call, done)
            if change is not None:
                yield change
    for constant in module.names.strings:
        if constant not in done and module.is_placed(constant) and _is_device(module, constant):
            change = _named(module, constant)
            if change is not None:
                yield change


def _left(use: Use) -> Change:
    return Change(Outcome.MANUAL, use.node, f"Replace {use.symbol}: neuron_device() of neuron_shim names the device.")


def _used(module: Module, use: Use, call: ast.Call) -> Change | None:
    words, source = Words(module, use.node), module.source
    message, outcome = use.row.message, use.row.outcome
    edits: tuple[AnyEdit, ...]
    if use.symbol == "autocast":
        edits = _torch_autocast(module, use, call, words)
    elif use.symbol == "is_xla_tensor":
        if len(call.args) != 1 or call.keywords or isinstance(call.args[0], ast.Starred):
            return None
        start, end = source.span(call)
        first, last = source.span(call.args[0])
        simple = isinstance(call.args[0], (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
        opening, closing = ("", "") if simple else ("(", ")")
        wrapped = isinstance(module.parent(call), (ast.UnaryOp, ast.Compare, ast.BinOp))
        edits = (
            Edit.replace((start, first), f"({opening}" if wrapped else opening),
            Edit.replace((last, end), f'{closing}.device.type != "cpu"' + (")" if wrapped else "")),
        )
    else:
        edits = (Edit.replace(source.span(call), words.device()),)
        if call.args or call.keywords:
            outcome = Outcome.REVIEW
            message += " It has no number: each process sees one core."
    return Change(outcome, use.node, message, (*edits, *use.erases), tuple(words.requires))


def _torch_autocast(module: Module, use: Use, call: ast.Call, words: Words) -> tuple[AnyEdit, ...]:
    """``torch_xla.amp.autocast(device)`` was bfloat16 on Neuron where nothing else was said."""
    edits: list[AnyEdit] = [Edit.replace(module.source.span(use.node), words.torch("autocast"))]
    device = f"{words.device()}.type"
    dtype = f"{words.torch('bfloat16')}"
    given = call.args[0] if call.args else keyword(call, "device")
    added = () if keyword(call, "dtype") is not None or len(call.args) > 2 else (("dtype", dtype),)
    if given is None:
        edits.append(CallEdit(call, added=(("device_type", device), *added)))
    else:
        index = in_order(call).index(given)
        renamed = ((index, "device_type"),) if isinstance(given, ast.keyword) else ()
        edits.append(CallEdit(call, renamed=renamed, values=((index, device),), added=added))
    return tuple(edits)


def _autocast(module: Module, call: ast.Call, done: set[ast.AST]) -> Change | None:
    """Autocast of torch, for ``"xla"`` or, as the samples for Neuron had it, for ``"cuda"``."""
    given = keyword(call, "device_type")
    node = given.value if given is not None else call.args[0] if call.args else None
    if not isinstance(node, ast.Constant) or node.value not in ("xla", "cuda") or not module.is_placed(node):
        return None
    if node.value == "cuda" and not module.uses_stack:
        return None
    done.add(node)
    words = Words(module, node)
    edit = Edit.replace(module.source.span(node), f"{words.device()}.type")
    if node.value == "xla":
        return Change(Outcome.REWRITTEN, node, _TYPE, (edit,), tuple(words.requires))
    message = _TYPE + " The old stack took cuda for it."
    return Change(Outcome.REVIEW, node, message, (edit,), tuple(words.requires))


def _is_device(module: Module, constant: ast.Constant) -> bool:
    if not isinstance(constant.value, str) or not _NAME.fullmatch(constant.value):
        return False
    holder = module.parent(constant)
    holder = module.parent(holder) if isinstance(holder, ast.keyword) else holder
    called = module.resolve(holder.func) if isinstance(holder, ast.Call) else None
    if called == "torch.Generator" and all_loads(module).rewritten:
        return False  # generators of diffusion pipelines have a rule of their own
    return called not in _GROUP


def _named(module: Module, constant: ast.Constant) -> Change | None:
    words = Words(module, constant)
    kind = _kind(module, constant)
    if kind == "":
        return None
    if kind == "?":
        message = 'Replace the device "xla": neuron_device() of neuron_shim names the device, its type is "neuron".'
        return Change(Outcome.MANUAL, constant, message)
    node: ast.AST = constant
    above = module.parent(constant)
    if isinstance(above, ast.Call) and module.resolve(above.func) == "torch.device" and len(above.args) == 1:
        node = above
    text = f"{words.device()}.type" if kind == "type" else words.device()
    edit = Edit.replace(module.source.span(node), text)
    return Change(Outcome.REWRITTEN, constant, _TYPE if kind == "type" else _DEVICE, (edit,), tuple(words.requires))


def _kind(module: Module, constant: ast.Constant) -> str:
    """Whether a text stands for the device or for its type; ``?`` where that cannot be told, nothing where neither."""
    above = module.parent(constant)
    if isinstance(above, ast.Expr):
        return ""
    if isinstance(above, ast.keyword):
        if above.arg in _DEVICE_KEYWORDS:
            return "device"
        return "type" if above.arg in _TYPE_KEYWORDS else "?"
    if isinstance(above, ast.Call):
        function = above.func
        if module.resolve(function) == "torch.device" and above.args == [constant] and not above.keywords:
            return "device"
        moves = isinstance(function, ast.Attribute) and function.attr in ("to", "move_to", "to_empty")
        return "device" if moves else "?"
    if isinstance(above, ast.Compare):
        others = [side for side in (above.left, *above.comparators) if side is not constant]
        is_type = all(isinstance(side, ast.Attribute) and side.attr in ("type", "device_type") for side in others)
        return "type" if is_type else "" if all(_is_label(module, side) for side in others) else "?"
    if isinstance(above, (ast.Assign, ast.AnnAssign)):
        targets = above.targets if isinstance(above, ast.Assign) else [above.target]
        names = [target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "") for target in targets]
        return "device" if all(_HELD.search(name) for name in names) else "?"
    if isinstance(above, ast.arguments):
        return "device" if _HELD.search(_parameter(above, constant)) else "?"
    if isinstance(above, ast.Dict):
        keys = [key for key, value in zip(above.keys, above.values, strict=True) if value is constant]
        named = [key.value for key in keys if isinstance(key, ast.Constant)]
        return "device" if named and all(item in _DEVICE_KEYWORDS for item in named) else "?"
    return "?"


def _is_label(module: Module, node: ast.expr) -> bool:
    """Whether a name holds a word from the environment that the script only compares or prints: no device."""
    binding = module.binding(node) if isinstance(node, ast.Name) else None
    if binding is None or len(binding.scope.bindings[binding.name]) != 1:
        return False
    value = binding.value
    read = value.value if isinstance(value, ast.Subscript) else value.func if isinstance(value, ast.Call) else None
    if read is None or module.resolve(read) not in _ENVIRONMENT:
        return False
    above = [module.parent(reference.node) for reference in module.references(binding)]
    return all(isinstance(use, (ast.Compare, ast.BinOp, ast.FormattedValue)) for use in above)


def _parameter(arguments: ast.arguments, default: ast.Constant) -> str:
    """The name of the parameter that has a default."""
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = list(zip(reversed(positional), reversed(arguments.defaults), strict=False))
    pairs += [(name, value) for name, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value]
    return next((name.arg for name, value in pairs if value is default), "")


_MARKER = (
    '# TODO(neuron-migrate NM603): Replace the device "xla": neuron_device() of neuron_shim names the device, its '
    'type is "neuron": https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html\n'
)

CASES = (
    Case(
        "the device of the process",
        """import torch
import torch_neuronx
import torch_xla
import torch_xla.core.xla_model as xm

device = xm.xla_device()
x = torch.ones(2, device=torch_xla.device())
print(torch_neuronx, xm.is_xla_tensor(x), not xm.is_xla_tensor(x + 1))
""",
        """import torch
import torch_neuronx
from neuron_shim import neuron_device

device = neuron_device()
x = torch.ones(2, device=neuron_device())
print(torch_neuronx, x.device.type != "cpu", not ((x + 1).device.type != "cpu"))
""",
        (Outcome.REWRITTEN,) * 4,
    ),
    Case(
        "a device with a number",
        "import torch_neuronx\nimport torch_xla.core.xla_model as xm\n\nprint(xm.xla_device(1), torch_neuronx)\n",
        "import torch_neuronx\nfrom neuron_shim import neuron_device\n\nprint(neuron_device(), torch_neuronx)\n",
        (Outcome.REVIEW,),
    ),
    Case(
        "its name in strings",
        """import torch
import torch_neuronx

device = "xla"
model = Model().to("xla")
x = torch.zeros(2, device='xla')
y = torch.load(path, map_location=torch.device("xla:0"))


def place(x, device="xla"):
    return x if x.device.type == "xla" else x.to(device)
""",
        """import torch
import torch_neuronx
from neuron_shim import neuron_device

device = neuron_device()
model = Model().to(neuron_device())
x = torch.zeros(2, device=neuron_device())
y = torch.load(path, map_location=neuron_device())


def place(x, device=neuron_device()):
    return x if x.device.type == neuron_device().type else x.to(device)
""",
        (Outcome.REWRITTEN,) * 6,
    ),
    Case(
        "autocast",
        """import torch
import torch_neuronx
from torch_xla.amp import autocast

with autocast(device):
    train(torch_neuronx)
with torch.autocast(device_type="xla", dtype=torch.bfloat16):
    train()
with torch.autocast("cuda", enabled=bf16):
    train()
""",
        """import torch
import torch_neuronx
from neuron_shim import neuron_device

with torch.autocast(neuron_device().type, dtype=torch.bfloat16):
    train(torch_neuronx)
with torch.autocast(device_type=neuron_device().type, dtype=torch.bfloat16):
    train()
with torch.autocast(neuron_device().type, enabled=bf16):
    train()
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.REVIEW),
    ),
    Case(
        "a text that may be something else",
        'import torch_neuronx\n\nbackends = ["xla", "cuda"]\n',
        f'import torch_neuronx\n\n{_MARKER}backends = ["xla", "cuda"]\n',
        (Outcome.MANUAL,),
    ),
    Case(
        "a word that chooses a branch",
        """import os

device = os.environ["DEVICE"]
if device == "xla":
    import torch_neuronx
title = "runs on " + device
""",
    ),
    Case(
        "a word that becomes a device",
        """import os
import torch_neuronx

device = os.getenv("DEVICE")
if device == "xla":
    model.to(device)
""",
        f"""import os
import torch_neuronx

device = os.getenv("DEVICE")
{_MARKER}if device == "xla":
    model.to(device)
""",
        (Outcome.MANUAL,),
    ),
    Case("a file without the XLA stack", 'import torch\n\nx = torch.zeros(2, device="xla")\n'),
    Case("autocast on a GPU", 'import torch\n\nwith torch.autocast("cuda"):\n    train()\n'),
    Case(
        "code for a TPU",
        'import torch_xla.core.xla_model as xm\n\nif xm.xla_device_hw(device) == "TPU":\n    x.to("xla")\n',
    ),
    Case("a sentence", 'import torch_neuronx\n\nprint("runs on xla", torch_neuronx)\n'),
    Case("the process group", 'import torch_neuronx\nimport torch.distributed as dist\n\nx = dist.group\ny = "XLA"\n'),
)
