"""Calls `transformers.pipeline` with the original model and the device, where Optimum Neuron's compiled or loaded one.

The shapes become padding and `batch_size` where the task takes them, the casts `dtype`. Tasks that transformers 5 no
longer has get a marker that says what to call instead.

https://huggingface.co/docs/transformers/main_classes/pipelines
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from neuron_codemods.data import Symbol
from neuron_codemods.edits import AnyEdit, CallEdit, Change, InsertLines, assignment_goes
from neuron_codemods.imports import local_name
from neuron_codemods.inference.casts import cast_of
from neuron_codemods.inference.compiled_models import COMPILE, DEVICE
from neuron_codemods.inference.loads import (
    CAUSAL,
    CORES,
    ENCODER,
    Given,
    Load,
    Problem,
    known,
    load_of,
    original_text,
    placed,
    text_at,
)
from neuron_codemods.inference.uses import Named, reached, rewritten_loads
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module, once
from neuron_codemods.renaming import is_called_otherwise, without_native
from neuron_codemods.scopes import Binding
from neuron_codemods.values import (
    constant,
    entries,
    in_order,
    is_plain,
    keyword,
    literal,
    named,
    remove_argument,
    rename_argument,
)

RULE = Rule(
    code="NM207",
    name="pipeline",
    summary="pipeline() of Optimum Neuron: transformers.pipeline with the original model, device, dtype and padding.",
    url="https://huggingface.co/docs/transformers/main_classes/pipelines",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

_GENERATES = "text-generation"
_GONE = {
    "question-answering": (
        "call AutoModelForQuestionAnswering, take the argmax of start_logits and of end_logits, and decode the tokens "
        "between"
    ),
    "summarization": "call generate() of AutoModelForSeq2SeqLM and decode what it returns",
    "translation": "call generate() of AutoModelForSeq2SeqLM and decode what it returns",
    "text2text-generation": "call generate() of AutoModelForSeq2SeqLM and decode what it returns",
}
_PADDED = {"text-classification": "", "sentiment-analysis": "", "fill-mask": "tokenizer_kwargs"}
"""Tasks that pass padding on to the tokenizer: by themselves, or in a mapping of this name."""
_UNPADDED = frozenset({"feature-extraction", "token-classification", "ner", "zero-shot-classification"})
_MAPPINGS = ("input_shapes", "compiler_args")
_DROPPED = frozenset({"export", "sequence_length", "auto_cast", "auto_cast_type", *_MAPPINGS, *CORES})
_POSITIONAL = ("task", "model", "tokenizer", "feature_extractor")


@dataclass(frozen=True, eq=False)
class Pipeline:
    """A call of ``optimum.neuron.pipeline``."""

    call: ast.Call
    task: str
    load: Load
    """Its settings, as if it were a load of the model."""
    variables: tuple[Binding, ...]
    """Variables that hold nothing but a mapping of settings."""
    model: Load | None
    """The load of the model, where an object is given."""
    problem: Problem | None = None


def _is_pipeline(symbol: Symbol) -> bool:
    return symbol.name == "pipeline" and is_called_otherwise(symbol)


@once
def _pipelines(module: Module) -> tuple[Pipeline, ...]:
    found = []
    for call in module.calls if module.uses_neuron else ():
        split = module.split(module.resolve(call.func))
        if split is not None and not split[1] and _is_pipeline(split[0]):
            found.append(_read(module, call, split[0]))
    return tuple(found)


@once
def _named(module: Module) -> tuple[tuple[Named, tuple[Problem, ...]], ...]:
    by_call = {item.call: item for item in _pipelines(module)}
    found = []
    for name in reached(module, _is_pipeline):
        problems = []
        for use in name.uses:
            above = module.parent(use)
            item = by_call.get(above) if isinstance(above, ast.Call) and above.func is use else None
            if item is None:
                message = "its arguments cannot be told here. Call transformers.pipeline with the original model."
                problems.append(Problem(use, message))
            elif item.problem is not None:
                problems.append(item.problem)
        found.append((name, tuple(problems)))
    return tuple(found)


@once
def rewritten_pipelines(module: Module) -> tuple[Pipeline, ...]:
    """The pipelines that are rewritten: they are called by name, and all uses of the name are understood."""
    understood = {use for name, problems in _named(module) if not problems for use in name.uses}
    return tuple(item for item in _pipelines(module) if item.call.func in understood)


def check(module: Module) -> Iterator[Change]:
    for name, problems in _named(module):
        for problem in dict.fromkeys(problems):
            yield Change(Outcome.MANUAL, problem.node, f"pipeline: {problem.message}")
        if not problems:
            yield Change(Outcome.REWRITTEN, name.node, name.symbol.message, (name.edit,))
    for item in rewritten_pipelines(module):
        yield from _pipeline(module, item)
    yield from without_native(module, {"pipeline"})


# Reading ----------------------------------------------------------------------------------------------------------


def _read(module: Module, call: ast.Call, symbol: Symbol) -> Pipeline:
    task = constant(module, _argument(call, "task"))
    task = task if isinstance(task, str) else ""
    settings = {item.arg: Given(call, item) for item in call.keywords if item.arg is not None}
    variables, problem = _mappings(module, call, settings)
    load = Load(call, symbol, CAUSAL if task == _GENERATES else ENCODER, settings=settings)
    model = _argument(call, "model")
    held = load_of(module, model) if isinstance(model, (ast.Name, ast.Attribute)) else None
    problem = problem or _task_problem(module, call, task)
    if len(call.args) > len(_POSITIONAL) or any(isinstance(argument, ast.Starred) for argument in call.args):
        problem = problem or Problem(call, "pass the arguments by keyword, and run neuron-migrate again.")
    if problem is None and any(item.arg is None for item in call.keywords):
        problem = Problem(
            call, "what ** holds cannot be told here. Write it into the call, and run neuron-migrate again."
        )
    cores = load.find(*CORES)
    if problem is None and cores is not None and known(module, cores) not in (1, None):
        problem = Problem(
            call,
            'pass model_kwargs={"distributed_config": DistributedConfig(tp_size=...)} in the place of the cores, and '
            "start the script with torchrun.",
        )
    if problem is None and held is None and model is not None:
        load, problem = _model(module, load, model)
    if problem is None and held is not None and held not in rewritten_loads(module):
        problem = Problem(call, "its model is not rewritten: see there.")
    return Pipeline(call, task, load, tuple(variables), held, problem)


def _model(module: Module, load: Load, model: ast.expr) -> tuple[Load, Problem | None]:
    exported = load.find("export")
    if exported is not None and known(module, exported) is True:
        return load, None
    found = placed(module, load, model)
    return found, found.problem


def _argument(call: ast.Call, name: str) -> ast.expr | None:
    given = keyword(call, name)
    if given is not None:
        return given.value
    index = _POSITIONAL.index(name)
    return call.args[index] if index < len(call.args) else None


def _task_problem(module: Module, call: ast.Call, task: str) -> Problem | None:
    if not task and _argument(call, "task") is not None:
        return Problem(
            call,
            "the task is decided at run time, and transformers 5 has no question-answering, summarization, "
            "translation or text2text-generation. Call transformers.pipeline with the original model for the others.",
        )
    for gone, advice in _GONE.items():
        if task == gone or task.startswith(f"{gone}_"):
            return Problem(call, f"transformers 5 has no {task} pipeline: {advice}.")
    return None


def _mappings(module: Module, call: ast.Call, settings: dict[str, Given]) -> tuple[list[Binding], Problem | None]:
    """Read the mappings of settings into ``settings``."""
    variables = []
    for name in _MAPPINGS:
        given = keyword(call, name)
        if given is None or literal(given.value) is None:
            continue
        node = given.value
        if isinstance(node, ast.Name):
            binding = module.binding(node)
            if binding is not None and binding.value is not None and len(binding.scope.bindings[binding.name]) == 1:
                if [reference.node for reference in module.references(binding)] == [node]:
                    variables.append(binding)
                node = binding.value
        if not isinstance(node, ast.Dict) or any(entry.arg is None for entry in entries(node)):
            text = module.source.segment(given.value)
            return variables, Problem(
                call, f"what {text} holds cannot be told here. Write it into the call, and run neuron-migrate again."
            )
        for entry in named(node):
            settings.setdefault(entry.arg or "", Given(node, entry))
    return variables, None


# Rewriting --------------------------------------------------------------------------------------------------------


def _pipeline(module: Module, item: Pipeline) -> Iterator[Change]:
    call, load = item.call, item.load
    settings = replace(load, exported_by=item.model) if item.model is not None else load
    edits: list[AnyEdit] = [edit for binding in item.variables for edit in assignment_goes(binding)]
    requires: list[str] = []
    for index, argument in enumerate(call.args[2:], start=2):
        edits.append(rename_argument(call, argument, _POSITIONAL[index]))
    for given in call.keywords:
        if given.arg in _DROPPED:
            edits.append(remove_argument(call, given))
        elif given.arg == "use_auth_token":
            edits.append(rename_argument(call, given, "token"))
        elif given.arg == "torch_dtype":
            edits.append(rename_argument(call, given, "dtype"))
    edits += _model_text(module, item)
    added: list[tuple[str, str]] = []
    cast = cast_of(module, load)
    if item.model is None:
        if keyword(call, "device", "device_map") is None:
            added.append(("device", f"{local_name(module, DEVICE)}()"))
            requires.append(DEVICE)
        if cast.text is not None and keyword(call, "dtype", "torch_dtype") is None:
            added.append(("dtype", cast.text))
    added += _shapes(module, item, settings)
    edits.append(CallEdit(call, added=tuple(added)))
    if item.task not in (_GENERATES, "automatic-speech-recognition") and item.model is None:
        compiled = _compiled(module, item)
        edits += compiled
        requires += [COMPILE] if compiled else []
    message = "transformers.pipeline runs the original model on the device; export, shapes and compiler arguments go."
    yield Change(Outcome.REWRITTEN, call, message, tuple(edits), tuple(requires))
    yield from _reviews(module, item, settings, cast.note if item.model is None else "")


def _model_text(module: Module, item: Pipeline) -> Iterator[AnyEdit]:
    text = original_text(module, item.load)
    if text is not None:
        model = keyword(item.call, "model") or item.call.args[_POSITIONAL.index("model")]
        yield CallEdit(item.call, values=((in_order(item.call).index(model), text),))


def _shapes(module: Module, item: Pipeline, settings: Load) -> Iterator[tuple[str, str]]:
    batch = settings.find("batch_size")
    if batch is not None and keyword(item.call, "batch_size") is None and known(module, batch) != 1:
        text = text_at(module, batch.value, item.call)
        if text is not None:
            yield "batch_size", text
    length = settings.find("sequence_length")
    text = text_at(module, length.value, item.call) if length is not None else None
    if item.task == _GENERATES:
        if keyword(item.call, "cache_implementation") is None:
            yield "cache_implementation", '"static"'
        if text not in (None, "None"):
            yield "max_cache_len", str(text)
    elif text is not None and item.task in _PADDED:
        inside = _PADDED[item.task]
        if inside:
            yield inside, f'{{"padding": "max_length", "max_length": {text}, "truncation": True}}'
        else:
            yield from (("padding", '"max_length"'), ("max_length", text), ("truncation", "True"))


def _is_lost(module: Module, item: Pipeline, given: Given | None) -> bool:
    return given is not None and known(module, given) is not None and text_at(module, given.value, item.call) is None


def _compiled(module: Module, item: Pipeline) -> list[AnyEdit]:
    statement = module.parent(item.call)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and is_plain(statement.targets[0]):
        target = module.source.segment(statement.targets[0])
        name = local_name(module, COMPILE)
        return [InsertLines(statement, (f"{target}.model = {name}({target}.model)",), after=True)]
    return []


def _reviews(module: Module, item: Pipeline, settings: Load, note: str) -> Iterator[Change]:
    if note:
        yield Change(Outcome.REVIEW, item.call, note)
    if item.task in _UNPADDED and settings.find("sequence_length") is not None:
        message = f"The {item.task} pipeline does not pad to one length: on Neuron every new length compiles anew."
        yield Change(Outcome.REVIEW, item.call, message)
    lost = [name for name in ("batch_size", "sequence_length") if _is_lost(module, item, settings.find(name))]
    if lost:
        message = f"{' and '.join(lost)} of the compiled model cannot be seen here: pass what the pipeline pads to."
        yield Change(Outcome.REVIEW, item.call, message)
    if item.task == _GENERATES:
        message = (
            "A pipeline moves prompts to the device, where a text that grows compiles at every length: where speed "
            "matters call generate() with prompts on the CPU."
        )
        yield Change(Outcome.REVIEW, item.call, message)
    if item.load.assumed:
        message = "If this repository holds a compiled model, name the original one."
        yield Change(Outcome.REVIEW, item.call, message)


CASES = (
    Case(
        "an exported model with shapes and casts",
        """from optimum.neuron import pipeline

input_shapes = {"batch_size": 2, "sequence_length": 64}
classify = pipeline("text-classification", model="my/model", export=True, input_shapes=input_shapes)
""",
        """from neuron_shim import compile_static, neuron_device
from transformers import pipeline

classify = pipeline(
    "text-classification",
    model="my/model",
    device=neuron_device(),
    dtype="float32",
    batch_size=2,
    padding="max_length",
    max_length=64,
    truncation=True,
)
classify.model = compile_static(classify.model)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "a task that is gone",
        """from optimum.neuron import pipeline

answer = pipeline("question-answering", model="my/model", export=True)
""",
        """from optimum.neuron import pipeline

# TODO(neuron-migrate NM207): pipeline: transformers 5 has no question-answering pipeline: call \
AutoModelForQuestionAnswering, take the argmax of start_logits and of end_logits, and decode the tokens between: \
https://huggingface.co/docs/transformers/main_classes/pipelines
answer = pipeline("question-answering", model="my/model", export=True)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "another name for it",
        """from optimum.neuron import pipeline

make = pipeline
classify = make("text-classification", export=True)
""",
        f"""from optimum.neuron import pipeline

# TODO(neuron-migrate NM207): pipeline: its arguments cannot be told here. Call transformers.pipeline with the \
original model: {RULE.url}
make = pipeline
classify = make("text-classification", export=True)
""",
        (Outcome.MANUAL,),
    ),
    Case("a function of that name", "from mine import pipeline\n\npipe = pipeline('fill-mask', export=True)\n"),
    Case("a pipeline of scikit-learn", "from sklearn import pipeline\n\npipe = pipeline.make_pipeline()\n"),
    Case("a pipeline of transformers", "from transformers import pipeline\n\npipe = pipeline('fill-mask')\n"),
)
