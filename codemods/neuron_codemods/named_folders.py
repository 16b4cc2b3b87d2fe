"""A variable that names a compiled folder and serves for nothing but loading from it: it names the model now."""

from __future__ import annotations

import ast

from neuron_codemods.module import Module


def folder_text(module: Module, folder: ast.expr | None) -> ast.Constant | None:
    """The text that a variable with a folder holds, where all its uses load what the folder held."""
    binding = module.binding(folder) if isinstance(folder, ast.Name) else None
    if binding is None or not isinstance(binding.value, ast.Constant) or len(binding.scope.bindings[binding.name]) > 1:
        return None
    is_offered = binding.scope.is_module and module.is_offered(binding.name)
    loaded = all(_is_loaded(module, reference.node) for reference in module.references(binding))
    return binding.value if loaded and not is_offered else None


def _is_loaded(module: Module, node: ast.AST) -> bool:
    call = module.parent(node)
    call = module.parent(call) if isinstance(call, ast.keyword) else call
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "from_pretrained"
