"""Loads the original model on the device where `NeuronModelForX.from_pretrained` compiled it or loaded it compiled.

There is no compiled folder natively: the shapes move to where inputs are made, the cast to `dtype`, the cores to
`DistributedConfig`, and `compile_static` compiles for the shapes that come. A model whose original is not known here
gets a marker that says where to look.

https://huggingface.co/docs/transformers/model_doc/auto
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import (
    AnyEdit,
    CallEdit,
    Change,
    Edit,
    EraseImport,
    InsertLines,
    RemoveStatement,
    assignment_goes,
)
from neuron_codemods.imports import local_name
from neuron_codemods.inference.casts import Cast, cast_of
from neuron_codemods.inference.flow import origins
from neuron_codemods.inference.loads import (
    CATEGORIES,
    CAUSAL,
    CONFIG_CLASSES,
    CORES,
    ENCODER,
    MODEL_KEYWORDS,
    NATIVE_KEYWORDS,
    SENTENCE,
    Given,
    Load,
    Splat,
    consumed_keywords,
    dropping,
    known,
    original_text,
    text_at,
)
from neuron_codemods.inference.uses import Named, compiled_classes, rewritten_loads
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.named_folders import folder_text
from neuron_codemods.renaming import imported, without_native
from neuron_codemods.scopes import Binding
from neuron_codemods.values import in_order, is_plain, keyword, remove_argument, rename_argument

RULE = Rule(
    code="NM201",
    name="compiled-model",
    summary="NeuronModelForX.from_pretrained: the original model on the device, with dtype and DistributedConfig.",
    url="https://huggingface.co/docs/transformers/model_doc/auto",
    outcomes=(Outcome.MANUAL, Outcome.REVIEW, Outcome.REWRITTEN),
)

DEVICE = "neuron_shim.neuron_device"
COMPILE = "neuron_shim.compile_static"
SIZES = "neuron_shim.parallel_sizes"
CONFIG = "transformers.distributed.DistributedConfig"
_DISCOVERED = frozenset({"get_available_cores", "get_num_neuron_cores"})
_ELSEWHERE = frozenset({"generation", "vllm", *CATEGORIES})


def check(module: Module) -> Iterator[Change]:
    for found in compiled_classes(module):
        yield from _class(found.named, found.problems)
    done = rewritten_loads(module)
    for load in done:
        yield from _load(module, load)
    yield from _configs(module, done)
    erased = {binding.node for binding in _config_imports(module, done)}
    for change in without_native(module, _ELSEWHERE):
        if change.node not in erased:
            yield change


def _class(named: Named, problems: tuple) -> Iterator[Change]:  # type: ignore[type-arg]
    symbol = named.symbol
    for problem in dict.fromkeys(problems):
        yield Change(Outcome.MANUAL, problem.node, f"{symbol.name}: {problem.message}")
    if not problems:
        yield Change(Outcome.REWRITTEN, named.node, symbol.message, (named.edit,))


# One load ---------------------------------------------------------------------------------------------------------


def _load(module: Module, load: Load) -> Iterator[Change]:
    if load.family == SENTENCE:
        return
    if load.is_gone:
        yield from _repeated(module, load)
        return
    edits: list[AnyEdit] = []
    gone: list[str] = []
    requires: list[str] = []
    edits += _settings(module, load, gone)
    edits += _source(module, load)
    launch = None
    size = tp_size(module, load)
    if size is not None:
        sizes, launch = size
        text = f"{local_name(module, CONFIG)}(**{local_name(module, SIZES)}({sizes}))"
        edits.append(CallEdit(load.call, added=(("distributed_config", text),)))
        edits.append(Edit.around(module.source.span(load.call), "", f".to({local_name(module, DEVICE)}())"))
        requires += [CONFIG, SIZES, DEVICE]
    elif keyword(load.call, "device_map") is None:
        edits.append(CallEdit(load.call, added=(("device_map", f"{local_name(module, DEVICE)}()"),)))
        requires.append(DEVICE)
    cast = cast_of(module, load)
    if cast.text is not None:
        edits.append(CallEdit(load.call, added=(("dtype", cast.text),)))
    if load.family == ENCODER:
        edits += _compiled(module, load)
        requires.append(COMPILE)
    yield Change(_outcome(load), load.call, _message(load, gone), tuple(edits), tuple(requires), launch=launch)
    yield from _reviews(module, load, cast, size is not None)


def _repeated(module: Module, load: Load) -> Iterator[Change]:
    """A load that only wrote or read the folder of a compiled model."""
    edits = list(dropping(module, load))
    for splat in load.splats:
        edits += [edit for edit in _splat(module, load, splat, []) if isinstance(edit, RemoveStatement)]
    message = "The compiled folder goes: the original model is loaded once and used as it is."
    yield Change(Outcome.REWRITTEN, load.call, message, tuple(edits))


def _outcome(load: Load) -> Outcome:
    return Outcome.REVIEW if load.assumed else Outcome.REWRITTEN


def _message(load: Load, gone: list[str]) -> str:
    what = f"{', '.join(gone)} {'go' if len(gone) > 1 else 'goes'}: " if gone else ""
    message = f"{what}the original model is loaded on the device and compiles on its first call."
    if load.family == CAUSAL:
        message = f"{what}the original model is loaded on the device, and generate() compiles the decoding step."
    if load.assumed:
        message += " If this repository holds a compiled model, name the original one."
    return message[0].upper() + message[1:] if not gone else message


def _reviews(module: Module, load: Load, cast: Cast, is_parallel: bool) -> Iterator[Change]:
    if cast.note:
        yield Change(Outcome.REVIEW, load.call, cast.note)
    if is_parallel:
        yield Change(
            Outcome.REVIEW,
            load.call,
            "One process drove all cores; now torchrun starts one for each. Every process runs the whole script: "
            "guard prints and writes by neuron_shim.is_main_process().",
        )
    unknown = [item.arg for item in load.call.keywords if item.arg is not None and not _is_known(item.arg)]
    if unknown:
        message = (
            f"{', '.join(unknown)} may have been ignored before, and transformers refuses what neither it nor the "
            "configuration of the model knows: delete it if so."
        )
        yield Change(Outcome.MANUAL, load.call, message)
    instance = load.find("instance_type")
    if instance is not None and known(module, instance) in ("inf2", "trn1", "trn1n"):
        yield Change(
            Outcome.REVIEW,
            load.call,
            f"instance_type={module.source.segment(instance.value)} has no native successor: TorchNeuron runs on Trn2 "
            "and Trn3 only.",
        )


def _is_known(name: str) -> bool:
    """Whether a keyword of a load is one that goes, or one of transformers."""
    native = NATIVE_KEYWORDS | {*MODEL_KEYWORDS, "torch_dtype", "dtype", "use_auth_token"}
    return name in consumed_keywords() or name in native


# Settings ---------------------------------------------------------------------------------------------------------


def _settings(module: Module, load: Load, gone: list[str]) -> Iterator[AnyEdit]:
    yield from _keywords(module, load, gone)
    for splat in load.splats:
        yield from _splat(module, load, splat, gone)


def _keywords(module: Module, load: Load, gone: list[str]) -> Iterator[AnyEdit]:
    for item in load.call.keywords:
        name = item.arg
        if name is None:
            continue
        if name in consumed_keywords() or name in ("torch_dtype", "dtype", "low_cpu_mem_usage"):
            yield remove_argument(load.call, item)
            if name not in ("torch_dtype", "dtype"):
                gone.append(name)
        elif name == "use_auth_token":
            yield rename_argument(load.call, item, "token")
        elif name in MODEL_KEYWORDS and name != MODEL_KEYWORDS[-1]:
            yield rename_argument(load.call, item, MODEL_KEYWORDS[-1])
    if load.method == "export":
        assert isinstance(load.call.func, ast.Attribute)
        end = module.source.span(load.call.func)[1]
        yield Edit.replace((end - len("export"), end), "from_pretrained")


def _splat(module: Module, load: Load, splat: Splat, gone: list[str]) -> Iterator[AnyEdit]:
    """Empty a mapping of what goes, and drop it when nothing is left."""
    entries = [item for item in in_order(splat.holder) if isinstance(item, ast.keyword)]
    left = [item for item in entries if item.arg not in consumed_keywords() | {"torch_dtype", "dtype"}]
    gone += [item.arg for item in entries if item not in left and item.arg not in ("torch_dtype", "dtype", None)]
    if left and not splat.is_read:
        for item in entries:
            if item not in left:
                yield remove_argument(splat.holder, item)
            elif item.arg == "use_auth_token":
                yield rename_argument(splat.holder, item, "token")
        return
    yield remove_argument(load.call, splat.item)
    for item in left:
        name = "token" if item.arg == "use_auth_token" else item.arg or ""
        yield CallEdit(load.call, added=((name, module.source.segment(item.value)),))
    if splat.binding is not None and not splat.is_read:
        yield from assignment_goes(splat.binding)


def _source(module: Module, load: Load) -> Iterator[AnyEdit]:
    """The original model in the place of the folder."""
    text = original_text(module, load)
    named = folder_text(module, load.source) if load.original is not None else None
    if text is not None and named is not None:
        yield Edit.replace(module.source.span(named), text)
    elif text is not None:
        assert load.model is not None
        yield CallEdit(load.call, values=((in_order(load.call).index(load.model), text),))


def tp_size(module: Module, load: Load) -> tuple[str, str] | None:
    """The arguments of ``parallel_sizes`` and the launch line of a load over several cores; None for one core."""
    given = load.find(*CORES)
    if given is None or known(module, given) in (1, None):
        return None
    model = load.source
    source = original_text(module, load)
    if source is None and model is not None and is_plain(model):
        source = module.source.segment(model)
    heads = f", model={source}" if source is not None else ""
    if _is_discovered(module, given):
        return f"fsdp_size=1{heads}", ""
    size = known(module, given)
    text = text_at(module, given.value, load.call)
    if text is None:
        return f"fsdp_size=1{heads}", ""
    return f"tp_size={text}{heads}", f"TP_SIZE={size}" if isinstance(size, int) else ""


def _is_discovered(module: Module, given: Given) -> bool:
    """Whether a number of cores is all that the machine has: each process of a run sees one."""
    for origin in origins(module, given.value):
        if isinstance(origin, ast.Call):
            symbol = module.symbol(module.resolve(origin.func))
            if symbol is not None and symbol.name in _DISCOVERED:
                return True
    return False


def _compiled(module: Module, load: Load) -> Iterator[AnyEdit]:
    """``compile_static`` behind the load where it is an assignment of its own, else around it."""
    name = local_name(module, COMPILE)
    statement = module.parent(load.call)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and is_plain(statement.targets[0]):
        target = module.source.segment(statement.targets[0])
        yield InsertLines(statement, (f"{target} = {name}({target})",), after=True)
        return
    yield Edit.around(module.source.span(load.call), f"{name}(", ")")


# Configurations ---------------------------------------------------------------------------------------------------


def _configs(module: Module, done: tuple[Load, ...]) -> Iterator[Change]:
    """The ``neuron_config`` that only such loads were given goes, and so does the import of its class."""
    message = "The configuration of the compiled model goes: its settings are where the model is loaded."
    statements = {load.config_binding.statement for load in done if load.config_binding is not None}
    for statement in sorted(statements, key=lambda item: item.lineno):
        yield Change(Outcome.REWRITTEN, statement, message, (RemoveStatement(statement),))
    for binding in _config_imports(module, done):
        yield Change(Outcome.REWRITTEN, binding.node, message, (EraseImport(binding),))


def _config_imports(module: Module, done: tuple[Load, ...]) -> Iterator[Binding]:
    """The imports of configuration classes that only these loads used."""
    made = {load.config.func for load in done if load.config is not None}
    for binding, symbol in imported(module):
        uses = {reference.node for reference in module.references(binding)}
        if symbol.name in CONFIG_CLASSES and uses and uses <= made:
            yield binding


CASES = (
    Case(
        "shapes and casts in mappings",
        """import torch
from optimum.neuron import NeuronModelForSequenceClassification
from transformers import AutoTokenizer

model_id = "my/model"
compiler_args = {"auto_cast": "matmul", "auto_cast_type": "bf16"}
input_shapes = {"batch_size": 1, "sequence_length": 128}
model = NeuronModelForSequenceClassification.from_pretrained(
    model_id, export=True, **input_shapes, **compiler_args
)
""",
        """import torch
from neuron_shim import compile_static, neuron_device
from transformers import AutoModelForSequenceClassification, AutoTokenizer

model_id = "my/model"
model = AutoModelForSequenceClassification.from_pretrained(
    model_id, device_map=neuron_device(), dtype=torch.bfloat16
)
model = compile_static(model)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.REVIEW),
    ),
    Case(
        "a class of that name from elsewhere",
        """from mine import NeuronModelForCausalLM

model = NeuronModelForCausalLM.from_pretrained("my/model", export=True, batch_size=1)
""",
    ),
    Case(
        "the exporter of another runtime",
        """from optimum.onnxruntime import ORTModelForSequenceClassification

model = ORTModelForSequenceClassification.from_pretrained("my/model", export=True)
""",
    ),
    Case(
        "a parameter of that name",
        """def load(NeuronModelForCausalLM):
    return NeuronModelForCausalLM.from_pretrained("my/model", export=True)
""",
    ),
    Case(
        "the training class of that name",
        """from optimum.neuron.models.training import NeuronModelForCausalLM

model = NeuronModelForCausalLM.from_pretrained("my/model")
""",
    ),
    Case("the native class", "from transformers import AutoModelForCausalLM\n\nprint(AutoModelForCausalLM)\n"),
)
