"""In which precision a script loads what it trains, and whether its trainer may run in bf16."""

from __future__ import annotations

import ast

from neuron_codemods.module import Module, once
from neuron_codemods.training.parallel import Load, loads
from neuron_codemods.values import Arguments, all_arguments, constant, keyword, literal, trainers

DTYPES = ("dtype", "torch_dtype")


def held(module: Module, node: ast.expr) -> ast.expr:
    """What a variable that is bound once holds, or the expression itself."""
    if isinstance(node, ast.Name):
        binding = module.binding(node)
        if binding is not None and binding.value is not None and len(binding.scope.bindings[binding.name]) == 1:
            return binding.value
    return node


def may_be_half(module: Module, node: ast.expr) -> bool:
    """Whether a dtype is not plainly float32."""
    return module.resolve(node) != "torch.float32" and literal(node) not in ("float32", None)


def is_bf16(module: Module, node: ast.expr) -> bool:
    """Whether a dtype is plainly bf16."""
    return module.resolve(node) == "torch.bfloat16" or literal(node) == "bfloat16"


def is_understood(module: Module, node: ast.expr) -> bool:
    """Whether an expression is plainly bf16, or bf16 or fp32 as a flag says."""
    if isinstance(node, ast.IfExp):
        branches = (node.body, node.orelse)
        return all(is_understood(module, branch) or not may_be_half(module, branch) for branch in branches)
    return is_bf16(module, node) or literal(node) == "auto"


def may_use_bf16(module: Module) -> bool:
    """Whether the arguments of a module may say bf16=True."""
    made = all_arguments(module)
    given = [item.value("bf16") for item in made]
    return any(item.is_parsed for item in made) or any(
        value is not None and constant(module, value) is not False for value in given
    )


@once
def only_scores(module: Module) -> bool:
    """Whether a module runs a training model forward only: it makes no trainer and asks for no gradients."""
    read = {attribute.attr for attribute in module.names.attributes}
    return not trainers(module) and "backward" not in read and not read.isdisjoint(("no_grad", "inference_mode"))


def is_bf16_by_weights(module: Module, load: Load) -> bool:
    """Whether a model that is trained whole was loaded in bf16 whatever the arguments say."""
    given = keyword(load.call, *DTYPES)
    return load.is_trained and not load.is_lora and given is not None and is_bf16(module, held(module, given.value))


def must_say_bf16(module: Module, made: Arguments) -> bool:
    """Whether arguments that are silent about bf16 must ask for it: the weights were bf16, and are float32 now."""
    return (
        not (made.is_parsed or made.unread)
        and not made.has("bf16", "fp16")
        and any(is_bf16_by_weights(module, load) for load in loads(module))
    )
