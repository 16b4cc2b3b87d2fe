"""Which training configurations only feed what is rewritten anyway, so that they can go with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from neuron_codemods.module import Module, once
from neuron_codemods.scopes import Binding
from neuron_codemods.training.accelerators import plugins
from neuron_codemods.training.parallel import Load, loads, sizes_at

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


@once
def moved_configs(module: Module) -> list[MovedConfig]:
    """The configurations whose sizes all move to where the model is loaded, to an accelerator or to the launch."""
    taken = _taken(module)
    found: dict[ast.Assign, MovedConfig] = {}
    for name in taken:
        binding = module.binding(name)
        if binding is None or not isinstance(binding.statement, ast.Assign) or len(binding.statement.targets) != 1:
            continue
        moved = _moved(module, binding, taken)
        if moved is not None:
            found.setdefault(moved.statement, moved)
    return sorted(found.values(), key=lambda moved: moved.statement.lineno)


@once
def _taken(module: Module) -> set[ast.Name]:
    """The names in what takes a configuration."""
    return {node for given in _given(module) for node in ast.walk(given) if isinstance(node, ast.Name)}


def _given(module: Module) -> Iterator[ast.AST]:
    """What takes a configuration and is rewritten: model loads and accelerators."""
    yield from (load.config for load in loads(module) if load.config is not None)
    split = split_load(module)
    for given in plugins(module):
        if split is None or sizes_above(module, split, module.statement(given)) is not None:
            yield given


def sharded_load(module: Module) -> Load | None:
    """The first load of a model that is sharded."""
    return next((load for load in loads(module) if load.is_sharded), None)


def split_load(module: Module) -> Load | None:
    """The load of a model that tensor parallelism splits, so that an accelerator has to know the sizes."""
    load = sharded_load(module)
    return None if load is None or load.is_lora or load.size.known == 1 else load


def sizes_above(module: Module, load: Load, statement: ast.stmt) -> str | None:
    """The parallel sizes for a line above a statement that makes an accelerator, or None where none can be had."""
    return sizes_at(module, load, statement) if _can_hold_lines(module, statement) else None


def _can_hold_lines(module: Module, statement: ast.stmt) -> bool:
    """Whether lines above a statement are run as often as the call in it."""
    kinds = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return, ast.With, ast.If, ast.For, ast.Assert)
    is_once = isinstance(statement, kinds) and not module.is_elif(statement)
    return is_once and not isinstance(module.parent(statement), ast.ClassDef)


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


@dataclass(frozen=True, eq=False)
class ConfigParameter:
    """A parameter that only carries a configuration to a model load, with what each call gives for it."""

    function: ast.FunctionDef
    parameter: ast.arg
    given: tuple[tuple[ast.Call, ast.expr | ast.keyword], ...]


def config_parameters(module: Module) -> Iterator[ConfigParameter]:
    """The parameters that nothing needs any more, of functions all of whose calls are in this file."""
    taken = _taken(module)
    seen: set[ast.AST] = set()
    for name in taken:
        binding = module.binding(name)
        if binding is None or not isinstance(binding.node, ast.arg) or binding.node in seen:
            continue
        seen.add(binding.node)
        if all(reference.node in taken for reference in module.references(binding)):
            found = _carried(module, binding.node)
            if found is not None:
                yield found


def carriers(module: Module) -> Iterator[tuple[str, str, int]]:
    """The functions at the top of a file with a parameter that only carries a configuration to a model load."""
    taken = _taken(module)
    for name in taken:
        binding = module.binding(name)
        if binding is None or not isinstance(binding.node, ast.arg):
            continue
        function = module.parent(binding.node)
        function = module.parent(function) if function is not None else None
        if isinstance(function, ast.FunctionDef) and module.parent(function) is module.source.tree:
            names = [*function.args.posonlyargs, *function.args.args]
            if binding.node in names and all(item.node in taken for item in module.references(binding)):
                yield function.name, binding.node.arg, names.index(binding.node)


def _carried(module: Module, parameter: ast.arg) -> ConfigParameter | None:
    function = next((above for above in module.ancestors(parameter) if isinstance(above, ast.FunctionDef)), None)
    if function is None:
        return None
    names = [*function.args.posonlyargs, *function.args.args]
    if parameter not in names or (function.args.defaults and parameter in names[-len(function.args.defaults) :]):
        return None
    calls = _calls(module, function)
    if not calls:
        return None
    given = []
    for call, offset in calls:
        argument = _argument(call, names.index(parameter) - offset, parameter.arg)
        if argument is None or not _is_moved(module, argument):
            return None
        given.append((call, argument))
    return ConfigParameter(function, parameter, tuple(given))


def _calls(module: Module, function: ast.FunctionDef) -> list[tuple[ast.Call, int]]:
    """All calls of a function, with how many parameters are bound already; nothing where they are not all in sight."""
    above = module.parent(function)
    if above is module.source.tree and not function.decorator_list:
        own = module.names.module.bindings.get(function.name, [])
        if len(own) != 1 or module.is_offered(function.name):
            return []
        nodes: list[ast.expr] = [reference.node for reference in module.references(own[0])]
        offset = 0
    elif isinstance(above, ast.ClassDef) and not module.project.is_taken(module.path, above.name):
        kinds = [item.id for item in function.decorator_list if isinstance(item, ast.Name)]
        if len(kinds) != len(function.decorator_list) or not set(kinds) <= {"staticmethod", "classmethod"}:
            return []
        nodes = [node for node in module.names.attributes if node.attr == function.name]
        if not all(_is_own(module, node, above) for node in nodes):
            return []
        offset = 0 if "staticmethod" in kinds else 1
    else:
        return []
    calls = [module.parent(node) for node in nodes]
    if not all(isinstance(call, ast.Call) and call.func is node for call, node in zip(calls, nodes, strict=True)):
        return []
    return [(call, offset) for call in calls if isinstance(call, ast.Call)]


def _is_own(module: Module, node: ast.expr, definition: ast.ClassDef) -> bool:
    """Whether a method is asked of ``self``, ``cls`` or the class itself."""
    base = node.value if isinstance(node, ast.Attribute) else None
    if not isinstance(base, ast.Name):
        return False
    if base.id in ("self", "cls"):
        return any(above is definition for above in module.ancestors(node))
    binding = module.binding(base)
    return binding is not None and binding.node is definition


def _argument(call: ast.Call, index: int, name: str) -> ast.expr | ast.keyword | None:
    if any(isinstance(item, ast.Starred) for item in call.args) or any(item.arg is None for item in call.keywords):
        return None
    if index < len(call.args):
        # What follows by position would take its place.
        return call.args[index]
    return next((item for item in call.keywords if item.arg == name), None)


def _is_moved(module: Module, argument: ast.expr | ast.keyword) -> bool:
    """Whether an argument does nothing but tell the sizes, so that it can go."""
    value = argument.value if isinstance(argument, ast.keyword) else argument
    return (isinstance(value, ast.Attribute) and value.attr == "trn_config") or is_training_config(module, value)
