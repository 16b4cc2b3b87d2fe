"""Writes out the compiled shapes that a script read from the model: `model.neuron_config.batch_size` and its like.

A native model has no compiled shapes to ask for; the values are those that the script compiled it with.

https://huggingface.co/docs/transformers/main_classes/model
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.data import members
from neuron_codemods.edits import Change, Edit
from neuron_codemods.inference.loads import BATCH, CAUSAL, CORES, SENTENCE, TEXT, Load, load_of, text_at
from neuron_codemods.inference.uses import rewritten_loads
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.values import literal

RULE = Rule(
    code="NM206",
    name="compiled-settings",
    summary="Reads of model.neuron_config, model.config.neuron and other attributes of compiled models.",
    url="https://huggingface.co/docs/transformers/main_classes/model",
    outcomes=(Outcome.REWRITTEN, Outcome.MANUAL),
)

_SETTINGS = {
    **dict.fromkeys(("batch_size", "static_batch_size", "max_batch_size"), BATCH),
    **dict.fromkeys(("sequence_length", "static_sequence_length", "max_length", "n_positions"), TEXT),
    **dict.fromkeys(("tp_degree", "tensor_parallel_size", "num_cores"), CORES),
}
_OF_MODEL = frozenset({"batch_size", "max_length"})
"""What a decoder itself said of its shapes."""
_KEPT = frozenset({"push_to_hub", "save_pretrained", "to", "generate", "parameters", "model", "encode"})


def check(module: Module) -> Iterator[Change]:
    done = rewritten_loads(module)
    for node in module.names.attributes if done else ():
        found = _read(module, node)
        if found is None:
            continue
        whole, load, name = found
        if load not in done:
            continue
        given = load.find(*_SETTINGS[name]) if name in _SETTINGS else None
        text = text_at(module, given.value, whole) if given is not None else None
        if text is not None and isinstance(getattr(whole, "ctx", ast.Load()), ast.Load):
            is_number_before = text.isdigit() and isinstance(module.parent(whole), ast.Attribute)
            edit = Edit.replace(module.source.span(whole), f"({text})" if is_number_before else text)
            yield Change(Outcome.REWRITTEN, whole, f"{name} is what the model was compiled for.", (edit,))
        else:
            shown = module.source.segment(whole)
            message = f"{shown}: a native model has no such attribute. Write the value down in your own code."
            yield Change(Outcome.MANUAL, whole, message)


def _read(module: Module, node: ast.Attribute) -> tuple[ast.expr, Load, str] | None:
    """What reads a setting of a compiled model as a whole, the load of that model, and the name of the setting."""
    if node.attr == "neuron_config":
        return _of(module, node, load_of(module, node.value))
    if node.attr == "neuron" and isinstance(node.value, ast.Attribute) and node.value.attr == "config":
        return _of(module, node, load_of(module, node.value.value))
    if node.attr in _OF_MODEL or (node.attr in members("traced_model") and node.attr not in _KEPT):
        if isinstance(node.value, ast.Name) and not _is_called(module, node):
            load = load_of(module, node.value)
            if load is not None and load.family != SENTENCE and (load.family == CAUSAL or node.attr not in _OF_MODEL):
                return node, load, node.attr
    return None


def _is_called(module: Module, node: ast.Attribute) -> bool:
    above = module.parent(node)
    return isinstance(above, ast.Call) and above.func is node


def _of(module: Module, node: ast.Attribute, load: Load | None) -> tuple[ast.expr, Load, str] | None:
    if load is None:
        return None
    above = module.parent(node)
    if isinstance(above, ast.Attribute):
        return above, load, above.attr
    if isinstance(above, ast.Subscript) and above.value is node:
        key = literal(above.slice)
        return above, load, key if isinstance(key, str) else ""
    return node, load, ""


CASES = (
    Case(
        "the batch size and the length",
        """from optimum.neuron import NeuronModelForCausalLM

model = NeuronModelForCausalLM.from_pretrained("my/model", export=True, batch_size=4, sequence_length=2048)
print(model.neuron_config.batch_size, model.config.neuron["static_batch_size"], model.max_length)
""",
        """from optimum.neuron import NeuronModelForCausalLM

model = NeuronModelForCausalLM.from_pretrained("my/model", export=True, batch_size=4, sequence_length=2048)
print(4, 4, 2048)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "what the script did not say",
        """from optimum.neuron import NeuronModelForCausalLM

model = NeuronModelForCausalLM.from_pretrained("my/model", export=True)
print(model.neuron_config.batch_size)
""",
        """from optimum.neuron import NeuronModelForCausalLM

model = NeuronModelForCausalLM.from_pretrained("my/model", export=True)
# TODO(neuron-migrate NM206): model.neuron_config.batch_size: a native model has no such attribute. Write the value \
down in your own code: https://huggingface.co/docs/transformers/main_classes/model
print(model.neuron_config.batch_size)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "a configuration of one's own",
        """from optimum.neuron import NeuronModelForCausalLM

model = NeuronModelForCausalLM.from_pretrained("my/model", export=True, batch_size=4)
model.tag = "mine"
print(model.tag, model.generation_config.max_new_tokens, model.config.vocab_size)
""",
    ),
    Case(
        "attributes of something else",
        """from optimum.neuron import NeuronModelForCausalLM

model = NeuronModelForCausalLM.from_pretrained("my/model", export=True, batch_size=4)
print(args.batch_size, other.neuron_config.batch_size, model.config.hidden_size)
""",
    ),
)
