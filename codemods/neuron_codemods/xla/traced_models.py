"""Compiles models when they are called, where `torch_neuronx.trace` compiled them ahead of time and saved a file.

The model itself is moved to the device and compiled for static shapes by `compile_static`. A traced model took its
inputs from the CPU, gave its results there and knew no gradients; so do the calls of the new one. No file is written
any more: what was saved is not, and what was loaded has to be the original model.

https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/compile/reference-torch-compile.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from neuron_codemods.edits import AnyEdit, Change, Edit, EraseAttribute, RemoveStatement
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.scopes import Binding
from neuron_codemods.values import has_splat, keyword
from neuron_codemods.xla import evidence, table, uses
from neuron_codemods.xla.uses import Use
from neuron_codemods.xla.writing import Words, expression, is_whole, stack_free

RULE = Rule(
    code="NM611",
    name="traced-model",
    summary="torch_neuronx.trace, torch.jit.save and load of traced models: compile_static(model), no file.",
    url="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/compile/reference-torch-compile.html",
    outcomes=(Outcome.REVIEW, Outcome.MANUAL),
)

_TRACE = frozenset({"torch_neuronx.trace", "torch_neuron.trace", "torch.neuron.trace"})
_COMPILE = "neuron_shim.compile_static"
_SEND = "accelerate.utils.send_to_device"
_TRACERS = ("torch_neuronx", "torch_neuron", "torch.neuron")


@dataclass(eq=False)
class _Traced:
    """A model that is traced, and what holds it."""

    call: ast.Call
    row: table.Name
    erases: tuple[EraseAttribute, ...]
    bindings: tuple[Binding, ...]
    """The variable that holds it, and those that got it through ``dynamic_batch``."""
    attributes: tuple[ast.Attribute, ...] = ()
    """The uses of ``self.model``, where that holds it."""


def check(module: Module) -> Iterator[Change]:
    if not evidence.is_on(module):
        return
    traced = list(_all_traced(module))
    for item in traced:
        yield _compiled(module, item)
    found = {item.call.func for item in traced}
    for use in uses.of_rule(module, RULE.code):
        if use.node not in found:
            yield _helper(module, use) or _left(use)
    if traced or _imports_tracer(module):
        yield from _files(module, traced)


def _imports_tracer(module: Module) -> bool:
    names = [alias.name for node in module.names.imports if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in module.names.imports if isinstance(node, ast.ImportFrom)]
    return any(name == tracer or name.startswith(f"{tracer}.") for name in names for tracer in _TRACERS)


def _left(use: Use) -> Change:
    message = (
        f"Replace {use.symbol} by hand: compile_static of neuron_shim compiles a torch.nn.Module on its first call "
        "with each input shape."
    )
    return Change(Outcome.MANUAL, use.node, message)


# Tracing ------------------------------------------------------------------------------------------------------------


def _all_traced(module: Module) -> Iterator[_Traced]:
    known = {use.node: use for use in uses.of_rule(module, RULE.code)}
    for call in module.calls:
        name = module.resolve(call.func) or ""
        if name in _TRACE and module.is_placed(call.func) and _model(module, call) is not None:
            use = known.get(call.func)  # type: ignore[call-overload]
            row = table.names()[name]
            erases = use.erases if use is not None else ()
            yield _Traced(call, row, erases, tuple(_holders(module, call)), tuple(_attributes(module, call)))


def _model(module: Module, call: ast.Call) -> ast.expr | None:
    """The model that is traced, unless it is a function or not written out."""
    given = keyword(call, "func", "model")
    model = given.value if given is not None else call.args[0] if call.args else None
    if (
        model is None
        or isinstance(model, (ast.Lambda, ast.Starred))
        or has_splat(call)
        or not stack_free(module, model)
    ):
        return None
    if isinstance(model, ast.Name):
        binding = module.binding(model)
        if binding is not None and isinstance(binding.node, (ast.FunctionDef, ast.ClassDef)):
            return None
    return model


def _holder(module: Module, call: ast.Call) -> Binding | None:
    """The variable that holds the result of a call."""
    statement = module.parent(call)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Name):
        return None
    bindings = module.scope(target).bindings.get(target.id, [])
    return next((binding for binding in bindings if binding.node is target), None)


def _holders(module: Module, call: ast.Call) -> Iterator[Binding]:
    first = _holder(module, call)
    if first is None:
        return
    yield first
    seen = {first}
    for use, other in uses.calls(module, RULE.code):
        given = other.args[0] if other.args else None
        if use.symbol == "dynamic_batch" and isinstance(given, ast.Name) and module.binding(given) in seen:
            second = _holder(module, other)
            if second is not None:
                seen.add(second)
                yield second


def _attributes(module: Module, call: ast.Call) -> Iterator[ast.Attribute]:
    """The uses of the attribute of ``self`` that holds the result of a call, in the same class."""
    statement = module.parent(call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Attribute) or not _is_self(target):
        return
    owner = _class(module, target)
    for node in module.names.attributes:
        if node.attr == target.attr and _is_self(node) and isinstance(node.ctx, ast.Load):
            if owner is not None and _class(module, node) is owner:
                yield node


def _is_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def _class(module: Module, node: ast.AST) -> ast.ClassDef | None:
    return next((above for above in module.ancestors(node) if isinstance(above, ast.ClassDef)), None)


def _compiled(module: Module, item: _Traced) -> Change:
    source, words = module.source, Words(module, item.call)
    model = _model(module, item.call)
    assert model is not None
    (start, end), (first, last) = source.span(item.call), source.span(model)
    simple = expression(module, model) == source.segment(model)
    opening, closing = ("", "") if simple else ("(", ")")
    edits: list[AnyEdit] = [
        Edit.replace((start, first), f"{words.name(_COMPILE)}({opening}"),
        Edit.replace((last, end), f"{closing}.to({words.device()}).requires_grad_(False))"),
        *item.erases,
    ]
    message = item.row.message
    if keyword(item.call, "compiler_args") is not None:
        message += " Compiler arguments are left out: NEURON_CC_FLAGS holds them, and the dtype of the model decides."
    for binding in item.bindings:
        for called in _calls_of(module, binding):
            edits += _moved(module, called, words)
    for attribute in item.attributes:
        above = module.parent(attribute)
        if isinstance(above, ast.Call) and above.func is attribute and module.is_placed(above):
            edits += _moved(module, above, words)
    return Change(item.row.outcome, item.call.func, message, tuple(edits), tuple(dict.fromkeys(words.requires)))


def _calls_of(module: Module, binding: Binding) -> Iterator[ast.Call]:
    """The calls of a variable while it holds what a binding gave it."""
    for reference in module.references(binding):
        above = module.parent(reference.node)
        if isinstance(above, ast.Call) and above.func is reference.node and module.is_placed(above):
            if module.binding(reference.node) is binding or len(binding.scope.bindings[binding.name]) == 1:
                yield above


def _moved(module: Module, call: ast.Call, words: Words) -> Iterator[AnyEdit]:
    """Inputs go to the device, results come back to the CPU."""
    send, device, source = words.name(_SEND), words.device(), module.source
    start, end = source.span(call)
    yield Edit.insert(start, f"{send}(")
    yield Edit.insert(end, ', "cpu")')
    for argument in (*call.args, *(item.value for item in call.keywords)):
        inner = argument.value if isinstance(argument, ast.Starred) else argument
        if isinstance(inner, ast.Constant):
            continue
        first, last = source.span(inner)
        yield Edit.insert(first, f"{send}(")
        yield Edit.insert(last, f", {device})")


def _helper(module: Module, use: Use) -> Change | None:
    """``dynamic_batch(model)`` and ``async_load(model)``: the model itself, or nothing."""
    call = uses.called(module, use)
    if call is None or use.symbol not in ("dynamic_batch", "async_load", "lazy_load") or not call.args:
        return None
    statement: ast.stmt | None = is_whole(module, call)
    holder, given = _holder(module, call), call.args[0]
    if holder is not None and isinstance(given, ast.Name) and given.id == holder.name:
        statement = holder.statement
    edits: tuple[AnyEdit, ...]
    if statement is not None:
        edits = (RemoveStatement(statement),)
    else:
        (start, end), (first, last) = module.source.span(call), module.source.span(call.args[0])
        edits = (Edit.delete((start, first)), Edit.delete((last, end)))
    return Change(Outcome.REVIEW, use.node, use.row.message, (*edits, *use.erases))


# Files --------------------------------------------------------------------------------------------------------------


def _files(module: Module, traced: list[_Traced]) -> Iterator[Change]:
    paths: list[tuple[str, _Traced]] = []
    for call in module.calls:
        saved = _saved(module, call, traced)
        if saved is not None:
            item, path = saved
            paths.append((ast.dump(path), item))
            statement = is_whole(module, call)
            row = table.names()["torch.jit.save"]
            if statement is not None:
                message = f"{row.message} {_missed(module, call, path)}".rstrip()
                yield Change(Outcome.REVIEW, call, message, (RemoveStatement(statement),))
            else:
                yield Change(Outcome.MANUAL, call, "Delete this: a compiled model is not saved to a file.")
        elif module.resolve(call.func) == "torch.jit.save":
            message = "Delete this where the model was traced for Neuron: a compiled model is not saved to a file."
            yield Change(Outcome.MANUAL, call, message)
    for call in module.calls:
        if module.resolve(call.func) == "torch.jit.load" and call.args:
            yield _loaded(module, call, paths)


def _saved(module: Module, call: ast.Call, traced: list[_Traced]) -> tuple[_Traced, ast.expr] | None:
    """The traced model that a call writes to a file, with the path."""
    function = call.func
    if module.resolve(function) == "torch.jit.save" and len(call.args) >= 2:
        model, path = call.args[0], call.args[1]
    elif isinstance(function, ast.Attribute) and function.attr == "save" and len(call.args) == 1:
        model, path = function.value, call.args[0]
    else:
        return None
    if isinstance(model, ast.Attribute):
        item = next((item for item in traced if model in item.attributes), None)
        return (item, path) if item is not None else None
    if not isinstance(model, ast.Name):
        return None
    binding = module.binding(model)
    item = next((item for item in traced if binding in item.bindings), None)
    return (item, path) if item is not None else None


def _missed(module: Module, saving: ast.Call, path: ast.expr) -> str:
    """What to say where a variable hands the path of the file to something that does not know it as a model."""
    binding = module.binding(path) if isinstance(path, ast.Name) else None
    for reference in module.references(binding) if binding is not None else ():
        user = module.parent(reference.node)
        if isinstance(user, ast.Call) and user is not saving and module.resolve(user.func) != "torch.jit.load":
            return f"{module.source.segment(user.func)}({reference.name}) finds no file there."
    return ""


def _loaded(module: Module, call: ast.Call, paths: list[tuple[str, _Traced]]) -> Change:
    """A file that this script wrote itself is the model that it still has."""
    row = table.names()["torch.jit.load"]
    item = next((item for path, item in paths if path == ast.dump(call.args[0])), None)
    holder = _holder(module, call)
    statement = module.parent(call)
    if item is None or holder is None or not item.bindings or holder.scope is not item.bindings[-1].scope:
        return Change(Outcome.MANUAL, call, row.message)
    assert isinstance(statement, ast.Assign)
    if statement.lineno < item.call.lineno or module.block(statement) is not module.block(module.statement(item.call)):
        return Change(Outcome.MANUAL, call, row.message)
    words = Words(module, call)
    edits: list[AnyEdit] = []
    if holder.name == item.bindings[-1].name:
        edits.append(RemoveStatement(statement))
    else:
        edits.append(Edit.replace(module.source.span(call), item.bindings[-1].name))
    for called in _calls_of(module, holder):
        edits += _moved(module, called, words)
    message = "Nothing is loaded: the compiled model is the one that this script has."
    return Change(Outcome.REVIEW, call, message, tuple(edits), tuple(dict.fromkeys(words.requires)))


CASES = (
    Case(
        "traced and called",
        """import torch
import torch_neuronx

model = Model().eval()
example = torch.rand(1, 3)
traced = torch_neuronx.trace(model, example, compiler_args=["--auto-cast", "none"])
print(traced(example)[0].numpy())
""",
        """import torch
from accelerate.utils import send_to_device
from neuron_shim import compile_static, neuron_device

model = Model().eval()
example = torch.rand(1, 3)
traced = compile_static(model.to(neuron_device()).requires_grad_(False))
print(send_to_device(traced(send_to_device(example, neuron_device())), "cpu")[0].numpy())
""",
        (Outcome.REVIEW,),
    ),
    Case(
        "a file that something else reads",
        """import torch
import torch_neuronx

path = "model.pt"
traced = torch_neuronx.trace(model, inputs)
torch.jit.save(traced, path)
benchmark(path)
""",
        """from neuron_shim import compile_static, neuron_device

path = "model.pt"
traced = compile_static(model.to(neuron_device()).requires_grad_(False))
benchmark(path)
""",
        (Outcome.REVIEW, Outcome.REVIEW),
    ),
    Case(
        "saved and loaded again",
        """import torch
import torch_neuronx

traced = torch_neuronx.trace(model, inputs)
torch_neuronx.async_load(traced)
traced = torch_neuronx.dynamic_batch(traced)
traced.save("other.pt")
neuron = torch_neuronx.trace(model, inputs)
torch.jit.save(neuron, "model.pt")
loaded = torch.jit.load("model.pt")
output = loaded(*inputs)
""",
        """from accelerate.utils import send_to_device
from neuron_shim import compile_static, neuron_device

traced = compile_static(model.to(neuron_device()).requires_grad_(False))
neuron = compile_static(model.to(neuron_device()).requires_grad_(False))
loaded = neuron
output = send_to_device(loaded(*send_to_device(inputs, neuron_device())), "cpu")
""",
        (Outcome.REVIEW,) * 7,
    ),
    Case(
        "a file from elsewhere",
        """import torch
import torch_neuronx

model = torch.jit.load("model.pt")
""",
        """import torch
import torch_neuronx

# TODO(neuron-migrate NM611): Load the original model and compile it with compile_static of neuron_shim: there is no \
traced file any more: https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/compile/reference-torch-compile.html
model = torch.jit.load("model.pt")
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "a function",
        """import torch_neuronx


def forward(x):
    return x


traced = torch_neuronx.trace(forward, x)
""",
        """import torch_neuronx


def forward(x):
    return x


# TODO(neuron-migrate NM611): Replace trace by hand: compile_static of neuron_shim compiles a torch.nn.Module on its \
first call with each input shape: \
https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/compile/reference-torch-compile.html
traced = torch_neuronx.trace(forward, x)
""",
        (Outcome.MANUAL,),
    ),
    Case("torch's own tracing", "import torch\nimport torch_neuronx\n\nm = torch.jit.trace(model, torch_neuronx.x)\n"),
    Case(
        "files without Neuron",
        'import torch\n\nmodel = torch.jit.load("model.pt")\ntorch.jit.save(model, "other.pt")\n',
    ),
    Case("a trace of something else", "import torch_neuronx\nimport numpy as np\n\nnp.trace(torch_neuronx.x)\n"),
    Case("a method that saves", 'import torch_neuronx\n\nmodel.save("x.pt", torch_neuronx)\n'),
)
