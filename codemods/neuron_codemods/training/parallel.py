"""Where a training script loads its model, and over how many cores: what several rules need to know.

A model that was parallelised by NeuronTrainer is now sharded where it is loaded, with a ``DistributedConfig``. The
sizes come from the launch line; what the script said stays as the default.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from neuron_codemods.derivation import Kind, called_kind, class_kind, kind_of
from neuron_codemods.module import Module, once
from neuron_codemods.renaming import attributes, imported, is_called_otherwise, star_uses
from neuron_codemods.scopes import Binding
from neuron_codemods.training.accelerators import plugins
from neuron_codemods.values import (
    ARGUMENT_CLASSES,
    TRAINER_CLASSES,
    Arguments,
    all_arguments,
    arguments_of,
    constant,
    is_neuron,
    is_parser,
    is_plain,
    keyword,
    literal,
    parsed_classes,
    passed,
    single_arguments,
    trainers,
    visible,
)

LAZY_LOAD = "lazy_load_for_parallelism"
LOADERS = ("from_pretrained", "from_config")
CAUSAL = "ForCausalLM"
_ANY_DECODER = "transformers.AutoModelForCausalLM"
"""What a class that is chosen as the script runs counts as, where it is given a ``trn_config``."""
_TRAINING_ARGUMENTS = re.compile(r"train(ing)?_arg(ument)?s")
"""Names of training arguments that were made elsewhere: they have no tensor_parallel_size natively."""
_MADE = ARGUMENT_CLASSES | TRAINER_CLASSES
_TRAINING = frozenset({"trainer", "training-args", "model-training", "distributed", "peft"})


@dataclass(frozen=True)
class Size:
    """A tensor parallel size: the text to write, or None where the launch line alone decides."""

    text: str | None
    known: object = None
    """The literal value, where there is one."""
    lost: str | None = None
    """What the script said where that cannot be written at the load."""

    @property
    def shown(self) -> str:
        """For a launch line."""
        return str(self.known) if isinstance(self.known, int) else "<size>"


@dataclass(frozen=True, eq=False)
class Load:
    """A call that loads or builds a model which is then trained."""

    call: ast.Call
    native: str
    """The native class."""
    is_training_class: bool
    """Whether it was a class of ``optimum.neuron.models.training``."""
    config: ast.expr | ast.keyword | None
    """The ``trn_config`` argument."""
    around: ast.With | None
    """The ``with lazy_load_for_parallelism(...)`` around it."""
    size: Size
    is_lora: bool
    is_trained: bool
    """Whether this is the model that is trained, and not one that is loaded beside it (to merge, to compare)."""
    is_sharded: bool
    """Whether the model gets a ``distributed_config``."""
    model_id: str | None = None
    """The text of the model id, where writing it twice does not compute it twice."""


@once
def loads(module: Module) -> tuple[Load, ...]:
    """The model loads of a module that trains with Optimum Neuron."""
    if not trains(module):
        return ()
    return tuple(_loads(module))


@once
def trains(module: Module) -> bool:
    """Whether a module has to do with training on Optimum Neuron: it uses a class or function of that side."""
    if not module.uses_neuron:
        return False
    used = [symbol for _, symbol in imported(module)]
    used += [symbol for _, _, symbol in (*attributes(module), *star_uses(module))]
    if any(symbol.category in _TRAINING for symbol in used):
        return True
    return any(kind is not None and kind.is_neuron for kind in _made(module))


def _made(module: Module) -> Iterator[Kind | None]:
    """The trainers and arguments that a module makes, derives from or gives to a parser."""
    for call in module.calls:
        yield called_kind(module, call, _MADE)
        if is_parser(module, call):
            yield from (kind_of(module, node, ARGUMENT_CLASSES) for node in parsed_classes(module, call))
    for statement in module.names.statements:
        if isinstance(statement, ast.ClassDef):
            yield class_kind(module, statement, _MADE)


@once
def uses_lora(module: Module) -> bool:
    """Whether a module trains adapters with PEFT.

    A configuration that is made and that no trainer of the module is given makes none.
    """
    configs = []
    for call in module.calls:
        native = module.native(call.func) or ""
        if native.startswith("peft."):
            if native.endswith("get_peft_model"):
                return True
            if native.endswith("Config"):
                configs.append(call)
    for call in trainers(module):
        given = keyword(call, "peft_config")
        if given is not None and constant(module, given.value) is not None:
            return True
    return any(not trainers(module) or not _is_forgotten(module, call) for call in configs)


def _is_forgotten(module: Module, call: ast.Call) -> bool:
    """Whether the result of a call is assigned to a variable that nothing reads."""
    statement = module.parent(call)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return False
    binding = module.binding(statement.targets[0])
    return binding is not None and binding.value is call and not any(module.references(binding))


def lazy_loads(module: Module) -> Iterator[tuple[ast.With, ast.withitem, ast.Call]]:
    """Each ``with lazy_load_for_parallelism(...)``."""
    for statement in module.names.statements:
        if isinstance(statement, ast.With):
            for item in statement.items:
                if isinstance(item.context_expr, ast.Call) and _is_lazy_load(module, item.context_expr):
                    yield statement, item, item.context_expr


def _is_lazy_load(module: Module, call: ast.Call) -> bool:
    symbol = module.symbol(module.resolve(call.func))
    return symbol is not None and symbol.name == LAZY_LOAD


def _is_training_class(module: Module, function: ast.AST) -> bool:
    symbol = module.symbol(module.resolve(function))
    return symbol is not None and symbol.category == "model-training" and symbol.rename.startswith("transformers.")


def _loads(module: Module) -> Iterator[Load]:
    around = {
        node: (statement, call)
        for statement, _, call in lazy_loads(module)
        for body in statement.body
        for node in ast.walk(body)
        if isinstance(node, ast.Call)
    }
    trained = set(around) | set(_given_to_trainers(module))
    for call in module.calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in LOADERS:
            continue
        native = module.native(call.func.value) or ""
        if _is_compiled(module, call.func.value):
            continue
        is_class = _is_training_class(module, call.func)
        config = _config_argument(module, call) if is_class else None
        if not is_model_class(native):
            config = _config_argument(module, call) if not native else None
            if config is None or not _is_trn_config(module, config):
                continue
            native, is_class = _ANY_DECODER, True
        statement, lazy = around.get(call, (None, None))
        size = _size(module, call, config, lazy)
        is_trained = config is not None or lazy is not None or call in trained or not trained
        is_sharded = is_trained and _is_sharded(module, call, native, config, lazy, size)
        yield Load(
            call,
            native,
            is_class,
            config,
            statement,
            size,
            uses_lora(module),
            is_trained,
            is_sharded,
            _model_id(module, call),
        )


def _model_id(module: Module, call: ast.Call) -> str | None:
    given = keyword(call, "pretrained_model_name_or_path")
    node = given.value if given is not None else call.args[0] if call.args else None
    if node is None or not is_plain(node) or is_neuron(module, node):
        return None
    return module.source.segment(node)


def sizes_text(load: Load) -> str:
    """The arguments of ``parallel_sizes`` for a model load."""
    if load.is_lora:
        return "tp_size=1"
    given = [] if load.size.text is None else [f"tp_size={load.size.text}"]
    if load.model_id is not None and load.size.known != 1:
        given.append(f"model={load.model_id}")
    return ", ".join(given)


def sizes_at(module: Module, load: Load, at: ast.stmt | ast.expr) -> str | None:
    """The same arguments for another place, or None where the size is not known there.

    The model id, which is only there for a check of the heads, is left out where it is not known.
    """
    if not load.is_lora and load.size.text is not None and not _is_known(module, load.size.text, load.call, at):
        return None
    if load.model_id is not None and not _is_known(module, load.model_id, load.call, at):
        load = replace(load, model_id=None)
    return sizes_text(load)


def _is_known(module: Module, text: str, there: ast.Call, at: ast.stmt | ast.expr) -> bool:
    """Whether the names in the text of an expression mean at a place what they mean where it is written."""
    here = module.scope(at)
    for node in ast.walk(ast.parse(f"({text})")):
        if isinstance(node, ast.Name):
            home = here.home(node.id)
            if home is None or home is not module.scope(there).home(node.id):
                return False
            if home is here and any(binding.statement.lineno >= at.lineno for binding in home.bindings[node.id]):
                return False
    return True


def _is_compiled(module: Module, node: ast.AST) -> bool:
    """Whether a class was one of compiled models, which nothing trained."""
    symbol = module.symbol(module.resolve(node))
    return symbol is not None and is_called_otherwise(symbol)


def _given_to_trainers(module: Module) -> Iterator[ast.Call]:
    """The calls whose results are passed to a trainer as its model, also through ``get_peft_model``."""
    for call in trainers(module):
        given = keyword(call, "model")
        node = given.value if given is not None else call.args[0] if call.args else None
        yield from _sources(module, node, set())


def _sources(module: Module, node: ast.expr | None, seen: set[str]) -> Iterator[ast.Call]:
    """The loads that an expression can hold the result of."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in LOADERS:
            yield node
        else:
            for argument in node.args[:1]:
                yield from _sources(module, argument, seen)
    elif isinstance(node, ast.Name) and node.id not in seen:
        home = module.scope(node).home(node.id)
        for binding in home.bindings[node.id] if home is not None else ():
            yield from _sources(module, binding.value, seen | {node.id})


def is_model_class(native: str) -> bool:
    """Whether a dotted name is a model class of transformers: ``AutoModelFor...`` or ``LlamaForCausalLM``."""
    module, _, name = native.rpartition(".")
    return (
        module.partition(".")[0] == "transformers"
        and ("ForCausalLM" in name or "For" in name or "Model" in name)
        and (not name.endswith(("Config", "Tokenizer", "Processor", "Extractor", "Args", "Arguments")))
    )


def _config_argument(module: Module, call: ast.Call) -> ast.expr | ast.keyword | None:
    given = keyword(call, "trn_config")
    if given is not None:
        return given
    if len(call.args) > 1 and not isinstance(call.args[1], ast.Starred):
        return call.args[1]
    return None


def _is_trn_config(module: Module, node: ast.expr | ast.keyword) -> bool:
    """Whether an argument can only be meant for a training class of Optimum Neuron."""
    value = node.value if isinstance(node, ast.keyword) else node
    if isinstance(value, ast.Name):
        binding = module.binding(value)
        if binding is not None and isinstance(binding.node, ast.arg):
            return value.id == "trn_config"
        value = binding.value if binding is not None and binding.value is not None else value
    if isinstance(value, ast.Call):
        symbol = module.symbol(module.resolve(value.func))
        return symbol is not None and symbol.name == "TrainingNeuronConfig"
    return isinstance(value, ast.Attribute) and value.attr == "trn_config"


def may_be_sharded(load: Load) -> bool:
    """Whether a load can be given a ``distributed_config``."""
    return load.is_trained and _can_be_sharded(load.call, load.native)


def _can_be_sharded(call: ast.Call, native: str) -> bool:
    """Only decoders are sharded: they are what was large, and what has a plan; all others stay data parallel."""
    if keyword(call, "distributed_config") is not None or not native.endswith((CAUSAL, "AutoModel")):
        return False
    return isinstance(call.func, ast.Attribute) and call.func.attr == "from_pretrained"


def _is_sharded(
    module: Module, call: ast.Call, native: str, config: object, lazy: ast.Call | None, size: Size
) -> bool:
    if not _can_be_sharded(call, native):
        return False
    if config is not None:
        return True
    if _zero(module) or _is_launched_sharded(module):
        return True
    return size.known != 1 if lazy is not None else size.known not in (None, 1)


def _is_launched_sharded(module: Module) -> bool:
    """Whether arguments come from a command line that another file gives flags for parallelism."""
    return any(made.is_parsed for made in all_arguments(module)) and module.project.is_sharded(module.path)


def _zero(module: Module) -> bool:
    return any(literal(item.value("zero_1")) is True for item in all_arguments(module) if item.value("zero_1"))


# Sizes ------------------------------------------------------------------------------------------------------------


def said_sizes(module: Module) -> Iterator[int]:
    """The tensor parallel sizes that arguments made in a module say, where they are numbers."""
    if trains(module):
        for made in all_arguments(module):
            known = constant(module, made.value("tensor_parallel_size"))
            if isinstance(known, int) and not isinstance(known, bool):
                yield known


def _size(module: Module, call: ast.Call, config: ast.AST | None, lazy: ast.Call | None) -> Size:
    if lazy is not None:
        given = keyword(lazy, "tensor_parallel_size")
        node = given.value if given is not None else lazy.args[0] if lazy.args else None
        return _size_of(module, node, call) if node is not None else Size("1", 1)
    if config is not None:
        return _of_config(module, config.value if isinstance(config, ast.keyword) else config, call)
    made = single_arguments(module)
    if made is not None:
        return _of_arguments(module, made, call)
    configs = plugins(module)
    return _of_config(module, configs[0].value, call) if len(configs) == 1 else Size(None)


def _of_config(module: Module, node: ast.AST, call: ast.Call, seen: frozenset[Binding] = frozenset()) -> Size:
    """The size in a ``trn_config``: ``training_args.trn_config``, a variable with it, or a TrainingNeuronConfig."""
    if isinstance(node, ast.Attribute) and node.attr == "trn_config":
        return _of_arguments(module, arguments_of(module, node.value) or single_arguments(module), call)
    if isinstance(node, ast.Call):
        if module.symbol(module.resolve(node.func)) is None:
            return Size(None)  # a helper returns it
        given = keyword(node, "tensor_parallel_size")
        value = given.value if given is not None else node.args[0] if node.args else None
        if value is None:
            return Size(None) if any(item.arg is None for item in node.keywords) else Size("1", 1)
        return _size_of(module, value, call)
    if isinstance(node, ast.Name):
        binding = module.binding(node)
        if binding is not None and binding not in seen:
            for value in _given(module, binding):
                # A function that calls itself passes on what it was given.
                if not isinstance(value, ast.Name) or module.binding(value) is not binding:
                    return _of_config(module, value, call, seen | {binding})
    return _of_arguments(module, single_arguments(module), call)


def _given(module: Module, binding: Binding) -> Iterator[ast.expr]:
    """What a variable is assigned, or a parameter is given in this file."""
    if binding.value is not None:
        yield binding.value
    elif isinstance(binding.node, ast.arg):
        yield from passed(module, binding.node)
        yield from _passed_to_method(module, binding.node)


def _passed_to_method(module: Module, parameter: ast.arg) -> Iterator[ast.expr]:
    """What a method is given for a parameter where it is called by ``self.method(...)`` or ``Class.method(...)``."""
    arguments = module.parent(parameter)
    function = module.parent(arguments) if arguments is not None else None
    definition = module.parent(function) if function is not None else None
    if not isinstance(function, ast.FunctionDef) or not isinstance(definition, ast.ClassDef):
        return
    names = [item.arg for item in (*function.args.posonlyargs, *function.args.args)]
    if not any(isinstance(item, ast.Name) and item.id == "staticmethod" for item in function.decorator_list):
        names = names[1:]
    for call in module.calls:
        method = call.func
        if isinstance(method, ast.Attribute) and method.attr == function.name and isinstance(method.value, ast.Name):
            if method.value.id in ("self", "cls", definition.name):
                given = keyword(call, parameter.arg)
                if given is not None:
                    yield given.value
                yield from (value for name, value in zip(names, call.args, strict=False) if name == parameter.arg)


def _of_arguments(module: Module, made: Arguments | None, call: ast.AST) -> Size:
    if made is None:
        size = module.project.size
        return Size(None) if size is None else Size(repr(size), size)
    if made.is_parsed:
        return Size(None)
    value = made.value("tensor_parallel_size")
    if value is None:
        return Size(None) if made.unread else Size("1", 1)
    return _size_of(module, value, call)


def _size_of(module: Module, node: ast.expr, call: ast.AST, depth: int = 0) -> Size:
    """What to write for a size at the place of a load."""
    known = constant(module, node)
    if isinstance(known, int) and not isinstance(known, bool):
        return Size(repr(known), known)
    if isinstance(node, ast.Attribute) and node.attr == "tensor_parallel_size" and depth < 4:
        made = arguments_of(module, node.value)
        if made is None and isinstance(node.value, ast.Name) and _TRAINING_ARGUMENTS.fullmatch(node.value.id):
            return Size(None)
        if made is not None:
            value = made.value("tensor_parallel_size")
            if value is None:
                return Size(None) if made.is_parsed or made.unread else Size("1", 1)
            return _size_of(module, value, call, depth + 1)
    if isinstance(node, ast.Name):
        binding = module.binding(node)
        values = [] if binding is None or depth > 3 else list(_given(module, binding))
        if len(values) == 1:
            inner = _size_of(module, values[0], call, depth + 1)
            if inner.known is not None or (inner.text is None and inner.lost is None):
                return inner
    if is_plain(node) and visible(module, node, call):
        return Size(module.source.segment(node))
    return Size(None, lost=module.source.segment(node))


def quote(module: Module, node: ast.AST) -> str:
    """The quotes that new text can have in the place of a node: not those of an f-string around it."""
    for above in module.ancestors(node):
        if isinstance(above, ast.JoinedStr):
            return "'" if module.source.segment(above).rstrip().endswith('"') else '"'
    return '"'


def size_text(module: Module, made: Arguments | None, at: ast.AST) -> str:
    """The arguments of ``parallel_sizes`` at a place that asks for the tensor parallel size of the script."""
    if uses_lora(module):
        return "tp_size=1"
    size = _of_arguments(module, made, at) if made is not None else Size(None)
    return "" if size.text is None else f"tp_size={size.text}"
