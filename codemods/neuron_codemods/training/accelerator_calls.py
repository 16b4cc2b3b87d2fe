"""Makes a `NeuronAccelerator` an `Accelerator`, and prepares a sharded model as accelerate wants it.

The accelerator took the parallel sizes and sharded the model. Natively the model is sharded where it is loaded;
accelerate is told the sizes (`ParallelismConfig`) and must not wrap the model again, which is what
`prepare_model(..., evaluation_mode=True)` says. Keywords and methods of the XLA engine go.

https://huggingface.co/docs/accelerate/package_reference/accelerator
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from neuron_codemods.edits import AnyEdit, CallEdit, Change, Edit, InsertLines, RemoveStatement, assignment_goes
from neuron_codemods.imports import local_name
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renaming import erased
from neuron_codemods.training.accelerators import PLUGINS, accelerators
from neuron_codemods.training.configs import sharded_load, sizes_above, split_load
from neuron_codemods.training.objects import kept_in_self, owner
from neuron_codemods.training.parallel import Load, loads
from neuron_codemods.values import (
    UNKNOWN,
    constant,
    has_splat,
    is_plain,
    keyword,
    literal,
    remove_argument,
    rename_argument,
    rename_attribute,
    replace_value,
)

RULE = Rule(
    code="NM135",
    name="accelerator",
    summary="NeuronAccelerator: what Accelerator takes, and prepare() of a model that is sharded at load.",
    url="https://huggingface.co/docs/accelerate/package_reference/accelerator",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

SIZES = "neuron_shim.parallel_sizes"
PARALLELISM = "accelerate.ParallelismConfig"
DATA = "accelerate.DataLoaderConfiguration"
PRECISION = "MixedPrecisionConfig"
_TO_DATA = ("dispatch_batches", "even_batches", "use_seedable_sampler")
_SAFE_POSITIONS = 5
_RENAMED = {
    "backward_for_xla_fsdp": "backward",
    "clip_grad_norm_for_xla_fsdp": "clip_grad_norm_",
    "prepare_model_for_xla_fsdp": "prepare_model",
    "save_state_for_xla_fsdp": "save_state",
    "save_state_for_mp": "save_state",
    "save_state_for_tp": "save_state",
}
_METHOD_KEYWORDS = {
    "clip_grad_norm_": ("postpone_clipping_to_optimizer_step",),
    "gather": ("out_of_graph", "sync"),
    "gather_for_metrics": ("sync",),
    "prepare_data_loader": ("batches_per_execution", "use_mp_device_loader"),
}
_GONE = ("trn_config", "mp_plugin", "tp_plugin", "zero_1")
_PREPARE = (
    "A model that is sharded where it is loaded goes through accelerator.prepare_model(model, evaluation_mode=True), "
    "which does not wrap it again; everything else goes through prepare."
)
_NO_LOAD = (
    "no model is loaded here. Where one comes that is sharded at its load, pass "
    "parallelism_config=ParallelismConfig(tp_size=..., dp_shard_size=...) and prepare it by prepare_model."
)
_LOOP = (
    "The model is sharded where it is loaded; accelerate leaves it as it is (evaluation_mode=True keeps DDP away, "
    "gradients are taken all the same)."
)


def check(module: Module) -> Iterator[Change]:
    gone: set[ast.AST] = set()
    calls = accelerators(module)
    for call in calls:
        yield from _keywords(module, call, gone)
    if calls or any(True for _ in _methods(module)):
        for attribute in _methods(module):
            yield from _method(module, attribute)
    yield from erased(module, (PRECISION,), gone)


# Making one -------------------------------------------------------------------------------------------------------


def _keywords(module: Module, call: ast.Call, gone: set[ast.AST]) -> Iterator[Change]:
    for given in call.keywords:
        name = given.arg
        if name in PLUGINS:
            yield _plugin(module, call, given)
        elif name == "zero_1":
            yield _zero(module, call, given)
        elif name == "autocast_backend":
            message = "autocast_backend goes: mixed_precision chooses the native autocast."
            yield Change(Outcome.REWRITTEN, given, message, (remove_argument(call, given),))
        elif name == "mixed_precision_config":
            yield _precision(module, call, given, gone)
        elif name == "logging_dir":
            edit = rename_argument(call, given, "project_dir")
            yield Change(Outcome.REWRITTEN, given, "logging_dir is called project_dir.", (edit,))
        elif name in _TO_DATA:
            yield _to_data(module, call, given)
        elif name == "deepspeed_plugin" and literal(given.value) is not None:
            message = (
                "deepspeed_plugin: accelerate refuses DeepSpeed on Neuron; load the model with a DistributedConfig."
            )
            yield Change(Outcome.MANUAL, given, message)
    if has_splat(call):
        message = f"Take out of this mapping what Accelerator refuses: {', '.join(_GONE)}, autocast_backend."
        yield Change(Outcome.MANUAL, call, message)
    if len(call.args) > _SAFE_POSITIONS or any(isinstance(argument, ast.Starred) for argument in call.args):
        message = "Arguments of Accelerator by position beyond the fifth have moved: pass them by keyword."
        yield Change(Outcome.MANUAL, call, message)


def _plugin(module: Module, call: ast.Call, given: ast.keyword) -> Change:
    edits: list[AnyEdit] = [remove_argument(call, given)]
    load = split_load(module)
    if load is None:
        message = f"{given.arg} goes: the model is not split by tensor parallelism, so accelerate needs no sizes."
        if not loads(module):
            message = f"{given.arg} goes: {_NO_LOAD}"
            return Change(Outcome.REVIEW, given, message, tuple(edits))
        return Change(Outcome.REWRITTEN, given, message, tuple(edits))
    statement = module.statement(call)
    sizes = sizes_above(module, load, statement)
    if sizes is None:
        message = f"{given.arg}: pass parallelism_config=ParallelismConfig(tp_size=..., dp_shard_size=...) instead."
        return Change(Outcome.MANUAL, given, message)
    name = _free(module)
    config = local_name(module, PARALLELISM)
    text = f'{config}(tp_size={name}["tp_size"], dp_shard_size={name}["fsdp_size"])'
    edits.append(CallEdit(call, added=(("parallelism_config", text),)))
    edits.append(InsertLines(statement, (f"{name} = {local_name(module, SIZES)}({sizes})",)))
    message = f"{given.arg} is a parallelism_config with the sizes of the launch line."
    return Change(Outcome.REWRITTEN, given, message, tuple(edits), (SIZES, PARALLELISM))


def _free(module: Module) -> str:
    return "model_sizes" if "sizes" in module.names.bound or "sizes" in module.names.references else "sizes"


def _zero(module: Module, call: ast.Call, given: ast.keyword) -> Change:
    edit = remove_argument(call, given)
    if constant(module, given.value) is False:
        return Change(Outcome.REWRITTEN, given, "zero_1=False goes: there is no such switch.", (edit,))
    if sharded_load(module) is not None:
        message = (
            "zero_1 goes: FSDP shards the optimizer state, and parameters and gradients too, with the same result."
        )
        return Change(Outcome.REWRITTEN, given, message, (edit,))
    message = "zero_1 goes: the optimizer state is replicated on every rank (same result, more memory)."
    return Change(Outcome.REVIEW, given, message, (edit,))


def _precision(module: Module, call: ast.Call, given: ast.keyword, gone: set[ast.AST]) -> Change:
    made = _made(module, given.value)
    mode = _mode(made) if made is not None else UNKNOWN
    if literal(given.value) is None:
        edit = remove_argument(call, given)
        return Change(Outcome.REWRITTEN, given, "mixed_precision_config=None goes.", (edit,))
    if made is None or mode not in ("NO", "FULL_BF16", "AUTOCAST_BF16"):
        message = 'mixed_precision_config: pass mixed_precision="bf16", or "no" where nothing was cast.'
        return Change(Outcome.MANUAL, given, message)
    text = '"no"' if mode == "NO" else '"bf16"'
    edits: list[AnyEdit] = [rename_argument(call, given, "mixed_precision"), replace_value(call, given, text)]
    if isinstance(given.value, ast.Name):
        binding = module.binding(given.value)
        assert binding is not None
        edits += assignment_goes(binding)
    gone.add(made.func)
    message = f"mixed_precision_config is mixed_precision={text}."
    if mode == "FULL_BF16":
        message += " Autocast over weights in float32 takes the place of bf16 weights with float32 masters."
    return Change(Outcome.REVIEW if mode == "FULL_BF16" else Outcome.REWRITTEN, given, message, tuple(edits))


def _made(module: Module, node: ast.expr) -> ast.Call | None:
    """The call of MixedPrecisionConfig that an expression holds, where nothing else uses its variable."""
    if isinstance(node, ast.Name):
        binding = module.binding(node)
        if binding is None or binding.value is None or not isinstance(binding.statement, ast.Assign):
            return None
        if len(binding.scope.bindings[binding.name]) > 1 or len(list(module.references(binding))) > 1:
            return None
        node = binding.value
    symbol = module.symbol(module.resolve(node.func)) if isinstance(node, ast.Call) else None
    return node if isinstance(node, ast.Call) and symbol is not None and symbol.name == PRECISION else None


def _mode(call: ast.Call) -> object:
    given = keyword(call, "mode")
    node = given.value if given is not None else call.args[0] if call.args else None
    return literal(node)


def _to_data(module: Module, call: ast.Call, given: ast.keyword) -> Change:
    name = given.arg
    others = [item.arg for item in call.keywords if item.arg in (*_TO_DATA, "dataloader_config")]
    if len(others) > 1:
        return Change(Outcome.MANUAL, given, f"Put {name} into dataloader_config=DataLoaderConfiguration(...).")
    text = f"{local_name(module, DATA)}({name}={module.source.segment(given.value)})"
    edits = (rename_argument(call, given, "dataloader_config"), replace_value(call, given, text))
    return Change(Outcome.REWRITTEN, given, f"{name} is a field of dataloader_config.", edits, (DATA,))


# Using it ---------------------------------------------------------------------------------------------------------


def _methods(module: Module) -> Iterator[ast.Attribute]:
    """The attributes that a module asks of an accelerator of Optimum Neuron."""
    for attribute in module.names.attributes:
        if attribute.attr in _INTERESTING and isinstance(attribute.ctx, ast.Load):
            if owner(module, attribute.value) == "accelerator":
                yield attribute


_INTERESTING = frozenset(
    {"prepare", "prepare_model", "patch_model_for_neuron", "zero_1", *_GONE, *_RENAMED, *_METHOD_KEYWORDS}
)


def _method(module: Module, attribute: ast.Attribute) -> Iterator[Change]:
    name = attribute.attr
    call = module.parent(attribute)
    is_called = isinstance(call, ast.Call) and call.func is attribute
    if name in _RENAMED:
        new = _RENAMED[name]
        yield Change(
            Outcome.REWRITTEN, attribute, f"{name} is called {new}.", (rename_attribute(module, attribute, new),)
        )
    elif name in _GONE:
        yield Change(Outcome.MANUAL, attribute, f"Accelerator has no {name}: the sizes are those of parallel_sizes().")
    elif not is_called:
        if name == "patch_model_for_neuron":
            yield Change(Outcome.MANUAL, attribute, f"{name} is gone: the model needs no patching.")
    elif name == "patch_model_for_neuron":
        assert isinstance(call, ast.Call)
        yield _patch(module, call)
    elif name == "prepare":
        assert isinstance(call, ast.Call)
        yield from _prepare(module, call)
    elif name == "prepare_model":
        assert isinstance(call, ast.Call)
        yield from _prepare_model(module, call)
    else:
        assert isinstance(call, ast.Call)
        for given in call.keywords:
            if given.arg in _METHOD_KEYWORDS[name]:
                message = f"{given.arg} of {name} goes: it was about the XLA graph."
                yield Change(Outcome.REWRITTEN, given, message, (remove_argument(call, given),))


def _patch(module: Module, call: ast.Call) -> Change:
    statement = module.parent(call)
    given = keyword(call, "model")
    model = given.value if given is not None else call.args[0] if call.args else None
    message = "patch_model_for_neuron goes: the model needs no patching."
    if model is None or isinstance(model, ast.Starred):
        return Change(Outcome.MANUAL, call, "patch_model_for_neuron is gone: use the model itself.")
    if isinstance(statement, ast.Expr):
        return Change(Outcome.REWRITTEN, call, message, (RemoveStatement(statement),))
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        if ast.unparse(statement.targets[0]) == ast.unparse(model):
            return Change(Outcome.REWRITTEN, call, message, (RemoveStatement(statement),))
    (start, end), (first, last) = module.source.span(call), module.source.span(model)
    return Change(Outcome.REWRITTEN, call, message, (Edit.delete((start, first)), Edit.delete((last, end))))


@dataclass(frozen=True)
class _Prepared:
    """``a, b = accelerator.prepare(x, y)``: what is prepared, and what it is called then."""

    statement: ast.Assign
    arguments: list[ast.expr]
    targets: list[ast.expr]


def _prepare(module: Module, call: ast.Call) -> Iterator[Change]:
    load = sharded_load(module)
    if load is None:
        return
    prepared = _read(module, call)
    if prepared is None:
        if any(_is_sharded(module, argument, load, set()) is not False for argument in call.args):
            yield Change(Outcome.MANUAL, call, _PREPARE)
        return
    answers = [_is_sharded(module, argument, load, set()) for argument in prepared.arguments]
    if answers.count(True) == 1:
        yield _split(module, call, prepared, answers.index(True))
    elif any(answer is not False for answer in answers):
        yield Change(Outcome.MANUAL, call, _PREPARE)


def _prepare_model(module: Module, call: ast.Call) -> Iterator[Change]:
    load = sharded_load(module)
    if load is None or not call.args or len(call.args) > 2 or keyword(call, "evaluation_mode") is not None:
        return
    answer = _is_sharded(module, call.args[0], load, set())
    if answer is True:
        edit = CallEdit(call, added=(("evaluation_mode", "True"),))
        yield Change(Outcome.REWRITTEN, call, _LOOP, (edit,))
    elif answer is None:
        yield Change(Outcome.MANUAL, call, _PREPARE)


def _read(module: Module, call: ast.Call) -> _Prepared | None:
    statement = module.parent(call)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or call.keywords:
        return None
    target = statement.targets[0]
    targets = list(target.elts) if isinstance(target, (ast.Tuple, ast.List)) else [target]
    if len(targets) > 1 and not is_plain(call.func.value):  # type: ignore[attr-defined]
        return None  # the accelerator would be made twice
    if len(targets) != len(call.args) or any(isinstance(node, ast.Starred) for node in (*targets, *call.args)):
        return None
    return _Prepared(statement, list(call.args), targets)


def _is_sharded(module: Module, node: ast.expr, load: Load, seen: set[str]) -> bool | None:
    """Whether an expression holds the sharded model; None when that cannot be told."""
    text = ast.unparse(node)
    if text in seen:
        return False
    seen.add(text)
    values: list[ast.expr | None] = []
    if isinstance(node, ast.Call) and _leads_to(module, node, load):
        return True
    if isinstance(node, ast.Attribute):
        values.extend(kept_in_self(module, node))
    elif isinstance(node, ast.Name) and (binding := module.binding(node)) is not None:
        values.extend(other.value for other in binding.scope.bindings[binding.name])
    answers = [_holds(module, value, load, seen) for value in values]
    if True in answers:
        return True
    if answers and None not in answers:
        return False
    return None if "model" in text else False


def _holds(module: Module, value: ast.expr | None, load: Load, seen: set[str]) -> bool | None:
    """The same for what a variable is given.

    What is made of the sharded model may be that model in a wrapper, and a function of this file may call another that
    loads it.
    """
    if isinstance(value, (ast.Name, ast.Attribute)):
        return _is_sharded(module, value, load, seen)
    if not isinstance(value, ast.Call):
        return None if value is None else False
    if _leads_to(module, value, load):
        return True
    if _function(module, value) not in (None, module.function(load.call)):
        return None
    made_of = [item for item in value.args[:1] if isinstance(item, (ast.Name, ast.Attribute))]
    return None if any(_is_sharded(module, item, load, seen) for item in made_of) else False


def _leads_to(module: Module, value: ast.expr, load: Load) -> bool:
    if isinstance(value, ast.Call):
        if any(value is other.call for other in loads(module)):
            return True
        function = _function(module, value)
        if function is not None:
            return module.function(load.call) is function
        return any(_leads_to(module, argument, load) for argument in value.args[:1])
    return False


def _function(module: Module, call: ast.Call) -> ast.FunctionDef | None:
    """The function of this file that a call calls by its name."""
    binding = module.binding(call.func) if isinstance(call.func, ast.Name) else None
    return binding.node if binding is not None and isinstance(binding.node, ast.FunctionDef) else None


def _split(module: Module, call: ast.Call, prepared: _Prepared, index: int) -> Change:
    """Prepare the model in a statement of its own."""
    source = module.source
    function = call.func
    assert isinstance(function, ast.Attribute)
    if len(prepared.arguments) == 1:
        edits: tuple[AnyEdit, ...] = (
            rename_attribute(module, function, "prepare_model"),
            CallEdit(call, added=(("evaluation_mode", "True"),)),
        )
        return Change(Outcome.REWRITTEN, call, _LOOP, edits)
    target, argument = prepared.targets[index], prepared.arguments[index]
    accelerator = source.segment(function.value)
    line = f"{source.segment(target)} = {accelerator}.prepare_model({source.segment(argument)}, evaluation_mode=True)"
    rest = [node for node in prepared.targets if node is not target]
    left = prepared.statement.targets[0]
    text = ", ".join(source.segment(node) for node in rest)
    edits = (
        InsertLines(prepared.statement, (line,)),
        Edit.replace(source.span(left), text),
        remove_argument(call, argument),
    )
    return Change(Outcome.REWRITTEN, call, _LOOP, edits)


_HEAD = """import torch
from optimum.neuron import NeuronAccelerator
from optimum.neuron.models.training import NeuronModelForCausalLM, TrainingNeuronConfig

"""

CASES = (
    Case(
        "a loop over a sharded model",
        f"""{_HEAD}config = TrainingNeuronConfig(tensor_parallel_size=8)
accelerator = NeuronAccelerator(trn_config=config, zero_1=True, mixed_precision="bf16")
model = NeuronModelForCausalLM.from_pretrained("my/model", config)
model = accelerator.patch_model_for_neuron(model)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
""",
        f"""{
            _HEAD.replace("import torch", "import torch")
            .replace("from optimum.neuron.models", "from optimum.neuron.models")
            .rstrip()
        }
from accelerate import ParallelismConfig
from neuron_shim import parallel_sizes

config = TrainingNeuronConfig(tensor_parallel_size=8)
sizes = parallel_sizes(tp_size=8, model="my/model")
accelerator = NeuronAccelerator(
    mixed_precision="bf16",
    parallelism_config=ParallelismConfig(tp_size=sizes["tp_size"], dp_shard_size=sizes["fsdp_size"]),
)
model = NeuronModelForCausalLM.from_pretrained("my/model", config)
model = accelerator.prepare_model(model, evaluation_mode=True)
optimizer, loader = accelerator.prepare(optimizer, loader)
""",
    ),
    Case(
        "a loop over a whole model",
        """from optimum.neuron import NeuronAccelerator
from transformers import AutoModelForSequenceClassification

accelerator = NeuronAccelerator(zero_1=True, autocast_backend="amp", even_batches=False, logging_dir="logs")
model = AutoModelForSequenceClassification.from_pretrained("my/model")
model, optimizer = accelerator.prepare(model, optimizer)
accelerator.clip_grad_norm_(model.parameters(), 1.0, postpone_clipping_to_optimizer_step=True)
print(accelerator.gather(loss, sync=True))
""",
        """from optimum.neuron import NeuronAccelerator
from transformers import AutoModelForSequenceClassification
from accelerate import DataLoaderConfiguration

accelerator = NeuronAccelerator(
    dataloader_config=DataLoaderConfiguration(even_batches=False),
    project_dir="logs",
)
model = AutoModelForSequenceClassification.from_pretrained("my/model")
model, optimizer = accelerator.prepare(model, optimizer)
accelerator.clip_grad_norm_(model.parameters(), 1.0)
print(accelerator.gather(loss))
""",
    ),
    Case(
        "a precision in a configuration",
        """from optimum.neuron.accelerate import NeuronAccelerator
from optimum.neuron.accelerate.utils import MixedPrecisionConfig

precision = MixedPrecisionConfig(mode="AUTOCAST_BF16")
accelerator = NeuronAccelerator(mixed_precision_config=precision)
""",
        """from optimum.neuron.accelerate import NeuronAccelerator

accelerator = NeuronAccelerator(mixed_precision="bf16")
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "a mapping that cannot be read",
        """from optimum.neuron import NeuronAccelerator

accelerator = NeuronAccelerator(**options)
""",
        """from optimum.neuron import NeuronAccelerator

# TODO(neuron-migrate NM135): Take out of this mapping what Accelerator refuses: trn_config, mp_plugin, \
tp_plugin, zero_1, autocast_backend: https://huggingface.co/docs/accelerate/package_reference/accelerator
accelerator = NeuronAccelerator(**options)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "accelerate's own accelerator",
        """from accelerate import Accelerator

accelerator = Accelerator(mixed_precision="bf16")
model, optimizer = accelerator.prepare(model, optimizer)
""",
    ),
    Case(
        "an accelerator that takes nothing else",
        """from optimum.neuron import NeuronAccelerator

accelerator = NeuronAccelerator(mixed_precision="bf16", gradient_accumulation_steps=4)
with accelerator.accumulate(model):
    accelerator.backward(loss)
""",
    ),
    Case("a method of something else", "model = car.prepare(model)\ncar.gather(x, sync=True)\n"),
    Case("a class of another library", "from mylib import NeuronAccelerator\n\nNeuronAccelerator(zero_1=True)\n"),
)
