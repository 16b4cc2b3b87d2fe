"""Makes a `SentenceTransformer` of the models that compiled one, with its calls and results as that library has them.

`SentenceTransformer` takes the tensors as one mapping and gives a mapping back, where the compiled model took keywords
and gave an object with attributes. Texts are padded to the compiled length, so that one graph serves them all.

https://sbert.net/docs/package_reference/sentence_transformer/SentenceTransformer.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import AnyEdit, CallEdit, Change, Edit, InsertLines, assignment_goes
from neuron_codemods.imports import local_name
from neuron_codemods.inference.casts import cast_of
from neuron_codemods.inference.compiled_models import COMPILE, DEVICE
from neuron_codemods.inference.flow import origins
from neuron_codemods.inference.inputs import ModelCall, model_calls
from neuron_codemods.inference.loads import (
    CORES,
    SENTENCE,
    TEXT,
    Load,
    consumed_keywords,
    dropping,
    known,
    load_of,
    original_text,
    text_at,
)
from neuron_codemods.inference.uses import rewritten_loads
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.values import behind, in_order, is_plain, keyword, named, remove_argument, rename_argument

RULE = Rule(
    code="NM208",
    name="sentence-transformer",
    summary="NeuronModelForSentenceTransformers, NeuronSentenceTransformers, NeuronModelForEmbedding: their calls.",
    url="https://sbert.net/docs/package_reference/sentence_transformer/SentenceTransformer.html",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

_RENAMED = {
    "use_auth_token": "token",
    "cache_dir": "cache_folder",
    **dict.fromkeys(("model_id", "pretrained_model_name_or_path"), "model_name_or_path"),
}
_RESULTS = frozenset({"sentence_embedding", "token_embeddings"})
_DROPPED = frozenset({"subfolder", "library_name", "torch_dtype", "dtype", "low_cpu_mem_usage", "config"})
_SHARED = (
    "This calls other models too, which take keywords: call a SentenceTransformer with one mapping, model(inputs), "
    'and read ["sentence_embedding"] of what comes back.'
)
_DOES_ITSELF = frozenset({"padding", "truncation", "max_length", "return_tensors"})


def check(module: Module) -> Iterator[Change]:
    for load in rewritten_loads(module):
        if load.family == SENTENCE:
            yield from _load(module, load)
    items = [item for item in model_calls(module) if item.load.family == SENTENCE]
    calls = {item.call for item in items if not _is_shared(module, item)}
    for item in items:
        if item.call not in calls:
            yield Change(Outcome.MANUAL, item.call, _SHARED)
        else:
            yield from _call(module, item)
    models = any(load.family == SENTENCE for load in rewritten_loads(module))
    for node in module.names.attributes if models else ():
        if node.attr in _RESULTS and any(origin in calls for origin in origins(module, node.value)):
            edit = Edit.replace(behind(module, node.value, node), f'["{node.attr}"]')
            yield Change(Outcome.REWRITTEN, node, f"The result is a mapping with {node.attr} in it.", (edit,))
        elif node.attr == "tokenize":
            yield from _tokenize(module, node)


def _is_shared(module: Module, item: ModelCall) -> bool:
    """Whether the call is also one of a model that this file loads otherwise, which takes keywords."""
    return any(
        isinstance(origin, ast.Call) and load_of(module, origin) is None for origin in origins(module, item.model)
    )


# The load ---------------------------------------------------------------------------------------------------------


def _load(module: Module, load: Load) -> Iterator[Change]:
    call = load.call
    if load.is_gone:
        message = "The compiled folder goes: the original model is loaded once and used as it is."
        yield Change(Outcome.REWRITTEN, call, message, tuple(dropping(module, load)))
        return
    assert isinstance(call.func, ast.Attribute)
    edits: list[AnyEdit] = [Edit.delete(behind(module, call.func.value, call.func))]
    gone = consumed_keywords() | _DROPPED
    for item in call.keywords:
        if item.arg in gone:
            edits.append(remove_argument(call, item))
        elif item.arg in _RENAMED:
            edits.append(rename_argument(call, item, _RENAMED[item.arg]))
    for splat in load.splats:
        edits.append(remove_argument(call, splat.item))
        for entry in named(splat.holder):
            if entry.arg is not None and entry.arg not in gone:
                name = _RENAMED.get(entry.arg, entry.arg)
                edits.append(CallEdit(call, added=((name, module.source.segment(entry.value)),)))
        if splat.binding is not None and not splat.is_read:
            edits += assignment_goes(splat.binding)
    text = original_text(module, load)
    if text is not None:
        assert load.model is not None
        edits.append(CallEdit(call, values=((in_order(call).index(load.model), text),)))
    cast = cast_of(module, load)
    added = [("device", f"{local_name(module, DEVICE)}()")]
    if cast.text is not None:
        added.append(("model_kwargs", f'{{"dtype": {cast.text}}}'))
    edits.append(CallEdit(call, added=tuple(added)))
    after, is_padded = _after(module, load)
    edits += after
    message = "The original model is loaded on the device and compiles on its first call."
    yield Change(Outcome.REWRITTEN, call, message, tuple(edits), (DEVICE, COMPILE))
    if not is_padded:
        message = (
            "Texts are no longer padded to the length that the model was compiled for, so each length compiles anew: "
            "assign the model to a variable and set processing_kwargs of its first module."
        )
        yield Change(Outcome.REVIEW, call, message)
    if cast.note:
        yield Change(Outcome.REVIEW, call, cast.note)
    cores = load.find(*CORES)
    if cores is not None and known(module, cores) not in (1, None):
        message = "The model runs on one core now; start several processes to use more of them."
        yield Change(Outcome.REVIEW, call, message)


def _after(module: Module, load: Load) -> tuple[list[AnyEdit], bool]:
    """Padding to the compiled length, and compilation, behind the load; and whether no such length is lost."""
    name = local_name(module, COMPILE)
    statement = module.parent(load.call)
    given = load.find(*TEXT)
    is_fixed = given is not None and known(module, given) is not None
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and is_plain(statement.targets[0]):
        target = module.source.segment(statement.targets[0])
        length = text_at(module, given.value, load.call) if given is not None and is_fixed else None
        lines = [f"{target} = {name}({target})"]
        if length is not None:
            padding = f'{{"padding": "max_length", "max_length": {length}, "truncation": True}}'
            lines.insert(0, f'{target}[0].processing_kwargs = {{"text": {padding}}}')
        return [InsertLines(statement, tuple(lines), after=True)], length is not None or not is_fixed
    return [Edit.around(module.source.span(load.call), f"{name}(", ")")], not is_fixed


# Calls ------------------------------------------------------------------------------------------------------------


def _call(module: Module, item: ModelCall) -> Iterator[Change]:
    call = item.call
    if len(call.keywords) == 1 and not call.args and call.keywords[0].arg is None:
        splat = call.keywords[0]
        stars, value = module.source.tokens_between(*module.source.span(splat))[:2]
        edits: list[AnyEdit] = [Edit.delete((stars.start, value.start))]
    elif call.keywords and not call.args and all(given.arg is not None for given in call.keywords):
        if keyword(call, "pixel_values") is not None:
            message = (
                "SentenceTransformer takes texts and images one after the other: call model.encode() for each, in the "
                "place of this call."
            )
            yield Change(Outcome.MANUAL, call, message)
            return
        inside = ", ".join(f'"{given.arg}": {module.source.segment(given.value)}' for given in call.keywords)
        first, last = call.keywords[0], call.keywords[-1]
        span = module.source.span(first)[0], module.source.span(last)[1]
        edits = [Edit.replace(span, f"{{{inside}}}")]
    elif len(call.args) > 1 or call.keywords:
        message = 'SentenceTransformer takes one mapping: pass {"input_ids": ..., "attention_mask": ...}.'
        yield Change(Outcome.MANUAL, call, message)
        return
    else:
        return
    message = "The tensors are passed as one mapping."
    if item.load.symbol.name == "NeuronModelForEmbedding":
        edits.append(Edit.insert(module.source.span(call)[1], '["sentence_embedding"]'))
        message += (
            " The embedding is pooled, and normalized where the model says so, by the library: its shape is (batch, "
            "size), without tokens."
        )
        yield Change(Outcome.REVIEW, call, message, tuple(edits))
        return
    yield Change(Outcome.REWRITTEN, call, message, tuple(edits))


def _tokenize(module: Module, node: ast.Attribute) -> Iterator[Change]:
    call = module.parent(node)
    load = load_of(module, node.value)
    if not isinstance(call, ast.Call) or call.func is not node or load is None or load.family != SENTENCE:
        return
    edits: list[AnyEdit] = [remove_argument(call, item) for item in call.keywords if item.arg in _DOES_ITSELF]
    end = module.source.span(node)[1]
    edits.append(Edit.replace((end - len(node.attr), end), "preprocess"))
    yield Change(Outcome.REWRITTEN, node, "tokenize is called preprocess, and pads by itself.", tuple(edits))


CASES = (
    Case(
        "a model, its call and its results",
        """from optimum.neuron import NeuronModelForSentenceTransformers
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("my/model")
model = NeuronModelForSentenceTransformers.from_pretrained("my/model", export=True, batch_size=1, sequence_length=384)
outputs = model(**tokenizer("Hello", return_tensors="pt"))
print(outputs.sentence_embedding, outputs.token_embeddings)
""",
        """from optimum.neuron import NeuronModelForSentenceTransformers
from transformers import AutoTokenizer
from neuron_shim import compile_static, neuron_device

tokenizer = AutoTokenizer.from_pretrained("my/model")
model = NeuronModelForSentenceTransformers("my/model", device=neuron_device(), model_kwargs={"dtype": "float32"})
model[0].processing_kwargs = {"text": {"padding": "max_length", "max_length": 384, "truncation": True}}
model = compile_static(model)
outputs = model(tokenizer("Hello", return_tensors="pt"))
print(outputs["sentence_embedding"], outputs["token_embeddings"])
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "a call that two models share",
        """from optimum.neuron import NeuronModelForSentenceTransformers
from transformers import AutoModel


def embed(model, inputs):
    return model(**inputs)


embed(AutoModel.from_pretrained("my/model"), inputs)
second = NeuronModelForSentenceTransformers.from_pretrained("my/model", export=True)
embed(second, inputs)
""",
        """from optimum.neuron import NeuronModelForSentenceTransformers
from transformers import AutoModel
from neuron_shim import compile_static, neuron_device


def embed(model, inputs):
    # TODO(neuron-migrate NM208): This calls other models too, which take keywords: call a SentenceTransformer with \
one mapping, model(inputs), and read ["sentence_embedding"] of what comes back: \
https://sbert.net/docs/package_reference/sentence_transformer/SentenceTransformer.html
    return model(**inputs)


embed(AutoModel.from_pretrained("my/model"), inputs)
second = NeuronModelForSentenceTransformers(
    "my/model",
    device=neuron_device(),
    model_kwargs={"dtype": "float32"},
)
second = compile_static(second)
embed(second, inputs)
""",
        (Outcome.MANUAL, Outcome.REWRITTEN),
    ),
    Case(
        "texts that the model encodes",
        """from optimum.neuron import NeuronSentenceTransformers

model = NeuronSentenceTransformers.from_pretrained("my/model", export=True, sequence_length=128, torch_dtype="float16")
embeddings = model.encode(["Hello"])
features = model.tokenize(["Hello"], padding=True, return_tensors="pt")
""",
        """from optimum.neuron import NeuronSentenceTransformers
from neuron_shim import compile_static, neuron_device

model = NeuronSentenceTransformers("my/model", device=neuron_device(), model_kwargs={"dtype": "float16"})
model[0].processing_kwargs = {"text": {"padding": "max_length", "max_length": 128, "truncation": True}}
model = compile_static(model)
embeddings = model.encode(["Hello"])
features = model.preprocess(["Hello"])
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "the library's own class",
        """from sentence_transformers import SentenceTransformer

model = SentenceTransformer("my/model")
embedding = model.encode("Hello")
""",
    ),
    Case(
        "a folder that was compiled elsewhere",
        """from optimum.neuron import NeuronSentenceTransformers

model = NeuronSentenceTransformers.from_pretrained("folder/")
embedding = model.encode("Hello")
""",
    ),
)
