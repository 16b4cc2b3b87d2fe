"""Takes away `TrainingNeuronConfig` and the parallelism plugins before it, whose sizes moved to the model load.

They carried the sizes to the model and the accelerator. Natively the model is loaded with a `DistributedConfig`; a
configuration that only fed such loads and accelerators goes, field by field, and anything else is for a person.

https://huggingface.co/docs/transformers/perf_infer_gpu_multi
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.data import keywords, members
from neuron_codemods.edits import AnyEdit, CallEdit, Change, Edit, EraseAttribute, EraseImport, InsertLines
from neuron_codemods.imports import local_name
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renaming import attributes, imported
from neuron_codemods.targets import spelled
from neuron_codemods.training.accelerators import plugins
from neuron_codemods.training.configs import (
    REPLACED,
    config_parameters,
    inline_configs,
    is_training_config,
    moved_configs,
)
from neuron_codemods.training.native_names import CONFIG
from neuron_codemods.training.objects import owner
from neuron_codemods.training.parallel import LAZY_LOAD, Load, loads, quote, sizes_at, trains, uses_lora
from neuron_codemods.values import UNKNOWN, constant, single_arguments

RULE = Rule(
    code="NM134",
    name="training-config",
    summary="TrainingNeuronConfig, ModelParallelismPlugin, TensorParallelismPlugin: field by field.",
    url="https://huggingface.co/docs/transformers/perf_infer_gpu_multi",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

SIZES = "neuron_shim.parallel_sizes"
_DIFFERENT = {
    "sequence_parallel_enabled": "there is no sequence parallelism natively, so activations need more memory",
    "recompute_causal_mask": "natively padding is really masked",
    "async_save": "saving waits until the files are written",
}
"""What a field made a difference to, where it was switched on."""
_ALONE = {
    "checkpoint_dir": "pass it to train() as resume_from_checkpoint, or load the model from there",
    "kv_size_multiplier": "lower the tensor parallel size until it divides num_key_value_heads",
    "pipeline_parallel_size": (
        "pipeline parallel training has no native form in transformers; plan the same number of cores as tensor "
        "parallel times FSDP"
    ),
}
"""What a person has to do where a field was set."""


def check(module: Module) -> Iterator[Change]:
    if not trains(module):
        return
    gone: set[ast.AST] = set()
    for moved in moved_configs(module):
        gone.update(ast.walk(moved.statement))
        if moved.call is not None:
            yield from _fields(module, moved.call)
        for read in moved.reads:
            yield _read(module, read)
    for call in inline_configs(module):
        gone.update(ast.walk(call))
        yield from _fields(module, call)
    for load in loads(module):
        if load.config is not None:
            gone.update(ast.walk(load.config))
    for given in plugins(module):
        gone.update(ast.walk(given))
    for carried in config_parameters(module):
        if carried.parameter.annotation is not None:
            gone.update(_all_nodes(module, carried.parameter.annotation))
        for _, argument in carried.given:
            gone.update(ast.walk(argument))
            value = argument.value if isinstance(argument, ast.keyword) else argument
            if is_training_config(module, value):
                assert isinstance(value, ast.Call)
                yield from _fields(module, value)
    yield from _left(module)
    yield from _imports(module, gone)


def _all_nodes(module: Module, annotation: ast.expr) -> Iterator[ast.AST]:
    """The nodes of an annotation, also of one in quotes."""
    yield from ast.walk(annotation)
    for reference in (item for items in module.names.references.values() for item in items):
        if reference.in_string and any(above is annotation for above in module.ancestors(reference.node)):
            yield reference.node


def _left(module: Module) -> Iterator[Change]:
    """Members of a configuration that nothing stands for."""
    for attribute in module.names.attributes:
        rows = members("training_config").get(attribute.attr, ())
        if rows and attribute.attr not in REPLACED and owner(module, attribute.value) == "training_config":
            yield Change(Outcome.MANUAL, attribute, f"{attribute.attr} is gone. {rows[0].reason}")


# Fields -----------------------------------------------------------------------------------------------------------


def _fields(module: Module, call: ast.Call) -> Iterator[Change]:
    rows = keywords("training_config")
    for given in call.keywords:
        name = given.arg
        if name is None:
            message = (
                "This mapping of sizes goes with the configuration: TP_SIZE and FSDP_SIZE say them at the launch."
            )
            yield Change(Outcome.REVIEW, given.value, message)
        elif name == "tensor_parallel_size":
            yield Change(Outcome.REWRITTEN, given, f"{name} moves to where the model is loaded.")
        elif name == "gradient_checkpointing":
            yield _checkpointing(module, given)
        elif name in rows:
            yield _field(module, given, rows[name][0].reason)


def _field(module: Module, given: ast.keyword, reason: str) -> Change:
    name = given.arg or ""
    known = constant(module, given.value)
    if known in (None, False, 1, -1) and known is not True:
        return Change(Outcome.REWRITTEN, given, f"{name}={known} goes: it is how things are.")
    if name in _ALONE:
        text = module.source.segment(given.value)
        load = _place(module)
        marks = module.statement(load.call) if load is not None else None
        return Change(Outcome.MANUAL, given, f"{name} was {' '.join(text.split())}: {_ALONE[name]}.", marks=marks)
    if name in _DIFFERENT:
        return Change(Outcome.REVIEW, given, f"{name} goes: {_DIFFERENT[name]}.")
    return Change(Outcome.REWRITTEN, given, f"{name} goes. {reason}")


def _place(module: Module) -> Load | None:
    found = loads(module)
    return next((load for load in found if load.config is not None), found[0] if found else None)


def _checkpointing(module: Module, given: ast.keyword) -> Change:
    """Gradient checkpointing is a switch of the arguments, or of the model where a script has its own loop."""
    if constant(module, given.value) is False:
        return Change(Outcome.REWRITTEN, given, "gradient_checkpointing=False goes: it is how things are.")
    text = module.source.segment(given.value)
    name = spelled(module.project, "activation_checkpointing")
    made = single_arguments(module)
    message = "gradient_checkpointing moves to the training arguments."
    if made is not None and not made.is_parsed and not made.unread and constant(module, given.value) is not UNKNOWN:
        if made.has("gradient_checkpointing", "activation_checkpointing"):
            return Change(Outcome.REWRITTEN, given, f"{message} They have it already.")
        return Change(Outcome.REWRITTEN, given, message, (CallEdit(made.call, added=((name, text),)),))
    load = _place(module)
    statement = module.statement(load.call) if load is not None else None
    if made is None and isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        if constant(module, given.value) is True:
            line = f"{statement.targets[0].id}.gradient_checkpointing_enable()"
            edits: tuple[AnyEdit, ...] = (InsertLines(statement, (line,), after=True),)
            return Change(Outcome.REWRITTEN, given, "gradient_checkpointing is a method of the model.", edits)
    message = f"gradient_checkpointing was {text}: pass {name}={text} to the training arguments."
    return Change(Outcome.MANUAL, given, message, marks=statement)


# Reads ------------------------------------------------------------------------------------------------------------


def _read(module: Module, read: ast.Attribute) -> Change:
    """A size that a script reads from a configuration."""
    if read.attr == "pipeline_parallel_size":
        edit = Edit.replace(module.source.span(read), "1")
        return Change(Outcome.REWRITTEN, read, "There are no pipeline stages natively.", (edit,))
    load = _place(module)
    sizes = "tp_size=1" if uses_lora(module) else sizes_at(module, load, read) if load is not None else ""
    if sizes is None:
        message = f"{read.attr} is a matter of the launch line: ask parallel_sizes for it, with the size of the model."
        return Change(Outcome.MANUAL, read, message)
    mark = quote(module, read)
    key = "fsdp_size" if read.attr == "data_parallel_size" else "tp_size"
    text = f"{local_name(module, SIZES)}({sizes})[{mark}{key}{mark}]"
    if read.attr in ("should_parallelize", "model_parallelism_enabled"):
        text += " > 1"
        if not isinstance(module.parent(read), (ast.If, ast.While, ast.Assign, ast.BoolOp, ast.IfExp, ast.keyword)):
            text = f"({text})"
    edit = Edit.replace(module.source.span(read), text)
    return Change(Outcome.REWRITTEN, read, f"{read.attr} is a matter of the launch line.", (edit,), (SIZES,))


# Imports ----------------------------------------------------------------------------------------------------------


def _imports(module: Module, gone: set[ast.AST]) -> Iterator[Change]:
    for binding, symbol in imported(module):
        if symbol.name == LAZY_LOAD or symbol.native != CONFIG or not symbol.rename:
            continue
        left = [reference.node for reference in module.references(binding) if reference.node not in gone]
        if left or not any(module.references(binding)):
            yield Change(Outcome.MANUAL, binding.node, symbol.message)
        else:
            message = f"The import of {symbol.name} is erased: its sizes moved to where the model is loaded."
            yield Change(Outcome.REWRITTEN, binding.node, message, (EraseImport(binding),))
    for binding, node, symbol in attributes(module):
        if symbol.native == CONFIG and symbol.rename and symbol.name != LAZY_LOAD:
            if node in gone:
                message = f"This use of {symbol.name} is gone: its sizes moved to where the model is loaded."
                yield Change(Outcome.REWRITTEN, node, message, (EraseAttribute(binding, node),))
            else:
                yield Change(Outcome.MANUAL, node, symbol.message)


_MODELS = "from optimum.neuron.models.training import NeuronModelForCausalLM"

CASES = (
    Case(
        "a configuration that only fed the model",
        f"""{_MODELS}, TrainingNeuronConfig

config = TrainingNeuronConfig(tensor_parallel_size=8)
model = NeuronModelForCausalLM.from_pretrained("my/model", config)
""",
        f"""{_MODELS}

config = TrainingNeuronConfig(tensor_parallel_size=8)
model = NeuronModelForCausalLM.from_pretrained("my/model", config)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "fields that are kept elsewhere, and what is read",
        f"""{_MODELS}, TrainingNeuronConfig

config = TrainingNeuronConfig(
    tensor_parallel_size=8, gradient_checkpointing=True, sequence_parallel_enabled=True, kv_size_multiplier=4
)
model = NeuronModelForCausalLM.from_pretrained("my/model", config)
print(config.tensor_parallel_size, config.data_parallel_size, config.pipeline_parallel_size)
""",
        f"""{_MODELS}
from neuron_shim import parallel_sizes

config = TrainingNeuronConfig(
    tensor_parallel_size=8, gradient_checkpointing=True, sequence_parallel_enabled=True, kv_size_multiplier=4
)
# TODO(neuron-migrate NM134): kv_size_multiplier was 4: lower the tensor parallel size until it divides \
num_key_value_heads: https://huggingface.co/docs/transformers/perf_infer_gpu_multi
model = NeuronModelForCausalLM.from_pretrained("my/model", config)
model.gradient_checkpointing_enable()
print(parallel_sizes(tp_size=8, model="my/model")["tp_size"], \
parallel_sizes(tp_size=8, model="my/model")["fsdp_size"], 1)
""",
        (
            *(Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
            *(Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.REWRITTEN),
        ),
    ),
    Case(
        "a configuration that is used otherwise",
        """from optimum.neuron.models.training import TrainingNeuronConfig


def build(size):
    return TrainingNeuronConfig(tensor_parallel_size=size)
""",
        """# TODO(neuron-migrate NM134): Use transformers.distributed.DistributedConfig and pass it to \
from_pretrained: tensor_parallel_size becomes tp_size and the remaining ranks must be spelled \
out as fsdp_size or dp_replicate_size: https://huggingface.co/docs/transformers/perf_infer_gpu_multi
from optimum.neuron.models.training import TrainingNeuronConfig


def build(size):
    return TrainingNeuronConfig(tensor_parallel_size=size)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "a configuration of another library",
        """from mylib import TrainingNeuronConfig

TrainingNeuronConfig(tensor_parallel_size=8)
""",
    ),
    Case("a file that trains without one", "from optimum.neuron import NeuronTrainer\n\nNeuronTrainer(model=model)\n"),
    Case(
        "a native configuration",
        """from transformers.distributed import DistributedConfig

config = DistributedConfig(tp_size=8)
""",
    ),
)
