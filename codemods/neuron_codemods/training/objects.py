"""What an expression of a training script holds: one of the objects that the table of keywords has members of."""

from __future__ import annotations

import ast

from neuron_codemods.derivation import enclosing_kind, kind_of
from neuron_codemods.module import Module, once
from neuron_codemods.training.accelerators import ACCELERATOR
from neuron_codemods.values import ARGUMENT_CLASSES, TRAINER_CLASSES, arguments_of, is_neuron, literal, trainers

TRAINER = "trainer"
ARGUMENTS = "training_arguments"
MODEL = "training_model"
ADAPTERS = "peft_model"
CONFIG = "training_config"
_CONFIGS = frozenset({"TrainingNeuronConfig", "ModelParallelismPlugin", "TensorParallelismPlugin"})
_LONGEST_CHAIN = 8


def owner(module: Module, node: ast.AST) -> str | None:
    """The owner, as the table of keywords calls it, of what an expression holds; None for anything else."""
    return _owner(module, node, _LONGEST_CHAIN)


def _owner(module: Module, node: ast.AST | None, left: int) -> str | None:
    if node is None or not left:
        return None
    arguments = arguments_of(module, node)
    if arguments is not None:
        return ARGUMENTS if arguments.is_neuron else None
    if _is_offered(module, node, left):
        return ARGUMENTS
    if isinstance(node, ast.Call):
        return _made(module, node, left)
    if isinstance(node, ast.Attribute) and node.attr == "args" and _owner(module, node.value, left - 1) == TRAINER:
        return ARGUMENTS
    if isinstance(node, ast.Attribute):
        found = {_owner(module, value, left - 1) for value in kept_in_self(module, node)}
        return found.pop() if len(found) == 1 else None
    if not isinstance(node, ast.Name):
        return None
    if node.id == "self" and (kind := enclosing_kind(module, node, TRAINER_CLASSES)) is not None:
        return TRAINER if kind.is_neuron else None
    binding = module.binding(node)
    if binding is None:
        return None
    if isinstance(binding.node, ast.arg):
        return _annotated(module, binding.node.annotation)
    return _owner(module, binding.value or _unpacked(module, binding.node, binding.statement), left - 1)


def _is_offered(module: Module, node: ast.AST, left: int, form: str = "") -> bool:
    """Whether an expression, with this behind it, is training arguments that another file of the project makes."""
    if isinstance(node, ast.Subscript) and not form:
        return _is_offered(module, node.value, left, f"[{literal(node.slice)}]")
    if isinstance(node, ast.Call):
        return module.project.offers(module.resolve(node.func) or "", f"(){form}")
    if module.project.offers(module.resolve(node) or "", form):
        return True
    binding = module.binding(node) if isinstance(node, ast.Name) else None
    if binding is None or not left:
        return False
    if binding.value is not None:
        return _is_offered(module, binding.value, left - 1, form)
    pack = module.parent(binding.node)
    if form or not isinstance(pack, (ast.Tuple, ast.List)) or not isinstance(binding.statement, ast.Assign):
        return False
    index = pack.elts.index(binding.node)  # type: ignore[arg-type]
    return _is_offered(module, binding.statement.value, left - 1, f"[{index}]")


def _made(module: Module, call: ast.Call, left: int) -> str | None:
    """What a call makes."""
    kind = trainers(module).get(call)
    if kind is not None:
        return TRAINER if kind.is_neuron else None
    symbol = module.symbol(module.resolve(call.func))
    if symbol is not None:
        if symbol.name in _CONFIGS:
            return CONFIG
        if symbol.native == ACCELERATOR:
            return "accelerator"
        if symbol.category == "peft":
            return ADAPTERS
        if symbol.category == "model-training" and symbol.rename.startswith("transformers."):
            return MODEL
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    prepares = method in ("patch_model_for_neuron", "prepare_model") or (method == "prepare" and len(call.args) == 1)
    return _owner(module, call.args[0], left - 1) if prepares and call.args else None


def _annotated(module: Module, annotation: ast.expr | None) -> str | None:
    """What the annotation of a parameter says that it holds."""
    if annotation is None or not is_neuron(module, annotation):
        return None
    if kind_of(module, annotation, TRAINER_CLASSES) is not None:
        return TRAINER
    if kind_of(module, annotation, ARGUMENT_CLASSES) is not None:
        return ARGUMENTS
    symbol = module.symbol(module.resolve(annotation))
    if symbol is None:
        return None
    if symbol.name in _CONFIGS:
        return CONFIG
    return "accelerator" if symbol.native == ACCELERATOR else None


def kept_in_self(module: Module, node: ast.Attribute) -> list[ast.expr]:
    """What the methods of a class assign to ``self.x``."""
    if not (isinstance(node.value, ast.Name) and node.value.id == "self"):
        return []
    owner_class = next((above for above in module.ancestors(node) if isinstance(above, ast.ClassDef)), None)
    return _assigned(module).get((owner_class, node.attr), [])


@once
def _assigned(module: Module) -> dict[tuple[ast.ClassDef | None, str], list[ast.expr]]:
    table: dict[tuple[ast.ClassDef | None, str], list[ast.expr]] = {}
    for statement in module.names.statements:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                    if target.value.id == "self":
                        above = (item for item in module.ancestors(statement) if isinstance(item, ast.ClassDef))
                        table.setdefault((next(above, None), target.attr), []).append(statement.value)
    return table


def _unpacked(module: Module, target: ast.AST, statement: ast.stmt) -> ast.expr | None:
    """For a name in ``a, b = accelerator.prepare(x, y)``: the argument at its place."""
    pack = module.parent(target)
    if not isinstance(pack, (ast.Tuple, ast.List)) or not isinstance(statement, ast.Assign):
        return None
    call = statement.value
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "prepare":
        index = pack.elts.index(target)  # type: ignore[arg-type]
        if len(call.args) == len(pack.elts) and not any(isinstance(item, ast.Starred) for item in call.args):
            return call.args[index]
    return None
