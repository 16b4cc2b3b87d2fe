"""What a script takes from the libraries: names that must exist there, and calls that must fit.

Nothing is imported: the script is read, and names are followed through its imports, variables and base classes.
Whether what was found exists is for somebody to say who has the libraries.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from neuron_codemods.module import Module

LIBRARIES = (
    "accelerate",
    "datasets",
    "diffusers",
    "huggingface_hub",
    "neuron_shim",
    "peft",
    "sentence_transformers",
    "transformers",
    "trl",
)
"""The packages whose names and calls are looked at."""


@dataclass(frozen=True)
class Use:
    """One use of a library, in words that another process can look up."""

    line: int
    column: int
    end_line: int
    end_column: int
    dotted: str
    """A name of a library; for a method or an attribute, the class or function that made the object."""
    member: str = ""
    """The method that is called on what ``dotted`` made, or the attribute that is read of it."""
    called: bool = False
    positional: int = 0
    """How many arguments are given by their place."""
    keywords: tuple[str, ...] = ()
    open: bool = False
    """Whether there are more arguments than can be seen: ``*args`` or ``**options``."""


def library_uses(module: Module) -> list[Use]:
    """All of them, in no particular order."""
    return [*_imports(module), *_attributes(module), *_calls(module)]


def is_of_library(dotted: str | None) -> bool:
    """Whether a dotted name belongs to one of the libraries."""
    return dotted is not None and dotted.partition(".")[0] in LIBRARIES


def _use(module: Module, node: ast.AST, dotted: str, **more: object) -> Use:
    start, end = (module.source.position(offset) for offset in module.source.span(node))
    return Use(start.line, start.column, end.line, end.column, dotted, **more)  # type: ignore[arg-type]


def _imports(module: Module) -> Iterator[Use]:
    for node in module.names.imports:
        names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            names = [] if node.level or names == ["*"] else [f"{node.module}.{name}" for name in names]
        for alias, name in zip(node.names, names, strict=False):
            if is_of_library(name) and not _is_guarded(module, node):
                yield _use(module, alias, name)


def _is_guarded(module: Module, node: ast.AST) -> bool:
    """Whether the script is prepared for an import that fails."""
    return any(isinstance(above, ast.Try) for above in module.ancestors(node))


def _attributes(module: Module) -> Iterator[Use]:
    for node in module.names.attributes:
        dotted = module.resolve(node)
        if dotted is not None and is_of_library(dotted):
            yield _use(module, node, dotted)
            continue
        made = maker(module, node.value)
        if made is not None and isinstance(node.ctx, ast.Load):
            yield _use(module, node, made, member=node.attr)


def _calls(module: Module) -> Iterator[Use]:
    for call in module.calls:
        target = _callee(module, call)
        if target is None:
            continue
        dotted, member = target
        positional = [argument for argument in call.args if not isinstance(argument, ast.Starred)]
        named = tuple(item.arg for item in call.keywords if item.arg is not None)
        is_open = len(positional) != len(call.args) or len(named) != len(call.keywords)
        yield _use(
            module,
            call,
            dotted,
            member=member,
            called=True,
            positional=len(positional),
            keywords=named,
            open=is_open,
        )


def _callee(module: Module, call: ast.Call) -> tuple[str, str] | None:
    """What a call calls: a name of a library, or a method of what such a name made or is."""
    function = call.func
    dotted = module.resolve(function)
    if dotted is not None and is_of_library(dotted):
        return dotted, ""
    if isinstance(function, ast.Name):
        base = _derived_from(module, function)
        return (base, "") if base is not None else None
    if isinstance(function, ast.Attribute):
        owner = _owner(module, function)
        return (owner, function.attr) if owner is not None else None
    return None


def _owner(module: Module, function: ast.Attribute) -> str | None:
    if isinstance(function.value, ast.Call) and ast.unparse(function.value.func) == "super":
        owner = next((node for node in module.ancestors(function) if isinstance(node, ast.ClassDef)), None)
        return _base(module, owner) if owner is not None else None
    return maker(module, function.value)


def maker(module: Module, node: ast.AST) -> str | None:
    """The name of a library whose call made what a variable holds."""
    binding = module.binding(node) if isinstance(node, ast.Name) else None
    if binding is None or not isinstance(binding.value, ast.Call) or not isinstance(binding.node, ast.Name):
        return None
    dotted = module.resolve(binding.value.func)
    return dotted if is_of_library(dotted) else None


def _derived_from(module: Module, name: ast.Name) -> str | None:
    """The class of a library from which a class of the script derives without a constructor of its own."""
    binding = module.binding(name)
    if binding is None or not isinstance(binding.node, ast.ClassDef) or _makes_itself(binding.node):
        return None
    return _base(module, binding.node)


def _base(module: Module, definition: ast.ClassDef) -> str | None:
    resolved = (module.resolve(base) for base in definition.bases)
    return next((dotted for dotted in resolved if is_of_library(dotted)), None)


def _makes_itself(definition: ast.ClassDef) -> bool:
    decorators = (ast.unparse(decorator) for decorator in definition.decorator_list)
    if any(decorator.startswith(("dataclass", "dataclasses.")) for decorator in decorators):
        return True
    return any(isinstance(item, ast.FunctionDef) and item.name == "__init__" for item in definition.body)
