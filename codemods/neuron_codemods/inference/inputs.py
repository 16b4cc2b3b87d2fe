"""How inputs reach a compiled model: its calls, and the calls of tokenizers and processors that feed them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from neuron_codemods.edits import Holder
from neuron_codemods.inference.flow import origins
from neuron_codemods.inference.loads import Load, load_of
from neuron_codemods.inference.uses import rewritten_loads
from neuron_codemods.module import Module, once
from neuron_codemods.values import keyword, mapping_behind, named

TEXT, OTHER = "tokenizer", "processor"
_KINDS = re.compile(r"(Tokenizer(Fast)?|Processor|FeatureExtractor)$")
_TOKENIZER = re.compile(r"tokenizer", re.IGNORECASE)
_NAMES = re.compile(r"tokenizer|processor|extractor", re.IGNORECASE)
_THREADS = frozenset({"threading.Thread", "threading.Timer", "multiprocessing.Process"})
_RUNNERS = frozenset({"functools.partial", "asyncio.to_thread"})
_PASSED_ON = frozenset({"to", "cpu", "items", "copy"})
_METHODS = frozenset({"__call__", "encode_plus", "batch_encode_plus"})


@dataclass(frozen=True, eq=False)
class ModelCall:
    """A call of a compiled model, or of its ``generate``, also by a thread."""

    call: ast.Call
    """What calls it: ``model(...)``, ``model.generate(...)``, or ``Thread(target=model.generate, ...)``."""
    model: ast.expr
    given: Holder
    """Where its keywords are written: the call, or the mapping that a thread takes them from."""
    load: Load
    generates: bool
    prepared: tuple[ast.Call, ...]
    """The calls of tokenizers and processors that its inputs come from."""
    unknown: tuple[ast.expr, ...]
    """Inputs whose origin is not in this module."""


@once
def model_calls(module: Module) -> tuple[ModelCall, ...]:
    done = rewritten_loads(module)
    found = []
    for call in module.calls if done else ():
        target = _generated(call.func)
        generates = target is not None
        model = target or call.func
        given: Holder | None = call
        if not generates and (run := _run(module, call)) is not None:
            generates, (model, given) = True, run
        if given is None or not isinstance(model, (ast.Name, ast.Attribute)):
            continue
        load = load_of(module, model)
        if load is None or load not in done or load.call is call:
            continue
        prepared, unknown = _prepared(module, given)
        found.append(ModelCall(call, model, given, load, generates, tuple(prepared), tuple(unknown)))
    return tuple(found)


def _generated(function: ast.AST | None) -> ast.expr | None:
    """The model of ``model.generate``."""
    return function.value if isinstance(function, ast.Attribute) and function.attr == "generate" else None


def _run(module: Module, call: ast.Call) -> tuple[ast.expr, Holder | None] | None:
    """The model whose ``generate`` a call is given to run, and where its keywords are written, if that is known."""
    function = module.resolve(call.func)
    target = keyword(call, "target")
    if function in _THREADS and target is not None and (model := _generated(target.value)) is not None:
        mapping = keyword(call, "kwargs")
        return model, mapping_behind(module, mapping.value) if mapping is not None else None
    first = call.args[0] if call.args else None
    if (model := _generated(first)) is not None:
        is_run = function in _RUNNERS or (isinstance(call.func, ast.Attribute) and call.func.attr == "submit")
        return model, call if is_run else None
    return None


def handed_on(module: Module) -> Iterator[tuple[ast.Attribute, Load]]:
    """Each ``model.generate`` that is neither called nor run by a call that is understood, with its model's load."""
    done = rewritten_loads(module)
    seen = {item.model for item in model_calls(module)}
    for node in ast.walk(module.source.tree) if done else ():
        if isinstance(node, ast.Attribute) and node.attr == "generate" and node.value not in seen:
            load = load_of(module, node.value)
            if load is not None and load in done:
                yield node, load


def _prepared(module: Module, holder: Holder) -> tuple[list[ast.Call], list[ast.expr]]:
    prepared: dict[ast.Call, None] = {}
    unknown: dict[ast.expr, None] = {}
    for value in _inputs(holder):
        for base in _bases(value):
            for origin in origins(module, base):
                for inner in _through(module, origin):
                    if isinstance(inner, ast.Call) and kind_of(module, inner) is not None:
                        prepared.setdefault(inner)
                    elif not isinstance(inner, ast.Constant):
                        unknown.setdefault(value)
    return list(prepared), list(unknown)


def _inputs(holder: Holder) -> list[ast.expr]:
    """The arguments of a call that may be inputs of a model: those by position, in mappings, and of some names."""
    positional = [] if isinstance(holder, ast.Dict) else holder.args
    given = [item.value for item in named(holder) if item.arg is None or item.arg in _INPUTS]
    return [*(item for item in positional if _generated(item) is None), *given]


_INPUTS = frozenset(
    {
        *("input_ids", "attention_mask", "token_type_ids", "pixel_values", "input_values", "input_features", "inputs"),
        *("decoder_input_ids", "pixel_mask", "position_ids"),
    }
)


def _through(module: Module, node: ast.expr, depth: int = 0) -> Iterator[ast.expr]:
    """What an input is taken out of: ``tokenizer(...)`` for ``tokenizer(...)["input_ids"]``."""
    mapping = mapping_behind(module, node)
    bases = (
        [base for value in _inputs(mapping) for base in _bases(value)] if mapping is not None else list(_bases(node))
    )
    if bases == [node] or depth > 4:
        yield node
        return
    for base in bases:
        for origin in origins(module, base):
            yield from _through(module, origin, depth + 1)


def _bases(value: ast.expr) -> Iterator[ast.expr]:
    """The variables and calls that an input is read from: ``inputs`` for ``inputs["input_ids"]``."""
    if isinstance(value, ast.Dict):
        for item in value.values:
            yield from _bases(item)
        return
    if isinstance(value, ast.DictComp):
        yield from _bases(value.generators[0].iter)
        return
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _PASSED_ON:
        yield from _bases(value.func.value)
        return
    while isinstance(value, (ast.Subscript, ast.Attribute, ast.Starred)):
        value = value.value
    yield value


def kind_of(module: Module, call: ast.Call) -> str | None:
    """Whether a call is one of a tokenizer or of another processor of inputs."""
    function: ast.expr = call.func
    if isinstance(function, ast.Attribute):
        if function.attr in _METHODS:
            function = function.value
        elif function.attr.startswith(("from_", "decode", "batch_decode", "post_process", "save", "get_")):
            return None
    if not isinstance(function, (ast.Name, ast.Attribute)):
        return None
    for origin in origins(module, function):
        if isinstance(origin, ast.Call) and isinstance(origin.func, ast.Attribute):
            name = (module.native(origin.func.value) or "").rpartition(".")[2]
            if _KINDS.search(name):
                return TEXT if "Tokenizer" in name else OTHER
        last = origin.id if isinstance(origin, ast.Name) else getattr(origin, "attr", "")
        if _NAMES.search(last):
            return TEXT if _TOKENIZER.search(last) else OTHER
    return None


def is_derived(module: Module, node: ast.expr, depth: int = 0) -> bool:
    """Whether a value is computed from what a compiled model gave back."""
    calls = {item.call for item in model_calls(module) if not item.generates}
    for inner in ast.walk(node):
        if inner in calls:
            return True
        if isinstance(inner, ast.Name) and depth < 8:
            binding = module.binding(inner)
            if binding is None or isinstance(binding.node, (ast.arg, ast.alias)):
                continue
            value = binding.value
            if value is None and isinstance(binding.statement, ast.Assign):
                value = binding.statement.value
            if value is not None and value is not node and is_derived(module, value, depth + 1):
                return True
    return False
