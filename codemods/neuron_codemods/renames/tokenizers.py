"""Calls tokenizers as transformers 5 wants to be called: the tokenizer itself encodes, targets are `text_target=`.

`encode_plus` and its kin are gone, and keywords that were once deprecated are now passed over in silence: a
`pad_to_max_length=True` pads nothing any more. `apply_chat_template` returns a mapping unless told otherwise.

https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from neuron_codemods.data.renames import renames
from neuron_codemods.edits import AnyEdit, CallEdit, Change, Edit, Unwrap
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renames.libraries import LIBRARIES, uses_libraries
from neuron_codemods.values import behind, has_splat, keyword, literal, remove_argument, rename_argument, replace_value

RULE = Rule(
    code="NM731",
    name="renamed-tokenizer-method",
    summary="encode_plus, as_target_tokenizer, pad_to_max_length and others of a tokenizer.",
    url="https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

_CALLED = {"encode_plus": 2, "batch_encode_plus": 1}
"""Methods that the tokenizer itself replaces, with how many arguments mean the same by position."""
_TEXT = ("batch_text_or_text_pairs",)
_RENAMED = {"is_pretokenized": "is_split_into_words", "truncation_strategy": "truncation"}
_ENCODES = frozenset({*_CALLED, "encode", "pad", ""})


def check(module: Module) -> Iterator[Change]:
    if not module.renames or not (module.uses_neuron or uses_libraries(module)):
        return
    for attribute in module.names.attributes:
        if attribute.attr in _CALLED and is_tokenizer(module, attribute.value):
            yield _called(module, attribute)
        elif attribute.attr in _rows() and is_tokenizer(module, attribute.value):
            yield from _attribute(module, attribute)
    for call in module.calls:
        if is_tokenizer(module, call.func) or (
            isinstance(call.func, ast.Attribute)
            and call.func.attr in _ENCODES
            and is_tokenizer(module, call.func.value)
        ):
            yield from _keywords(call)
    if module.uses_neuron or _is_older(module):
        yield from _templates(module)


@cache
def _rows() -> dict[str, tuple[str, str]]:
    """The attributes in the table with their new spelling, if any, and what to do."""
    rows = renames("tokenizer")["PreTrainedTokenizer"]
    return {name: (row.new if row.action == "rename" else "", row.message) for name, row in rows.items()}


def is_tokenizer(module: Module, node: ast.AST) -> bool:
    """Whether an expression holds a tokenizer: by where it comes from, or else by its name."""
    if isinstance(node, ast.Attribute):
        return node.attr == "tokenizer" or node.attr.endswith("_tokenizer")
    if not isinstance(node, ast.Name):
        return False
    binding = module.binding(node)
    if binding is None or binding.is_import or isinstance(binding.node, (ast.ClassDef, ast.FunctionDef)):
        return False
    if isinstance(binding.value, ast.Call):
        native = module.native(binding.value.func)
        if native is not None and "." in native:
            kind = native.removesuffix(".from_pretrained").rpartition(".")[2]
            return native.partition(".")[0] in LIBRARIES and "Tokenizer" in kind
    if isinstance(binding.node, ast.arg) and binding.node.annotation is not None:
        native = module.native(binding.node.annotation) or ""
        if native:
            return native.partition(".")[0] in LIBRARIES and "Tokenizer" in native
    return node.id.lower().endswith("tokenizer")


def _called(module: Module, attribute: ast.Attribute) -> Change:
    """``tokenizer.encode_plus(...)`` is ``tokenizer(...)``."""
    call = module.parent(attribute)
    name = attribute.attr
    called = isinstance(call, ast.Call) and call.func is attribute and module.is_placed(attribute)
    if not isinstance(call, ast.Call) or not called or not _is_plain(call, _CALLED[name]):
        message = f"{name} is gone: call the tokenizer itself, with all but the text by keyword."
        return Change(Outcome.MANUAL, attribute, message)
    edits: list[AnyEdit] = [Edit.delete(behind(module, attribute.value, attribute))]
    text = keyword(call, *_TEXT)
    if text is not None:
        edits.append(rename_argument(call, text, "text"))
    return Change(Outcome.REWRITTEN, attribute, f"{name} is gone: the tokenizer itself encodes.", tuple(edits))


def _is_plain(call: ast.Call, most: int) -> bool:
    """Whether a call has so many arguments by position at most, all of them written out."""
    return len(call.args) <= most and not any(isinstance(argument, ast.Starred) for argument in call.args)


def _attribute(module: Module, attribute: ast.Attribute) -> Iterator[Change]:
    new, message = _rows()[attribute.attr]
    if attribute.attr == "as_target_tokenizer":
        yield _targets(module, attribute, message)
    elif new == "extra_special_tokens_ids":
        if module.is_placed(attribute) and isinstance(attribute.ctx, ast.Load):
            holder = module.source.segment(attribute.value)
            text = f"{holder}.convert_tokens_to_ids({holder}.extra_special_tokens)"
            edit = Edit.replace(module.source.span(attribute), text)
            yield Change(Outcome.REWRITTEN, attribute, f"{attribute.attr} is gone: its ids are looked up.", (edit,))
        else:
            yield Change(Outcome.MANUAL, attribute, f"{attribute.attr}: convert extra_special_tokens to ids.")
    elif new and module.is_placed(attribute):
        _, end = module.source.span(attribute)
        edit = Edit.replace((end - len(attribute.attr), end), new)
        yield Change(Outcome.REWRITTEN, attribute, f"{attribute.attr} is called {new}.", (edit,))
    else:
        yield Change(Outcome.MANUAL, attribute, f"{attribute.attr}: {message or f'it is called {new}.'}")


def _targets(module: Module, attribute: ast.Attribute, message: str) -> Change:
    """``with tokenizer.as_target_tokenizer(): labels = tokenizer(targets)`` is one call with ``text_target=``."""
    context = module.parent(attribute)
    item = module.parent(context) if context is not None else None
    statement = module.parent(item) if item is not None else None
    if isinstance(statement, ast.With) and len(statement.items) == 1 and statement.items[0].optional_vars is None:
        holder = ast.dump(attribute.value)
        inside = [node for body in statement.body for node in ast.walk(body)]
        calls = [node for node in inside if isinstance(node, ast.Call) and ast.dump(node.func) == holder]
        uses = [node for node in inside if isinstance(node, ast.expr) and ast.dump(node) == holder]
        firsts = [_first(call) for call in calls]
        if calls and len(uses) == len(calls) and all(first is not None for first in firsts):
            edits: list[AnyEdit] = [Unwrap(statement)]
            for call, first in zip(calls, firsts, strict=True):
                assert first is not None
                edits.append(rename_argument(call, first, "text_target"))
            told = "as_target_tokenizer is gone: targets are passed as text_target."
            return Change(Outcome.REWRITTEN, attribute, told, tuple(edits))
    return Change(Outcome.MANUAL, attribute, f"as_target_tokenizer: {message}")


def _first(call: ast.Call) -> ast.expr | ast.keyword | None:
    if len(call.args) == 1 and not isinstance(call.args[0], ast.Starred):
        return call.args[0]
    return keyword(call, "text") if not call.args else None


def _keywords(call: ast.Call) -> Iterator[Change]:
    for item in call.keywords:
        if item.arg == "pad_to_max_length":
            yield _padding(call, item)
        elif item.arg in _RENAMED and keyword(call, _RENAMED[item.arg]) is None:
            new = _RENAMED[item.arg]
            yield Change(Outcome.REWRITTEN, item, f"{item.arg} is called {new}.", (rename_argument(call, item, new),))


def _padding(call: ast.Call, item: ast.keyword) -> Change:
    padding = keyword(call, "padding")
    if literal(item.value) is False or (padding is not None and literal(padding.value) is not False):
        message = "pad_to_max_length goes: padding says how to pad."
        return Change(Outcome.REWRITTEN, item, message, (remove_argument(call, item),))
    if literal(item.value) is not True or padding is not None:
        message = 'Write padding="max_length" where pad_to_max_length is true: it is passed over in silence now.'
        return Change(Outcome.MANUAL, item, message)
    edits = (rename_argument(call, item, "padding"), replace_value(call, item, '"max_length"'))
    message = 'pad_to_max_length=True is padding="max_length"; it would be passed over in silence now.'
    return Change(Outcome.REWRITTEN, item, message, edits)


def _is_older(module: Module) -> bool:
    from neuron_codemods.renames.age import is_older

    return is_older(module)


def _templates(module: Module) -> Iterator[Change]:
    for call in module.calls:
        function = call.func
        if not (isinstance(function, ast.Attribute) and function.attr == "apply_chat_template"):
            continue
        if not is_tokenizer(module, function.value):
            continue
        tokenize = keyword(call, "tokenize")
        if keyword(call, "return_dict") is not None or (tokenize is not None and literal(tokenize.value) is False):
            continue
        if has_splat(call):
            message = "apply_chat_template returns a mapping unless return_dict=False is among its arguments."
            yield Change(Outcome.REVIEW, call, message)
            continue
        edit = CallEdit(call, added=(("return_dict", "False"),))
        message = "apply_chat_template returns a mapping by default now; return_dict=False keeps the ids alone."
        yield Change(Outcome.REWRITTEN, call, message, (edit,))


CASES = (
    Case(
        "the tokenizer itself encodes",
        """from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("my/model")
one = tokenizer.encode_plus(text, pair, max_length=128, pad_to_max_length=True, truncation=True)
many = tokenizer.batch_encode_plus(batch_text_or_text_pairs=texts, is_pretokenized=True)
print(tokenizer.additional_special_tokens, tokenizer.max_len)
""",
        """from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("my/model")
one = tokenizer(text, pair, max_length=128, padding="max_length", truncation=True)
many = tokenizer(text=texts, is_split_into_words=True)
print(tokenizer.extra_special_tokens, tokenizer.model_max_length)
""",
    ),
    Case(
        "in a data set that keeps its tokenizer",
        """import torch
import transformers


class Texts(torch.utils.data.Dataset):
    def __init__(self, texts, tokenizer):
        self.texts = texts
        self.tokenizer = tokenizer

    def __getitem__(self, index):
        return self.tokenizer.encode_plus(self.texts[index], None, add_special_tokens=True, max_length=64)
""",
        """import torch
import transformers


class Texts(torch.utils.data.Dataset):
    def __init__(self, texts, tokenizer):
        self.texts = texts
        self.tokenizer = tokenizer

    def __getitem__(self, index):
        return self.tokenizer(self.texts[index], None, add_special_tokens=True, max_length=64)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "targets",
        """from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("my/model")


def preprocess(examples):
    inputs = tokenizer(examples["text"], truncation=True)
    # Setup the tokenizer for targets
    with tokenizer.as_target_tokenizer():
        labels = tokenizer(examples["summary"], truncation=True)
    inputs["labels"] = labels["input_ids"]
    return inputs
""",
        """from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("my/model")


def preprocess(examples):
    inputs = tokenizer(examples["text"], truncation=True)
    # Setup the tokenizer for targets
    labels = tokenizer(text_target=examples["summary"], truncation=True)
    inputs["labels"] = labels["input_ids"]
    return inputs
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "ids of a chat in a script from before",
        """from transformers import AutoTokenizer, TrainingArguments

args = TrainingArguments("out", evaluation_strategy="no")
tokenizer = AutoTokenizer.from_pretrained("my/model")
ids = tokenizer.apply_chat_template(messages, return_tensors="pt")
text = tokenizer.apply_chat_template(messages, tokenize=False)
""",
        """from transformers import AutoTokenizer, TrainingArguments

args = TrainingArguments("out", evaluation_strategy="no")
tokenizer = AutoTokenizer.from_pretrained("my/model")
ids = tokenizer.apply_chat_template(messages, return_tensors="pt", return_dict=False)
text = tokenizer.apply_chat_template(messages, tokenize=False)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "what has no counterpart",
        """from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("my/model")
ids = tokenizer.build_inputs_with_special_tokens([1, 2])
""",
        """from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("my/model")
# TODO(neuron-migrate NM731): build_inputs_with_special_tokens: Call the tokenizer with the texts, or add the special \
ids yourself: https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md
ids = tokenizer.build_inputs_with_special_tokens([1, 2])
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "a tokenizer of another library",
        """from tokenizers import Tokenizer
from transformers import pipeline

tokenizer = Tokenizer.from_file("tokenizer.json")
tokenizer.encode_plus("text", pad_to_max_length=True)
""",
    ),
    Case(
        "an object that is none",
        """from transformers import AutoTokenizer

codec.encode_plus("text", pad_to_max_length=True)
with codec.as_target_tokenizer():
    codec("text")
""",
    ),
    Case(
        "calls of today",
        """from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("my/model")
batch = tokenizer(texts, padding="max_length", truncation=True)
ids = tokenizer.apply_chat_template(messages, return_tensors="pt")["input_ids"]
""",
    ),
    Case(
        "a file without the libraries",
        """def encode(tokenizer, text):
    return tokenizer.encode_plus(text)
""",
    ),
)
