"""Which training configurations only feed what is rewritten anyway, so that they can go with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from neuron_codemods.module import Module
from neuron_codemods.scopes import Binding
from neuron_codemods.training.accelerators import plugins
from neuron_codemods.training.parallel import loads

CONFIG_CLASSES = frozenset({"TrainingNeuronConfig", "ModelParallelismPlugin", "TensorParallelismPlugin"})
REPLACED = frozenset(
    {
        *("tensor_parallel_size", "data_parallel_size", "pipeline_parallel_size"),
        *("should_parallelize", "model_parallelism_enabled"),
    }
)
"""The attributes of a configuration that can be read from the parallel sizes."""


@dataclass(frozen=True, eq=False)
class MovedConfig:
    """A configuration in a variable, every use of which is rewritten."""

    statement: ast.Assign
    call: ast.Call | None
    """The call that makes it; None for ``training_args.trn_config``."""
    reads: tuple[ast.Attribute, ...]
    """The uses that ask for a size."""


def moved_configs(module: Module) -> list[MovedConfig]:
    """The configurations whose sizes all move to where the model is loaded, to an accelerator or to the launch."""
    taken = {node for given in _given(module) for node in ast.walk(given) if isinstance(node, ast.Name)}
    found: dict[ast.Assign, MovedConfig] = {}
    for name in taken:
        binding = module.binding(name)
        if binding is None or not isinstance(binding.statement, ast.Assign) or len(binding.statement.targets) != 1:
            continue
        moved = _moved(module, binding, taken)
        if moved is not None:
            found.setdefault(moved.statement, moved)
    return sorted(found.values(), key=lambda moved: moved.statement.lineno)


def _given(module: Module) -> Iterator[ast.AST]:
    """What takes a configuration and is rewritten: model loads and accelerators."""
    yield from (load.config for load in loads(module) if load.config is not None)
    yield from plugins(module)


def _moved(module: Module, binding: Binding, taken: set[ast.Name]) -> MovedConfig | None:
    statement = binding.statement
    assert isinstance(statement, ast.Assign)
    value = statement.value
    is_made = is_training_config(module, value)
    if not is_made and not (isinstance(value, ast.Attribute) and value.attr == "trn_config"):
        return None
    reads = []
    for reference in module.references(binding):
        above = module.parent(reference.node)
        if reference.node in taken:
            continue
        if not (isinstance(above, ast.Attribute) and above.attr in REPLACED and module.is_placed(above)):
            return None
        if not isinstance(above.ctx, ast.Load):
            return None
        reads.append(above)
    return MovedConfig(statement, value if is_made and isinstance(value, ast.Call) else None, tuple(reads))


def inline_configs(module: Module) -> Iterator[ast.Call]:
    """The calls that make a configuration inside of what takes it: ``NeuronAccelerator(trn_config=Config(...))``."""
    for given in _given(module):
        value = given.value if isinstance(given, ast.keyword) else given
        if is_training_config(module, value):
            assert isinstance(value, ast.Call)
            yield value


def is_training_config(module: Module, value: ast.AST) -> bool:
    """Whether an expression makes a ``TrainingNeuronConfig`` or one of the plugins before it."""
    symbol = module.symbol(module.resolve(value.func)) if isinstance(value, ast.Call) else None
    return symbol is not None and symbol.name in CONFIG_CLASSES
