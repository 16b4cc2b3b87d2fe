"""Reports `safe_serialization=False`: models are always saved as safetensors.

transformers 5 passes over the keyword in silence, so what reads `pytorch_model.bin` afterwards finds no such file.

https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renames.libraries import uses_libraries
from neuron_codemods.values import keyword, literal, remove_argument

RULE = Rule(
    code="NM732",
    name="always-safetensors",
    summary="save_pretrained(safe_serialization=False) writes safetensors all the same.",
    url="https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md",
    outcomes=(Outcome.REVIEW,),
)

_METHODS = frozenset({"save_pretrained", "push_to_hub"})
_OTHERS = frozenset({"diffusers", "peft", "sentence_transformers"})
"""Libraries in which the keyword means what it says."""
_MESSAGE = "transformers 5 writes model.safetensors, no pytorch_model.bin, so look at what reads the file."


def check(module: Module) -> Iterator[Change]:
    if not module.renames or not uses_libraries(module):
        return
    for call in module.calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in _METHODS:
            continue
        library = _library(module, call.func.value)
        given = keyword(call, "safe_serialization")
        if library in _OTHERS or given is None or literal(given.value) is True:
            continue
        text = f"safe_serialization={module.source.segment(given.value)}"
        if library == "transformers":
            yield Change(Outcome.REVIEW, given, f"{text} goes: {_MESSAGE}", (remove_argument(call, given),))
        else:
            yield Change(
                Outcome.REVIEW, given, f"{text} changes nothing if this is a model of transformers: {_MESSAGE}"
            )


def _library(module: Module, node: ast.expr) -> str:
    """The library that something comes from, as far as its assignment tells."""
    binding = module.binding(node) if isinstance(node, ast.Name) else None
    value = binding.value if binding is not None else None
    native = module.native(value.func) if isinstance(value, ast.Call) else None
    return (native or "").partition(".")[0]


CASES = (
    Case(
        "a model as pickled weights",
        """from transformers import AutoModel

model = AutoModel.from_pretrained("my/model")
model.save_pretrained("out", safe_serialization=False)
""",
        """from transformers import AutoModel

model = AutoModel.from_pretrained("my/model")
model.save_pretrained("out")
""",
        (Outcome.REVIEW,),
    ),
    Case(
        "adapters, where it means what it says",
        """from peft import get_peft_model
from transformers import AutoModel

model = get_peft_model(base, config)
model.save_pretrained("out", safe_serialization=False)
""",
    ),
    Case(
        "what may be a pipeline of diffusers",
        """import diffusers
from transformers import AutoModel

pipe = getattr(diffusers, name).from_pretrained(path)
pipe.save_pretrained("out", safe_serialization=False)
""",
        outcomes=(Outcome.REVIEW,),
    ),
    Case(
        "as safetensors",
        """from transformers import AutoModel

model.save_pretrained("out", safe_serialization=True)
""",
    ),
    Case(
        "a file without the libraries",
        """def save(model):
    model.save_pretrained("out", safe_serialization=False)
""",
    ),
)
