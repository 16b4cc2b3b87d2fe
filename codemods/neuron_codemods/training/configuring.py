"""Prepares the Neuron device before a model is loaded.

TorchNeuron needs weights loaded in one thread and no automatic dynamic shapes; a run over several processes on a
machine without an accelerator must be told to use its CPUs. `configure()` of the shim does the three, and nothing
where none is needed.

https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from neuron_codemods.edits import Change, InsertLines
from neuron_codemods.imports import Use, first_import, last_import, local_name, optional_import
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.training.parallel import loads, trains
from neuron_codemods.values import all_arguments, trainers

RULE = Rule(
    code="NM140",
    name="configure",
    summary="configure() after the imports of a script that trains.",
    url="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html",
)

CONFIGURE = "neuron_shim.configure"


def check(module: Module) -> Iterator[Change]:
    if needs_configuring(module) and not is_configured(module):
        yield replace(configured(module, _calls(module), "a model"), launch="")


def configured(module: Module, calls: Sequence[ast.Call], what: str) -> Change:
    """``configure()`` below the imports, above the first of these calls that the file itself makes.

    Where the imports from Optimum Neuron are optional, it is optional too.
    """
    line = f"{local_name(module, CONFIGURE)}()"
    uses = [Use(module.source.span(call)[0], call) for call in calls if module.function(call) is None]
    optional = _optional_import(module, calls)
    anchor = optional or last_import(module, uses) or first_import(module, uses)
    if anchor is None:
        anchor = module.statement(min(calls, key=lambda call: call.lineno))
        edit = InsertLines(anchor, (line,))
    elif _is_blank_below(module, anchor):
        edit = InsertLines(anchor, ("", line), after=True)
    else:
        edit = InsertLines(anchor, (line,) if optional else ("", line, ""), after=True)
    message = f"configure() prepares the device before {what} is loaded."
    return Change(Outcome.REWRITTEN, anchor, message, (edit,), (CONFIGURE,))


def _optional_import(module: Module, calls: Sequence[ast.Call]) -> ast.stmt | None:
    """The import from Optimum Neuron without which none of these calls is made, if a script can do without it."""
    found = optional_import(module)
    if found is None or not all(_is_made_after(module, call, found) for call in calls):
        return None
    block = module.block(found)
    bindings = (module.binding(node) for call in calls for node in ast.walk(call.func) if isinstance(node, ast.Name))
    is_needed = any(binding is not None and binding.statement in block for binding in bindings)
    return found if is_needed else None


def _is_made_after(module: Module, call: ast.Call, statement: ast.stmt) -> bool:
    """Whether a call is only made once a statement was run: in the same function, or anywhere if that has none."""
    function = module.function(statement)
    if function is None:
        return module.function(call) is not None or call.lineno > statement.lineno
    return function in module.ancestors(call)


def _is_blank_below(module: Module, statement: ast.stmt) -> bool:
    source = module.source
    end = source.line_end(source.span(statement)[1] - 1)
    return not source.text[end : source.line_end(end)].strip()


def _calls(module: Module) -> list[ast.Call]:
    """The calls that training on Neuron is made of."""
    return [*(made.call for made in all_arguments(module)), *(load.call for load in loads(module)), *trainers(module)]


def needs_configuring(module: Module) -> bool:
    """Whether a script makes what training on Neuron is made of."""
    return trains(module) and bool(_calls(module))


def is_configured(module: Module) -> bool:
    """Whether a script prepares the device already, through the shim or by what stands in its place without it."""
    if "HF_DEACTIVATE_ASYNC_LOAD" in module.source.text:
        return True
    shim = (node for node in module.names.imports if isinstance(node, ast.ImportFrom) and node.module == "neuron_shim")
    return any(alias.name == "configure" for node in shim for alias in node.names)


CASES = (
    Case(
        "after the imports",
        '''"""Train."""
import os

from optimum.neuron import NeuronTrainingArguments

args = NeuronTrainingArguments("out")
''',
        '''"""Train."""
import os

from optimum.neuron import NeuronTrainingArguments
from neuron_shim import configure

configure()

args = NeuronTrainingArguments("out")
''',
        (Outcome.REWRITTEN,),
    ),
    Case(
        "above a comment, and above an if that imports as it works",
        """import os
from optimum.neuron import NeuronTrainingArguments
# Settings
if not os.path.exists("prepared"):
    from transformers import AutoModel
    AutoModel.from_pretrained("my/model").save_pretrained("prepared")
args = NeuronTrainingArguments("out")
""",
        """import os
from optimum.neuron import NeuronTrainingArguments
from neuron_shim import configure

configure()

# Settings
if not os.path.exists("prepared"):
    from transformers import AutoModel
    AutoModel.from_pretrained("my/model").save_pretrained("prepared")
args = NeuronTrainingArguments("out")
""",
    ),
    Case(
        "once",
        """from neuron_shim import configure
from optimum.neuron import NeuronTrainingArguments

configure()
args = NeuronTrainingArguments("out")
""",
    ),
    Case(
        "a module that only derives a trainer",
        """from optimum.neuron import NeuronTrainer


class MyTrainer(NeuronTrainer):
    pass
""",
    ),
    Case(
        "a script that does not train with Optimum Neuron",
        """from transformers import TrainingArguments

args = TrainingArguments("out")
""",
    ),
)
