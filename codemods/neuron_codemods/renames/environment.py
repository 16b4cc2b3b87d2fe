"""Sets environment variables of the hub and of transformers under the names that are read now.

transformers 5 reads no cache folder of its own and no WANDB_DISABLED; the hub library has one name for each thing.

https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.data.renames import renames
from neuron_codemods.edits import Change, Edit
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module

RULE = Rule(
    code="NM750",
    name="renamed-variable",
    summary="TRANSFORMERS_CACHE is HF_HUB_CACHE; WANDB_DISABLED is no longer read.",
    url="https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW),
)

_ENVIRON = "os.environ"
_FUNCTIONS = frozenset(
    {"os.getenv", "os.putenv", "os.environ.get", "os.environ.setdefault", "os.environ.pop", "os.unsetenv"}
)


def check(module: Module) -> Iterator[Change]:
    if not module.renames:
        return
    table = renames("variable")[_ENVIRON]
    strings = [node for node in module.names.strings if node.value in table and _is_key(module, node)]
    present = {node.value for node in module.names.strings}
    for node in strings:
        row = table[str(node.value)]
        if row.action == "drop":
            yield Change(Outcome.REVIEW, node, f"{row.old}: {row.message[0].lower()}{row.message[1:]}")
            continue
        text = module.source.segment(node)
        if row.new in present or not module.is_placed(node) or text[1:-1] != node.value:
            yield Change(Outcome.REVIEW, node, f"{row.old} is called {row.new}: set that one.")
            continue
        edit = Edit.replace(module.source.span(node), f"{text[0]}{row.new}{text[-1]}")
        yield Change(Outcome.REWRITTEN, node, f"{row.old} is called {row.new}.", (edit,))


def _is_key(module: Module, node: ast.Constant) -> bool:
    above = module.parent(node)
    if isinstance(above, ast.Subscript):
        return module.resolve(above.value) == _ENVIRON
    if isinstance(above, ast.Call) and above.args and above.args[0] is node:
        return module.resolve(above.func) in _FUNCTIONS
    return False


CASES = (
    Case(
        "the cache and the token",
        """import os

os.environ["TRANSFORMERS_CACHE"] = "/data/cache"
token = os.environ.get('HUGGING_FACE_HUB_TOKEN')
""",
        """import os

os.environ["HF_HUB_CACHE"] = "/data/cache"
token = os.environ.get('HF_TOKEN')
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "a switch that nobody reads",
        """import os

os.environ["WANDB_DISABLED"] = "true"
""",
        outcomes=(Outcome.REVIEW,),
    ),
    Case(
        "variables of today",
        """import os

os.environ["HF_HOME"] = "/data"
os.environ["WANDB_PROJECT"] = "mine"
""",
    ),
    Case(
        "the same names elsewhere",
        """import os

settings = {"TRANSFORMERS_CACHE": "/data"}
settings["WANDB_DISABLED"] = os.environ["HOME"]
print("TRANSFORMERS_CACHE")
""",
    ),
)
