"""Takes a `trn_config` out of the functions that passed it on to where a model is loaded.

The sizes are known where the model is loaded, so a parameter that only carried them there has nothing to carry any
more. It goes from the function and from each call, if all calls are in sight.

https://huggingface.co/docs/transformers/perf_infer_gpu_multi
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import AnyEdit, Change, Edit
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.training.configs import ConfigParameter, config_parameters
from neuron_codemods.values import remove_argument

RULE = Rule(
    code="NM152",
    name="config-parameter",
    summary="A parameter that only carried a trn_config to a model load goes.",
    url="https://huggingface.co/docs/transformers/perf_infer_gpu_multi",
)


def check(module: Module) -> Iterator[Change]:
    for found in config_parameters(module):
        name = found.parameter.arg
        message = f"The parameter {name} of {found.function.name} goes: the sizes are known where the model is loaded."
        edits: list[AnyEdit] = [Edit.delete(_stretch(module, found))]
        edits += [remove_argument(call, given) for call, given in found.given]
        yield Change(Outcome.REWRITTEN, found.parameter, message, tuple(edits))


def _stretch(module: Module, found: ConfigParameter) -> tuple[int, int]:
    """A parameter with the comma and the white space that belong to it."""
    source = module.source
    arguments = found.function.args
    names = [*arguments.posonlyargs, *arguments.args]
    index = names.index(found.parameter)
    start, end = source.span(found.parameter)
    if index + 1 < len(names):
        return start, source.span(names[index + 1])[0]
    if index:
        before = names[index - 1]
        offset = index - 1 - (len(names) - len(arguments.defaults))
        last: ast.AST = arguments.defaults[offset] if offset >= 0 else before
        return source.span(last)[1], end
    return start, end


_HEAD = """from optimum.neuron import NeuronTrainingArguments
from optimum.neuron.models.training import NeuronModelForCausalLM

"""

CASES = (
    Case(
        "the last parameter",
        f"""{_HEAD}
def load(model_id, trn_config):
    return NeuronModelForCausalLM.from_pretrained(model_id, trn_config)


args = NeuronTrainingArguments("out", tensor_parallel_size=8)
model = load("my/model", args.trn_config)
""",
        f"""{_HEAD}
def load(model_id):
    return NeuronModelForCausalLM.from_pretrained(model_id, trn_config)


args = NeuronTrainingArguments("out", tensor_parallel_size=8)
model = load("my/model")
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "by keyword, before others",
        f"""{_HEAD}
def load(trn_config, model_id="my/model"):
    return NeuronModelForCausalLM.from_pretrained(model_id, trn_config=trn_config)


args = NeuronTrainingArguments("out", tensor_parallel_size=8)
model = load(trn_config=args.trn_config, model_id="other/model")
""",
        f"""{_HEAD}
def load(model_id="my/model"):
    return NeuronModelForCausalLM.from_pretrained(model_id, trn_config=trn_config)


args = NeuronTrainingArguments("out", tensor_parallel_size=8)
model = load(model_id="other/model")
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "a function that nothing here calls",
        f"{_HEAD}\ndef load(trn_config):\n    return NeuronModelForCausalLM.from_pretrained('my/model', trn_config)\n",
    ),
    Case(
        "a function that is passed on",
        f"""{_HEAD}
def load(trn_config):
    return NeuronModelForCausalLM.from_pretrained("my/model", trn_config)


args = NeuronTrainingArguments("out")
run(load, load(args.trn_config))
""",
    ),
    Case(
        "a parameter that serves for more",
        f"""{_HEAD}
def load(trn_config):
    print(trn_config)
    return NeuronModelForCausalLM.from_pretrained("my/model", trn_config)


args = NeuronTrainingArguments("out")
load(args.trn_config)
""",
    ),
)
