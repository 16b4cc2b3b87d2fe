"""Saves models and adapters with the keywords that `save_pretrained` still takes.

The old models wrote shards of their own, at once or in the background, with the optimizer beside them if asked.
Natively every rank calls `save_pretrained`, the main one writes whole safetensors, and saving waits.

https://huggingface.co/docs/transformers/main_classes/model#transformers.PreTrainedModel.save_pretrained
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.training.objects import ADAPTERS, MODEL, owner
from neuron_codemods.training.parallel import trains
from neuron_codemods.values import literal, remove_argument, rename_argument

RULE = Rule(
    code="NM138",
    name="saving",
    summary="save_pretrained of trained models and adapters: keywords of the old shard format go.",
    url="https://huggingface.co/docs/transformers/main_classes/model#transformers.PreTrainedModel.save_pretrained",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

_GONE = {
    "async_save": "saving waits until the files are written",
    "is_main_process": "every rank calls it and the main one writes",
    "safe_serialization": "weights are always safetensors",
    "use_xser": "weights are always safetensors",
    "num_local_ranks_per_step": "the main rank writes",
}


def check(module: Module) -> Iterator[Change]:
    if not trains(module):
        return
    for call in module.calls:
        function = call.func
        if not (isinstance(function, ast.Attribute) and function.attr == "save_pretrained"):
            continue
        kind = owner(module, function.value)
        if kind in (MODEL, ADAPTERS):
            yield from _keywords(call, kind)


def _keywords(call: ast.Call, kind: str) -> Iterator[Change]:
    for given in call.keywords:
        name = given.arg or ""
        if name == "convert_pissa_to_lora" and kind == ADAPTERS:
            edit = rename_argument(call, given, "path_initial_model_for_weight_conversion")
            message = f"{name} is called path_initial_model_for_weight_conversion."
            yield Change(Outcome.REWRITTEN, given, message, (edit,))
        elif name == "optimizer" and kind == MODEL and literal(given.value) is not None:
            message = "optimizer is not saved by save_pretrained: save optimizer.state_dict() beside the model."
            yield Change(Outcome.MANUAL, given, message)
        elif name in _GONE and not (kind == ADAPTERS and name in ("is_main_process", "safe_serialization")):
            edit = remove_argument(call, given)
            yield Change(Outcome.REWRITTEN, given, f"{name} goes: {_GONE[name]}.", (edit,))


_HEAD = """from optimum.neuron.models.training import NeuronModelForCausalLM

model = NeuronModelForCausalLM.from_pretrained("my/model", trn_config)
"""

CASES = (
    Case(
        "keywords of the shard format",
        f'{_HEAD}model.save_pretrained("out", is_main_process=True, safe_serialization=False)\n',
        f'{_HEAD}model.save_pretrained("out")\n',
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "adapters",
        """from optimum.neuron.peft import get_peft_model

model = get_peft_model(base, config)
model.save_pretrained("out", async_save=True, convert_pissa_to_lora="first")
""",
        """from optimum.neuron.peft import get_peft_model

model = get_peft_model(base, config)
model.save_pretrained("out", path_initial_model_for_weight_conversion="first")
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "an optimizer that would not be saved",
        f'{_HEAD}model.save_pretrained("out", optimizer=optimizer)\n',
        f"""{_HEAD}# TODO(neuron-migrate NM138): optimizer is not saved by save_pretrained: save \
optimizer.state_dict() beside the model: \
https://huggingface.co/docs/transformers/main_classes/model#transformers.PreTrainedModel.save_pretrained
model.save_pretrained("out", optimizer=optimizer)
""",
        (Outcome.MANUAL,),
    ),
    Case("nothing but a folder", f'{_HEAD}model.save_pretrained("out")\n'),
    Case("a tokenizer", f'{_HEAD}tokenizer.save_pretrained("out", safe_serialization=False)\n'),
    Case(
        "a native model",
        """from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("my/model")
model.save_pretrained("out", is_main_process=True)
""",
    ),
)
