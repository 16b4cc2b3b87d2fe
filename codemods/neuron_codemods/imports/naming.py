"""Under which name code reaches a native object, and whether a name may change."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath

from neuron_codemods.module import Module, once
from neuron_codemods.scopes import BUILTINS, Binding, Scope


def split(native: str) -> tuple[str, str]:
    """The module and the name of ``transformers.Trainer``."""
    module, _, name = native.rpartition(".")
    return module, name


def local_name(module: Module, native: str) -> str:
    """The name under which new code at any place of this module reaches a native object."""
    existing = existing_import(module, native)
    if existing is not None:
        return existing.name
    name = split(native)[1]
    if name not in module.names.bound or any(_names(module, binding, native) for binding in module.neuron_bindings):
        return name
    return f"Native{name}" if name[:1].isupper() else f"native_{name}"


def _names(module: Module, binding: Binding, native: str) -> bool:
    symbol = module.symbol(binding.qualified)
    return symbol is not None and symbol.native == native and binding.name == split(native)[1]


def existing_import(module: Module, native: str) -> Binding | None:
    """The import of a native object that holds for the whole module, if there is one."""
    return module.top_imports.get(native)


@once
def is_taken(module: Module, plain: str) -> bool:
    """Whether the name of a module (``torch``) is only that of something else here, or of another import as well."""
    if "." in plain or plain not in module.names.bound:
        return False
    bindings = [each for scope in module.names.module.walk() for each in scope.bindings.get(plain, ())]
    others = [each for each in bindings if each.qualified != plain]
    return len(others) == len(bindings) or any(each.is_import for each in others)


def must_keep_name(module: Module, binding: Binding) -> str | None:
    """Why the name that an import binds has to stay, or None when all its uses can be renamed."""
    symbol = module.symbol(binding.qualified)
    others = _renamed_to(module, binding.scope, binding.name) - Counter((_rename(module, binding),))
    if any(symbol is None or not rename or rename != symbol.rename for rename in others):
        return f"{binding.name} is also defined here"
    return why_wanted(module, binding)


def is_unused(module: Module, binding: Binding) -> bool:
    """Whether an import can go: nothing uses its name, which at most other imports bind as well."""
    alone = all(other.is_import for other in others(binding))
    return alone and not any(module.references(binding)) and why_wanted(module, binding) is None


def is_exported(module: Module, binding: Binding) -> bool:
    """Whether ``__all__`` holds the name of an import."""
    return binding.scope.is_module and binding.name in module.names.exported


def why_wanted(module: Module, binding: Binding) -> str | None:
    """Why the name that an import binds may be used where a renaming cannot reach."""
    name = binding.name
    if is_exported(module, binding):
        return f"__all__ exports {name}"
    if binding.scope.is_module:
        if module.project.is_taken(module.path, name):
            return f"another file imports {name} from here"
        if PurePath(module.path).name == "__init__.py" and not any(module.references(binding)):
            return f"{name} is passed on by the package"
    if binding.scope.is_class:
        return f"{name} is an attribute of the class"
    if name in module.names.moved:
        return f"{name} is declared global or nonlocal"
    if not all(module.is_placed(reference.node) for reference in module.references(binding)):
        return f"{name} is used inside of a string"
    if is_read_by_class(module, binding):
        return f"a class reads {name} and defines it"
    return None


def others(binding: Binding) -> list[Binding]:
    """What else the name of an import is bound to in its scope."""
    return [other for other in binding.scope.bindings[binding.name] if other is not binding]


def deletions(binding: Binding) -> list[ast.stmt]:
    """The statements ``del name`` that go with the import of the name."""
    deleted = (other.statement for other in others(binding) if isinstance(getattr(other.node, "ctx", None), ast.Del))
    return [node for node in deleted if isinstance(node, ast.Delete) and len(node.targets) == 1]


def is_read_by_class(module: Module, binding: Binding) -> bool:
    """Whether a class body may see an import under a name that it binds as well: ``Old = Old``."""
    references = (reference for reference in module.names.references.get(binding.name, ()) if reference.scope.is_class)
    return any(
        binding.name in reference.scope.bindings and reference.scope.outer_home(binding.name) is binding.scope
        for reference in references
    )


@once
def _renamed_to(module: Module, scope: Scope, name: str) -> Counter[str]:
    """What the imports and definitions of a name are renamed to, and how many of them; "" for what keeps the name."""
    return Counter(_rename(module, each) for each in scope.bindings[name] if not isinstance(each.node, ast.Name))


@once
def assigned(_: Module, scope: Scope, name: str) -> list[ast.Name]:
    """Where a name gets a value other than by an import or a definition."""
    return [each.node for each in scope.bindings[name] if isinstance(each.node, ast.Name)]


def _rename(module: Module, binding: Binding) -> str:
    symbol = module.symbol(binding.qualified)
    has_alias = not isinstance(binding.node, ast.alias) or binding.node.asname is not None
    return "" if symbol is None or has_alias else symbol.rename


def is_free(module: Module, binding: Binding, name: str, native: str) -> bool:
    """Whether the uses of a binding can be called ``name`` without meeting another thing of that name."""
    if name in module.names.declared:
        return False
    if name not in module.names.bound:
        return name not in module.names.references and name not in BUILTINS
    if not all(_becomes(module, other, native) for other in others(binding)):
        return not any(name in scope.bindings for scope in module.names.module.walk())
    if name in BUILTINS or any(item.scope.home(name) is None for item in module.names.references.get(name, ())):
        return False
    return all(is_before and _becomes(module, other, native) for other, is_before in _met(module, binding, name))


def _becomes(module: Module, other: Binding, native: str) -> bool:
    if not other.is_import or other.qualified is None:
        return False
    if other.qualified == native:
        return True
    symbol = module.symbol(other.qualified)
    return symbol is not None and symbol.native == native and other.name == split(native)[1]


def _met(module: Module, binding: Binding, name: str) -> Iterator[tuple[Binding, bool]]:
    """What the uses of a binding would meet under another name, and whether that is bound before the use."""
    if name not in module.names.bound:
        return
    for reference in module.references(binding):
        scope: Scope | None = reference.scope
        while scope is not None and scope is not binding.scope:
            for other in scope.bindings.get(name, ()):
                yield other, other.statement.lineno < reference.node.lineno
            scope = scope.parent
    home = binding.scope.home(name)
    for scope in {binding.scope, home} - {None}:
        yield from ((other, True) for other in scope.bindings.get(name, ()))  # type: ignore[union-attr]


def module_name(module: Module, binding: Binding, native_module: str) -> str:
    """The dotted name of a native module, or another one where its first part means something else."""
    root = native_module.partition(".")[0]
    if all(
        is_before and other.qualified == root and isinstance(other.statement, ast.Import)
        for other, is_before in _met(module, binding, root)
    ):
        return native_module
    return f"native_{split(native_module)[1]}"
