"""Deletes or replaces helpers that transformers 5 and huggingface_hub dropped and that example scripts carried along.

`send_example_telemetry` reported usage and did nothing else; `is_torch_tpu_available` is gone from the top of
transformers; `HfFolder.get_token()` is `huggingface_hub.get_token()`.

https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from neuron_codemods.edits import AnyEdit, Change, Edit, EraseImport, RemoveStatement
from neuron_codemods.imports import must_keep_name
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.scopes import Binding
from neuron_codemods.xla import metrics, uses

RULE = Rule(
    code="NM701",
    name="removed-helper",
    summary="send_example_telemetry, is_torch_tpu_available, HfFolder: gone from the libraries.",
    url="https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md",
    outcomes=(Outcome.REWRITTEN, Outcome.MANUAL),
)

_TELEMETRY = frozenset({"transformers.utils.send_example_telemetry", "transformers.send_example_telemetry"})
_TPU = frozenset({"transformers.is_torch_tpu_available", "transformers.utils.is_torch_tpu_available"})
_FOLDER = frozenset(f"huggingface_hub.{module}HfFolder" for module in ("", "hf_api.", "utils."))
_ALL = _TELEMETRY | _TPU | _FOLDER


def check(module: Module) -> Iterator[Change]:
    if not module.renames:
        return
    for scope in module.names.module.walk():
        for bindings in scope.bindings.values():
            for binding in bindings:
                if binding.is_import and len(bindings) == 1:
                    yield from _helper(module, binding)


def _helper(module: Module, binding: Binding) -> Iterator[Change]:
    if binding.qualified not in _ALL:
        return
    kept = must_keep_name(module, binding)
    if kept is not None:
        message = f"{binding.name} is gone from the libraries, but {kept}: delete that and what uses it."
        yield Change(Outcome.MANUAL, binding.node, message)
    elif binding.qualified in _TELEMETRY:
        yield _telemetry(module, binding)
    elif binding.qualified in _TPU:
        yield _tpu(module, binding)
    else:
        yield _folder(module, binding)


def _telemetry(module: Module, binding: Binding) -> Change:
    edits: list[AnyEdit] = [EraseImport(binding)]
    for reference in module.references(binding):
        call = module.parent(reference.node)
        statement = module.parent(call) if call is not None else None
        if not (isinstance(call, ast.Call) and call.func is reference.node and isinstance(statement, ast.Expr)):
            message = "send_example_telemetry is gone from transformers: delete what uses it."
            return Change(Outcome.MANUAL, binding.node, message)
        edits.append(RemoveStatement(statement, with_comments=True))
    message = "send_example_telemetry and its call go: transformers dropped it, and it only reported usage."
    return Change(Outcome.REWRITTEN, binding.node, message, tuple(edits))


def _tpu(module: Module, binding: Binding) -> Change:
    """A TPU is not what these scripts ran on: the function answered False there, and False is what it becomes."""
    edits: list[AnyEdit] = [EraseImport(binding)]
    for reference in module.references(binding):
        call = module.parent(reference.node)
        if not (isinstance(call, ast.Call) and call.func is reference.node and module.is_placed(call)):
            message = "is_torch_tpu_available is gone from transformers: delete the branches for XLA devices."
            return Change(Outcome.MANUAL, binding.node, message)
        dead = _dead_imports(module, call)
        edits.append(RemoveStatement(dead) if dead is not None else _false(module, call))
    message = "is_torch_tpu_available() is False: transformers dropped it, and native PyTorch has no XLA device."
    return Change(Outcome.REWRITTEN, binding.node, message, tuple(edits))


def _dead_imports(module: Module, call: ast.Call) -> ast.If | None:
    """``if is_torch_tpu_available():`` with nothing but imports of XLA behind it, which never happen now."""
    above = module.parent(call)
    if not isinstance(above, ast.If) or above.test is not call or above.orelse or above not in module.block(above):
        return None
    is_elif = module.source.segment(above).startswith("elif")
    imports = [node for node in above.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    if len(imports) < len(above.body) or is_elif or _is_needed(module, imports):
        return None
    return above


def _is_needed(module: Module, imports: Sequence[ast.stmt]) -> bool:
    """Whether a name that only these imports bind has a use that no other rule takes away."""
    going = {
        next(node for node in ast.walk(use.node) if isinstance(node, ast.Name))
        for use in uses.all_uses(module)
        if (use.row.outcome is not Outcome.MANUAL and uses.called(module, use)) or metrics.is_printed(module, use)
    }
    return any(
        reference.node not in going
        for scope in module.names.module.walk()
        for bindings in scope.bindings.values()
        if all(binding.statement in imports for binding in bindings)
        for reference in module.references(bindings[0])
    )


def _false(module: Module, call: ast.Call) -> Edit:
    """False for a call; ``x and not call()`` is ``x``."""
    negation = module.parent(call)
    if not isinstance(negation, ast.UnaryOp) or not isinstance(negation.op, ast.Not):
        return Edit.replace(module.source.span(call), "False")
    both = module.parent(negation)
    if isinstance(both, ast.BoolOp) and isinstance(both.op, ast.And) and both.values[0] is not negation:
        before = both.values[both.values.index(negation) - 1]
        start, end = module.source.span(before)[1], module.source.span(negation)[1]
        if module.source.text[start:end].split() == f"and {module.source.segment(negation)}".split():
            return Edit.delete((start, end))
    return Edit.replace(module.source.span(negation), "True")


def _folder(module: Module, binding: Binding) -> Change:
    edits: list[AnyEdit] = [EraseImport(binding)]
    for reference in module.references(binding):
        attribute = module.parent(reference.node)
        call = module.parent(attribute) if attribute is not None else None
        if not (
            isinstance(attribute, ast.Attribute)
            and attribute.attr == "get_token"
            and isinstance(call, ast.Call)
            and module.is_placed(attribute)
        ):
            message = (
                "HfFolder is gone: huggingface_hub.get_token() reads the token, huggingface_hub.login() saves one."
            )
            return Change(Outcome.MANUAL, binding.node, message)
        edits.append(Edit.replace(module.source.span(attribute), "get_token"))
    message = "HfFolder.get_token() is huggingface_hub.get_token()."
    return Change(Outcome.REWRITTEN, binding.node, message, tuple(edits), ("huggingface_hub.get_token",))


CASES = (
    Case(
        "a token, from where HfFolder lay",
        """from huggingface_hub import login
from huggingface_hub.hf_api import HfFolder
from optimum.neuron import NeuronTrainer

NeuronTrainer()
login(token=HfFolder.get_token())
""",
        """from huggingface_hub import get_token, login
from optimum.neuron import NeuronTrainer

NeuronTrainer()
login(token=get_token())
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "telemetry of the example scripts",
        """from transformers.utils import check_min_version, send_example_telemetry
from optimum.neuron import NeuronTrainer


def main(model_args):
    check_min_version("4.30.0")

    # Sending telemetry.
    send_example_telemetry("run_clm", model_args)

    NeuronTrainer()
""",
        """from transformers.utils import check_min_version
from optimum.neuron import NeuronTrainer


def main(model_args):
    check_min_version("4.30.0")

    NeuronTrainer()
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "the branch for TPUs",
        """from transformers import is_torch_tpu_available
from optimum.neuron import NeuronTrainer

trainer = NeuronTrainer(
    compute_metrics=metrics if evaluates and not is_torch_tpu_available() else None,
)
""",
        """from optimum.neuron import NeuronTrainer

trainer = NeuronTrainer(
    compute_metrics=metrics if evaluates else None,
)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "imports for a TPU",
        """from transformers.utils import is_torch_tpu_available
from optimum.neuron import NeuronTrainer

if is_torch_tpu_available(check_device=False):
    import torch_xla.core.xla_model as xm

NeuronTrainer()
""",
        """from optimum.neuron import NeuronTrainer

NeuronTrainer()
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "imports for a TPU whose names stay in use",
        """from transformers import is_torch_tpu_available
from optimum.neuron import NeuronTrainer

if is_torch_tpu_available():
    import torch_xla.debug.metrics as met

NeuronTrainer(counters=met.counter_names, own=met.of_a_later_release)
""",
        """from optimum.neuron import NeuronTrainer

if False:
    import torch_xla.debug.metrics as met

NeuronTrainer(counters=met.counter_names, own=met.of_a_later_release)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "the token",
        """from huggingface_hub import HfFolder
from optimum.neuron import NeuronTrainer

NeuronTrainer(HfFolder.get_token())
""",
        """from huggingface_hub import get_token
from optimum.neuron import NeuronTrainer

NeuronTrainer(get_token())
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "a name that is exported",
        """from huggingface_hub import HfFolder
from optimum.neuron import NeuronTrainer

__all__ = ["HfFolder"]
""",
        "# TODO(neuron-migrate NM701): HfFolder is gone from the libraries, but __all__ exports HfFolder: delete that "
        f"""and what uses it: {RULE.url}
from huggingface_hub import HfFolder
from optimum.neuron import NeuronTrainer

__all__ = ["HfFolder"]
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "the same names of another library",
        """from mylib import HfFolder, is_torch_tpu_available
from optimum.neuron import NeuronTrainer

NeuronTrainer(HfFolder.get_token(), is_torch_tpu_available())
""",
    ),
)
