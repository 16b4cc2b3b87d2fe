"""Whether a script fits the libraries that are installed, without running it.

Each import must exist, and each call whose callee is known must take the arguments it is given, as the signature of
the installed object has it. Names are followed through imports, variables and base classes of the script.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import warnings
from collections.abc import Iterator
from functools import cache

from neuron_codemods.module import Module

CHECKED = ("accelerate", "neuron_shim", "peft", "transformers", "trl")
"""The packages whose names and calls are looked at."""


def problems(text: str) -> list[str]:
    """What in a script does not fit the installed libraries: one line for each thing."""
    module = Module(text)
    return [*_imports(module), *_attributes(module), *_calls(module)]


# Names --------------------------------------------------------------------------------------------------------------


def find(dotted: str) -> object:
    """The installed object of a dotted name; raises ``LookupError`` when there is none."""
    found = _find(dotted)
    if isinstance(found, LookupError):
        raise found
    return found


@cache
def _find(dotted: str) -> object:
    parts = dotted.split(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for cut in range(len(parts), 0, -1):
            try:
                found: object = importlib.import_module(".".join(parts[:cut]))
            except ModuleNotFoundError:
                continue
            for part in parts[cut:]:
                try:
                    found = getattr(found, part)
                except AttributeError:
                    return LookupError(f"{dotted}: no {part} in {'.'.join(parts[:cut])}")
            return found
    return LookupError(f"{dotted}: not installed")


def is_checked(dotted: str | None) -> bool:
    return dotted is not None and dotted.partition(".")[0] in CHECKED


def _imports(module: Module) -> Iterator[str]:
    for node in module.names.imports:
        names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            names = [] if node.level or names == ["*"] else [f"{node.module}.{name}" for name in names]
        yield from (problem for name in names if is_checked(name) for problem in _missing(name, node))


def _missing(dotted: str, node: ast.AST) -> Iterator[str]:
    try:
        find(dotted)
    except LookupError as error:
        yield f"line {node.lineno}: {error}"  # type: ignore[attr-defined]


def _attributes(module: Module) -> Iterator[str]:
    for node in module.names.attributes:
        dotted = module.resolve(node)
        if is_checked(dotted):
            assert dotted is not None
            yield from _missing(dotted, node)
        else:
            kind = instance_of(module, node.value)
            if kind is not None and hasattr(kind, "__dataclass_fields__") and isinstance(node.ctx, ast.Load):
                if node.attr not in kind.__dataclass_fields__ and not hasattr(kind, node.attr):
                    yield f"line {node.lineno}: {kind.__name__} has no {node.attr}"


# Calls --------------------------------------------------------------------------------------------------------------


def _calls(module: Module) -> Iterator[str]:
    for call in module.calls:
        target = callee(module, call)
        if target is None:
            continue
        name = getattr(target, "__qualname__", repr(target))
        try:
            signature = inspect.signature(target)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            continue
        problem = misfit(signature, call) or unknown_loading_keyword(target, call)
        if problem:
            yield f"line {call.lineno}: {name}: {problem}"


def callee(module: Module, call: ast.Call) -> object:
    """What a call calls, if it is something of the checked packages."""
    function = call.func
    dotted = module.resolve(function)
    if is_checked(dotted):
        try:
            return find(dotted or "")
        except LookupError:
            return None  # reported as a missing name
    if isinstance(function, ast.Name):
        kind = local_class(module, function)
        return kind if kind is not None and not _has_own(module, function, "__init__") else None
    if isinstance(function, ast.Attribute):
        return _method(module, function)
    return None


def _method(module: Module, function: ast.Attribute) -> object:
    if isinstance(function.value, ast.Call) and ast.unparse(function.value.func) == "super":
        owner = next((node for node in module.ancestors(function) if isinstance(node, ast.ClassDef)), None)
        kind = _base(module, owner) if owner is not None else None
    else:
        kind = instance_of(module, function.value)
    method = getattr(kind, function.attr, None)
    # A bound stand-in: the signature without self.
    return method.__get__(object()) if inspect.isfunction(method) else None


def instance_of(module: Module, node: ast.AST) -> type | None:
    """The class of a variable that holds what a class of the checked packages made."""
    binding = module.binding(node) if isinstance(node, ast.Name) else None
    if binding is None or not isinstance(binding.value, ast.Call) or not isinstance(binding.node, ast.Name):
        return None
    made = binding.value.func
    dotted = module.resolve(made)
    if is_checked(dotted):
        try:
            kind = find(dotted or "")
        except LookupError:
            return None
        return kind if isinstance(kind, type) else None
    return None


def local_class(module: Module, name: ast.Name) -> type | None:
    """The checked class from which a class of the script itself derives."""
    binding = module.binding(name)
    return _base(module, binding.node) if binding is not None and isinstance(binding.node, ast.ClassDef) else None


def _base(module: Module, definition: ast.ClassDef) -> type | None:
    for base in definition.bases:
        dotted = module.resolve(base)
        if is_checked(dotted):
            try:
                kind = find(dotted or "")
            except LookupError:
                return None
            return kind if isinstance(kind, type) else None
    return None


def _has_own(module: Module, name: ast.Name, method: str) -> bool:
    binding = module.binding(name)
    assert binding is not None
    definition = binding.node
    assert isinstance(definition, ast.ClassDef)
    if any(
        ast.unparse(decorator).startswith(("dataclass", "dataclasses.")) for decorator in definition.decorator_list
    ):
        return True
    return any(isinstance(item, ast.FunctionDef) and item.name == method for item in definition.body)


def misfit(signature: inspect.Signature, call: ast.Call) -> str | None:
    """Why a call cannot be bound to a signature, or None."""
    named = [item.arg for item in call.keywords if item.arg is not None]
    if len(set(named)) != len(named):
        return "a keyword twice"
    positional = [argument for argument in call.args if not isinstance(argument, ast.Starred)]
    is_open = len(positional) != len(call.args) or len(named) != len(call.keywords)
    try:
        bind = signature.bind_partial if is_open else signature.bind
        bind(*positional, **dict.fromkeys(named))
    except TypeError as error:
        return str(error)
    return None


def unknown_loading_keyword(target: object, call: ast.Call) -> str | None:
    """A keyword of ``from_pretrained`` that neither the loader of models knows nor any configuration."""
    owner = getattr(target, "__self__", None)
    if getattr(target, "__name__", "") != "from_pretrained" or not isinstance(owner, type) or not _loads_models(owner):
        return None
    unknown = [item.arg for item in call.keywords if item.arg is not None and item.arg not in _loading_keywords()]
    return f"unknown keywords {unknown}" if unknown else None


def _loads_models(kind: type) -> bool:
    return kind.__name__.startswith("AutoModel") or issubclass(kind, find("transformers.PreTrainedModel"))  # type: ignore


@cache
def _loading_keywords() -> frozenset[str]:
    """What ``PreTrainedModel.from_pretrained`` names or takes out of its keywords, and what configurations hold."""
    loader = find("transformers.PreTrainedModel").from_pretrained  # type: ignore[attr-defined]
    auto = find("transformers.models.auto.auto_factory._BaseAutoModelClass").from_pretrained  # type: ignore[attr-defined]
    names = set(inspect.signature(loader).parameters)
    for function in (loader, auto):
        names |= set(re.findall(r"""kwargs\.(?:pop|get)\(\s*["'](\w+)["']""", inspect.getsource(function)))
    configuration = find("transformers.LlamaConfig")()  # type: ignore[operator]
    return frozenset(names | {name for name in dir(configuration) if not callable(getattr(configuration, name, None))})
