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


def check(module: Module) -> Iterator[Change]:
    if not module.renames or not uses_libraries(module):
        return
    for call in module.calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in _METHODS:
            continue
        if _is_of_diffusers_or_peft(module, call.func.value):
            continue
        given = keyword(call, "safe_serialization")
        if given is not None and literal(given.value) is not True:
            text = module.source.segment(given.value)
            message = (
                f"safe_serialization={text} goes: transformers 5 writes model.safetensors, no pytorch_model.bin, so "
                "look at what reads the file."
            )
            yield Change(Outcome.REVIEW, given, message, (remove_argument(call, given),))


def _is_of_diffusers_or_peft(module: Module, node: ast.expr) -> bool:
    """Whether something comes from a library in which the keyword means what it says."""
    binding = module.binding(node) if isinstance(node, ast.Name) else None
    value = binding.value if binding is not None else None
    native = module.native(value.func) if isinstance(value, ast.Call) else None
    return (native or "").partition(".")[0] in ("diffusers", "peft", "sentence_transformers")


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
