"""Pads what tokenizers and processors make to the shape the model was compiled for, and moves it to the device.

An Optimum Neuron model padded its inputs to the compiled shape, on the CPU. Natively every new shape compiles anew,
and inputs must lie where the model does.

https://huggingface.co/docs/transformers/pad_truncation
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import AnyEdit, CallEdit, Change, Edit
from neuron_codemods.imports import local_name
from neuron_codemods.inference.casts import cast_of
from neuron_codemods.inference.compiled_models import DEVICE
from neuron_codemods.inference.inputs import OTHER, TEXT, ModelCall, is_derived, kind_of, model_calls
from neuron_codemods.inference.loads import AUDIO, CAUSAL, ENCODER, Given, Load, text_at
from neuron_codemods.inference.loads import TEXT as LENGTH
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.values import constant, has_splat, keyword, literal, replace_value

RULE = Rule(
    code="NM203",
    name="static-inputs",
    summary="Calls of tokenizers and processors: padding to the compiled length, and the device of the model.",
    url="https://huggingface.co/docs/transformers/pad_truncation",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

_PER_TOKEN = ("AutoModel", "BertModel", "MaskedLM", "QuestionAnswering", "TokenClassification")
_LENGTH = "padding", "max_length", "truncation"


def check(module: Module) -> Iterator[Change]:
    done: dict[ast.Call, ModelCall] = {}
    for item in model_calls(module):
        if item.load.family == CAUSAL:
            continue
        for prepared in item.prepared:
            done.setdefault(prepared, item)
        yield from _unprepared(module, item)
        if not item.generates:
            yield from _outputs(module, item)
    for prepared, item in done.items():
        yield from _prepared(module, prepared, item)
    for call in module.calls:
        yield from _to_numpy(module, call)


# What is made -----------------------------------------------------------------------------------------------------


def _prepared(module: Module, call: ast.Call, item: ModelCall) -> Iterator[Change]:
    load = item.load
    edits: list[AnyEdit] = []
    requires: tuple[str, ...] = ()
    parts = []
    outcome = Outcome.REWRITTEN
    given = _length(module, load, call)
    length = text_at(module, given.value, call) if given is not None else None
    padded = list(_padded(module, call, length or "")) if given is not None else []
    if padded and given is not None and length is None:
        outcome = Outcome.REVIEW
        text = module.source.segment(given.value)
        parts.append(f"pad them to {text}, the length that the model was compiled for, or every other compiles anew")
    elif padded and has_splat(call):
        outcome = Outcome.REVIEW
        parts.append(f"what ** holds has to pad to {length}, the length that the model was compiled for")
    elif padded:
        edits += padded
        parts.append(f"inputs are padded to {length}, the length that the model was compiled for")
        if keyword(call, "truncation") is None:
            outcome = Outcome.REVIEW
            parts.append("longer ones, which were refused, are cut")
    if not _is_moved(module, call) and keyword(call, "return_tensors") is not None:
        target = _device(module, call, item)
        if target is None:
            target = f"{local_name(module, DEVICE)}()"
            requires = (DEVICE,)
        target += _dtype(module, call, item.load, target)
        edits.append(Edit.insert(module.source.span(call)[1], f".to({target})"))
        parts.append("inputs move to the device of the model")
    if parts:
        message = "; ".join(parts)
        yield Change(outcome, call, f"{message[0].upper()}{message[1:]}.", tuple(edits), requires)


def _length(module: Module, load: Load, call: ast.Call) -> Given | None:
    """The length that a model was compiled for, where a call makes inputs that have one."""
    kind = kind_of(module, call)
    given = load.find(*LENGTH) if kind == TEXT else load.find(*AUDIO) if kind == OTHER else None
    if given is None and keyword(call, "text") is not None:
        given = load.find(*LENGTH)
    return given


def _padded(module: Module, call: ast.Call, length: str) -> Iterator[AnyEdit]:
    padding, limit, truncation = (keyword(call, name) for name in _LENGTH)
    added = []
    if padding is None:
        added.append(("padding", '"max_length"'))
    elif constant(module, padding.value) != "max_length":
        yield replace_value(call, padding, '"max_length"')
    if limit is None:
        added.append(("max_length", length))
    if truncation is None:
        added.append(("truncation", "True"))
    elif literal(truncation.value) is False:
        yield replace_value(call, truncation, "True")
    if added:
        yield CallEdit(call, added=tuple(added))


def _is_moved(module: Module, call: ast.Call) -> bool:
    """Whether what a call makes is moved to a device already."""
    above = module.parent(call)
    if isinstance(above, ast.Attribute) and above.attr in ("to", "cuda"):
        return True
    if isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Name):
        name = above.targets[0].id
        return any(
            isinstance(other.func, ast.Attribute)
            and other.func.attr == "to"
            and isinstance(other.func.value, ast.Name)
            and other.func.value.id == name
            for other in module.calls
        )
    return False


def _device(module: Module, call: ast.Call, item: ModelCall) -> str | None:
    """``model.device``, where the model is known under the same name when the inputs are made."""
    target = item.model
    if isinstance(target, ast.Attribute):
        same = isinstance(target.value, ast.Name) and target.value.id == "self" and _same_class(module, target, call)
        is_known = same and not _is_set_later(module, target, call)
        return f"{module.source.segment(target)}.device" if is_known else None
    assert isinstance(target, ast.Name)
    home = module.scope(target).home(target.id)
    assert home is not None, "the name holds a load of this module"
    if module.scope(call).home(target.id) is not home:
        return None
    bindings = home.bindings[target.id]
    is_first = all(binding.statement.lineno < call.lineno for binding in bindings)
    outside = home.is_module and module.function(call) is not None
    is_parameter = all(isinstance(binding.node, ast.arg) for binding in bindings)
    return f"{target.id}.device" if is_first or outside or is_parameter else None


def _is_set_later(module: Module, target: ast.Attribute, call: ast.Call) -> bool:
    """Whether the function that a call stands in sets an attribute after the call."""
    return any(
        other.attr == target.attr
        and isinstance(other.ctx, ast.Store)
        and other.lineno > call.lineno
        and module.function(other) is module.function(call)
        for other in module.names.attributes
    )


def _dtype(module: Module, call: ast.Call, load: Load, target: str) -> str:
    """The precision for inputs that are no tokens, where the model has another than theirs."""
    cast = cast_of(module, load).text
    if kind_of(module, call) == TEXT or cast is None or cast.strip('"').endswith("float32"):
        return ""
    return f", {target.removesuffix('.device')}.dtype" if target.endswith(".device") else f", {cast}"


def _same_class(module: Module, first: ast.AST, second: ast.AST) -> bool:
    owners = [
        next((above for above in module.ancestors(node) if isinstance(above, ast.ClassDef)), None)
        for node in (first, second)
    ]
    return owners[0] is owners[1] is not None


# What is called and comes back ------------------------------------------------------------------------------------


def _unprepared(module: Module, item: ModelCall) -> Iterator[Change]:
    if not item.unknown:
        return
    given = item.load.find(*LENGTH, *AUDIO)
    length = text_at(module, given.value, item.call) if given is not None else None
    padded = f" and padded to {length}" if length is not None else ""
    shown = ", ".join(module.source.segment(node) for node in item.unknown)
    yield Change(
        Outcome.MANUAL,
        item.call,
        f"Where {shown} comes from cannot be told here: have it moved to model.device{padded}, in one shape for all "
        "calls.",
    )


def _outputs(module: Module, item: ModelCall) -> Iterator[Change]:
    given = item.load.find(*LENGTH)
    if given is not None and item.prepared and item.load.native.endswith(_PER_TOKEN):
        yield Change(
            Outcome.REVIEW,
            item.call,
            "Outputs for each token cover the padding too; they were cut to the length of the input. Use "
            "attention_mask to leave the padding out.",
        )


def _to_numpy(module: Module, call: ast.Call) -> Iterator[Change]:
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr != "numpy" or call.args or call.keywords:
        return
    value = function.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "cpu":
        return
    if any(item.load.family == ENCODER for item in model_calls(module)) and is_derived(module, value):
        edit = Edit.insert(module.source.span(value)[1], ".cpu()")
        yield Change(Outcome.REWRITTEN, call, "Outputs lie on the device; numpy takes those of the CPU.", (edit,))


CASES = (
    Case(
        "a tokenizer that feeds the model",
        """from optimum.neuron import NeuronModelForSequenceClassification
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("my/model")
model = NeuronModelForSequenceClassification.from_pretrained("my/model", export=True, batch_size=1, sequence_length=64)
inputs = tokenizer("Hello", return_tensors="pt")
logits = model(**inputs).logits.detach().numpy()
""",
        """from optimum.neuron import NeuronModelForSequenceClassification
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("my/model")
model = NeuronModelForSequenceClassification.from_pretrained("my/model", export=True, batch_size=1, sequence_length=64)
inputs = tokenizer("Hello", return_tensors="pt", padding="max_length", max_length=64, truncation=True).to(model.device)
logits = model(**inputs).logits.detach().cpu().numpy()
""",
        (Outcome.REVIEW, Outcome.REWRITTEN),
    ),
    Case(
        "a tokenizer whose tokens are only counted",
        """from optimum.neuron import NeuronModelForSequenceClassification
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("my/model")
model = NeuronModelForSequenceClassification.from_pretrained("my/model", export=True, batch_size=1, sequence_length=64)
print(len(tokenizer("Hello", return_tensors="pt")["input_ids"]))
""",
    ),
    Case(
        "arrays of something else",
        """from optimum.neuron import NeuronModelForSequenceClassification

model = NeuronModelForSequenceClassification.from_pretrained("my/model", export=True, batch_size=1, sequence_length=64)
labels = frame["labels"].numpy()
""",
    ),
    Case(
        "a tokenizer that feeds another model",
        """from transformers import AutoModel, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("my/model")
model = AutoModel.from_pretrained("my/model")
hidden = model(**tokenizer("Hello", return_tensors="pt")).last_hidden_state.numpy()
""",
    ),
)
