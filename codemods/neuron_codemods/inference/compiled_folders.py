"""Drops the saving of a compiled model that is loaded again in the same file, and pushes to a repository by its id.

The folder held the compiled graph, which native PyTorch neither writes nor reads: weights are those of the original
model, and compiled graphs are kept in a cache of the machine. `push_to_hub` took a folder first; natively the first
argument is the repository.

https://huggingface.co/docs/transformers/model_sharing
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import AnyEdit, CallEdit, Change, RemoveStatement
from neuron_codemods.inference.loads import Load, folder_key, load_of, loads, original_text, writes
from neuron_codemods.inference.uses import rewritten_loads
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.named_folders import folder_text
from neuron_codemods.values import in_order, keyword, remove_argument, rename_argument

RULE = Rule(
    code="NM204",
    name="compiled-model-folder",
    summary="save_pretrained and push_to_hub of a compiled model: nothing to store, or the repository first.",
    url="https://huggingface.co/docs/transformers/model_sharing",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW),
)


def check(module: Module) -> Iterator[Change]:
    done = rewritten_loads(module)
    if not done:
        return
    again = {load.exported_by.call: load for load in done if load.exported_by is not None}
    read = {folder_key(module, load.source) for load in loads(module) if load.exported_by is not None}
    yield from _preprocessors(module, done)
    for call, model, places in writes(module):
        load = load_of(module, model)
        if load is None or load.call not in {item.call for item in done}:
            continue
        assert isinstance(call.func, ast.Attribute)
        if call.func.attr == "push_to_hub":
            yield from _push(module, call)
            continue
        statement = module.parent(call)
        is_paired = (load.call in again or load.exported_by is not None) and any(
            folder_key(module, place) in read for place in places
        )
        if statement is module.statement(load.call) and load.is_gone:
            continue
        if is_paired and isinstance(statement, ast.Expr):
            yield _saved(module, statement)
        else:
            message = "The folder holds the weights of the original model now, and no compiled graph."
            yield Change(Outcome.REVIEW, call, message)


def _preprocessors(module: Module, done: tuple[Load, ...]) -> Iterator[Change]:
    """Tokenizers and processors that lay in a compiled folder come from the original model."""
    kept = {
        folder_key(module, place)
        for _, model, places in writes(module)
        if load_of(module, model) is None
        for place in places
    }
    originals = {folder_key(module, load.source): load for load in done if load.exported_by or load.original}
    for call in module.calls:
        function = call.func
        if not isinstance(function, ast.Attribute) or function.attr != "from_pretrained" or not call.args:
            continue
        key = folder_key(module, call.args[0])
        if key is None or key in kept or key not in originals or call in {load.call for load in done}:
            continue
        if not (module.native(function.value) or "").startswith("transformers."):
            continue
        if originals[key].original is not None and folder_text(module, call.args[0]) is not None:
            continue  # the variable names the original model
        text = original_text(module, originals[key], call)
        if text is not None:
            edit = CallEdit(call, values=((in_order(call).index(call.args[0]), text),))
            message = "It comes from the original model: the compiled folder is not written any more."
            yield Change(Outcome.REWRITTEN, call, message, (edit,))
        else:
            message = "The compiled folder is not written any more: name the original model here."
            yield Change(Outcome.REVIEW, call, message)


def _saved(module: Module, statement: ast.Expr) -> Change:
    message = "The compiled folder goes: it was written only to be loaded again, and nothing is exported natively."
    edit = RemoveStatement(statement)
    return Change(Outcome.REWRITTEN, statement.value, message, (edit,))


def _push(module: Module, call: ast.Call) -> Iterator[Change]:
    repository = keyword(call, "repository_id")
    if repository is None:
        return
    folder = keyword(call, "save_directory")
    edits: list[AnyEdit] = []
    if call.args:
        edits += [
            CallEdit(call, values=((in_order(call).index(call.args[0]), module.source.segment(repository.value)),)),
            remove_argument(call, repository),
        ]
    else:
        edits.append(rename_argument(call, repository, "repo_id"))
    if folder is not None:
        edits.append(remove_argument(call, folder))
    token = keyword(call, "use_auth_token")
    if token is not None:
        edits.append(rename_argument(call, token, "token"))
    message = (
        "The repository comes first, where the folder was. What is pushed are the weights of the original model: "
        "delete the call where that model is on the Hub already."
    )
    yield Change(Outcome.REVIEW, call, message, tuple(edits))


CASES = (
    Case(
        "pushed to a repository",
        """from optimum.neuron import NeuronModelForMaskedLM

model = NeuronModelForMaskedLM.from_pretrained("my/model", export=True, batch_size=1, sequence_length=64)
model.push_to_hub("folder", repository_id="me/model-neuron", use_auth_token=True)
""",
        """from optimum.neuron import NeuronModelForMaskedLM

model = NeuronModelForMaskedLM.from_pretrained("my/model", export=True, batch_size=1, sequence_length=64)
model.push_to_hub("me/model-neuron", token=True)
""",
        (Outcome.REVIEW,),
    ),
    Case(
        "saved and loaded again",
        """from optimum.neuron import NeuronModelForMaskedLM

model = NeuronModelForMaskedLM.from_pretrained("my/model", export=True, batch_size=1, sequence_length=64)
# Save it locally.
model.save_pretrained("folder")

model = NeuronModelForMaskedLM.from_pretrained("folder")
""",
        """from optimum.neuron import NeuronModelForMaskedLM

model = NeuronModelForMaskedLM.from_pretrained("my/model", export=True, batch_size=1, sequence_length=64)

model = NeuronModelForMaskedLM.from_pretrained("folder")
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "a model of transformers",
        """from transformers import AutoModel

model = AutoModel.from_pretrained("my/model")
model.save_pretrained("folder")
model.push_to_hub("me/model")
""",
    ),
    Case(
        "a tokenizer beside it",
        """from optimum.neuron import NeuronModelForMaskedLM
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("my/model")
tokenizer.save_pretrained("folder")
model = NeuronModelForMaskedLM.from_pretrained("my/model", export=True, batch_size=1, sequence_length=64)
""",
    ),
)
