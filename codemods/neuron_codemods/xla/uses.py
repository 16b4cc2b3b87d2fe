"""Where a module uses names of the XLA stack, with their rows of the table."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from neuron_codemods.edits import EraseAttribute
from neuron_codemods.module import Module, once
from neuron_codemods.scopes import Binding, Reference
from neuron_codemods.xla import evidence, table
from neuron_codemods.xla.table import Name


@dataclass(frozen=True, eq=False)
class Use:
    """One use of a name of the XLA stack."""

    row: Name
    node: ast.Name | ast.Attribute
    """The expression that stands for the name: ``xm.mark_step``."""
    erases: tuple[EraseAttribute, ...]
    """What to ask for when the use goes: the import goes with the last one."""

    @property
    def symbol(self) -> str:
        return self.row.symbol if self.row.symbol != "*" else _last(self.node)


def _length(chain: ast.expr) -> int:
    """How many attributes stand behind the name that a chain begins with."""
    return 1 + _length(chain.value) if isinstance(chain, ast.Attribute) else 0


def _last(node: ast.Name | ast.Attribute) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id


def of_rule(module: Module, code: str) -> Iterator[Use]:
    """The uses that one rule knows what to do with; none where the rules of this room are off."""
    return (use for use in all_uses(module) if use.row.rule == code)


def calls(module: Module, code: str) -> Iterator[tuple[Use, ast.Call]]:
    """The uses of a rule that are called."""
    for use in of_rule(module, code):
        call = called(module, use)
        if call is not None:
            yield use, call


def called(module: Module, use: Use) -> ast.Call | None:
    """The call of a name, if the use is one and its place is known."""
    above = module.parent(use.node)
    if isinstance(above, ast.Call) and above.func is use.node and module.is_placed(use.node):
        return above
    return None


@once
def all_uses(module: Module) -> tuple[Use, ...]:
    """Every use of a name that the table knows, in the order of places."""
    if not evidence.is_on(module):
        return ()
    found: dict[ast.AST, Use] = {}
    for binding in bindings(module):
        for reference in module.references(binding):
            use = _use(module, reference)
            if use is not None:
                found.setdefault(use.node, use)
    return tuple(sorted(found.values(), key=lambda use: (use.node.lineno, use.node.col_offset)))


def _use(module: Module, reference: Reference) -> Use | None:
    qualified = module.resolve(reference.node)
    if qualified is None or not table.is_stack(qualified):
        return None
    node: ast.Name | ast.Attribute = reference.node
    chain = module.dotted(reference)
    found = table.find(module.resolve(chain) or qualified)
    if found is None:
        return None
    row, rest = found
    node = chain
    if row.symbol == "*":
        # The name is what stands behind the module of the row; what comes behind that is its own affair.
        extra = len((module.resolve(chain) or qualified).split(".")) - len(row.module.split(".")) - 1
        rest = ("",) * max(extra, 0)
    for _ in rest[: _length(chain)]:
        assert isinstance(node, ast.Attribute)
        assert isinstance(node.value, (ast.Attribute, ast.Name))
        node = node.value
    return Use(row, node, tuple(EraseAttribute(item, node) for item in _imports_of(module, reference)))


def _imports_of(module: Module, reference: Reference) -> Iterator[Binding]:
    """All imports that may have bound a name: ``import torch_xla`` and ``import torch_xla.runtime`` bind the same."""
    home = reference.scope.home(reference.name)
    for binding in home.bindings[reference.name] if home is not None else ():
        if binding.is_import and is_stack_import(binding):
            yield binding


def is_stack_import(binding: Binding) -> bool:
    """Whether an import is one of the XLA stack."""
    return binding.qualified is not None and table.is_stack(binding.qualified)


@once
def bindings(module: Module) -> tuple[Binding, ...]:
    """Every import of the XLA stack, in every scope."""
    return tuple(
        binding
        for scope in module.names.module.walk()
        for group in scope.bindings.values()
        for binding in group
        if binding.is_import and is_stack_import(binding)
    )
