"""Erases imports of the XLA stack that nothing uses, and marks those that cannot be followed.

A torch_xla that is left over makes transformers and accelerate take the XLA path. `import torch_neuronx` is not needed
for the device, which torch loads by itself; what the native package offers under that name stays.

https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from neuron_codemods.edits import Change, EraseImport
from neuron_codemods.imports import is_exported, must_keep_name
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.scopes import Binding
from neuron_codemods.xla import evidence, uses
from neuron_codemods.xla.table import find, is_stack

RULE = Rule(
    code="NM601",
    name="xla-import",
    summary="Imports of torch_xla, torch_neuronx, neuronx_distributed that nothing uses, or that go unseen.",
    url="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_NATIVE = "torch_neuronx"
_NATIVE_TOO = frozenset({_NATIVE, "neuronxcc"})
"""Packages that are installed with native PyTorch too: only what rows name in them is gone."""


def check(module: Module) -> Iterator[Change]:
    if not evidence.is_on(module):
        return
    followed = {_root(use.node) for use in uses.all_uses(module)}
    for binding in uses.bindings(module):
        names = {reference: module.resolve(reference.node) or "" for reference in module.references(binding)}
        if not any(map(is_stack, names.values())) or is_exported(module, binding):
            yield from _unused(module, binding)
        for reference, name in names.items():
            if reference.node not in followed and is_stack(name) and name.partition(".")[0] not in _NATIVE_TOO:
                chain = module.dotted(reference)
                message = _asked(_name(binding)) if _is_asked(module, chain) else _passed_on(_name(binding))
                yield Change(Outcome.MANUAL, chain, message)
    yield from _stars(module)
    yield from _strings(module)


def _root(node: ast.AST) -> ast.AST:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def _name(binding: Binding) -> str:
    alias = binding.node
    if isinstance(alias, ast.alias) and isinstance(binding.statement, ast.Import):
        return alias.name
    return binding.qualified or ""


def _passed_on(name: str) -> str:
    return f"Replace {name}, which is passed on here as a whole: it does not install beside native PyTorch."


def _is_asked(module: Module, node: ast.AST) -> bool:
    """Whether a module is only asked whether it is there: ``if xm is not None``."""
    above = module.parent(node)
    if isinstance(above, ast.Compare):
        return all(isinstance(side, ast.Constant) and side.value is None for side in above.comparators)
    return isinstance(above, (ast.If, ast.IfExp, ast.BoolOp, ast.UnaryOp, ast.While))


def _asked(name: str) -> str:
    return f"Keep the branch for the device and drop the test: {name} is not installed beside native PyTorch."


def _unused(module: Module, binding: Binding) -> Iterator[Change]:
    name = _name(binding)
    if name.partition(".")[0] in _NATIVE_TOO and name != _NATIVE and find(name) is None:
        return
    alone = len(binding.scope.bindings[binding.name]) == 1
    if is_exported(module, binding) or (alone and must_keep_name(module, binding) is not None):
        yield Change(Outcome.MANUAL, binding.node, f"Delete the import of {name}, and what takes it from here.")
        return
    if not all(other.is_import and uses.is_stack_import(other) for other in binding.scope.bindings[binding.name]):
        yield Change(Outcome.MANUAL, binding.node, f"Delete the import of {name}: there is no XLA stack.")
        return
    why = "torch loads the device by itself" if name == _NATIVE else "nothing uses it"
    message = f"The import of {name} is erased: {why}."
    outcome = Outcome.REWRITTEN
    if isinstance(module.parent(binding.statement), ast.Try):
        message += " The try around it does not tell any more whether the XLA stack is installed."
        outcome = Outcome.REVIEW
    yield Change(outcome, binding.node, message, (EraseImport(binding),))


def _stars(module: Module) -> Iterator[Change]:
    for node in module.names.imports:
        if isinstance(node, ast.ImportFrom) and not node.level and node.names[0].name == "*":
            if is_stack(node.module or ""):
                message = f"Import by name what this file uses from {node.module}: a star import cannot be followed."
                yield Change(Outcome.MANUAL, node, message)


def _strings(module: Module) -> Iterator[Change]:
    for constant in module.names.strings:
        text = constant.value
        if not isinstance(text, str) or not _DOTTED.fullmatch(text) or not is_stack(text) or text in _NATIVE_TOO:
            continue
        call = module.parent(constant)
        if isinstance(call, ast.Call) and (module.resolve(call.func) or "").startswith(
            ("importlib.", "unittest.mock.")
        ):
            yield Change(Outcome.MANUAL, constant, f'"{text}" reaches the XLA stack by its name: replace it by hand.')


CASES = (
    Case(
        "what nothing uses",
        """import torch
import torch_neuronx
import torch_xla.core.xla_model as xm
import torch_xla.distributed.xla_backend
from torch_xla.amp import autocast

print(torch.ones(2))
""",
        """import torch

print(torch.ones(2))
""",
        (Outcome.REWRITTEN,) * 4,
    ),
    Case(
        "in a try",
        """try:
    import torch_neuronx
    HAS_NEURON = True
except ImportError:
    HAS_NEURON = False
""",
        """try:
    HAS_NEURON = True
except ImportError:
    HAS_NEURON = False
""",
        (Outcome.REVIEW,),
    ),
    Case(
        "a module that is passed on",
        "import torch_neuronx\nimport torch_xla.core.xla_model as xm\n\ntrain(xm, torch_neuronx)\n",
        """import torch_neuronx
import torch_xla.core.xla_model as xm

# TODO(neuron-migrate NM601): Replace torch_xla.core.xla_model, which is passed on here as a whole: it does not \
install beside native PyTorch: https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html
train(xm, torch_neuronx)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "what the native package offers",
        'import torch_neuronx\n\n\n@torch_neuronx.nki_op("mine::op", mutates_args=())\ndef op(x):\n    return x\n',
    ),
    Case("another package", "import torch_xlarge\nimport mine.torch_xla\n\nprint(mine)\n"),
    Case("its name in a text", 'import torch_neuronx\n\nprint("torch_xla", torch_neuronx.nki_op)\n'),
    Case("code for a TPU", 'import torch_xla.core.xla_model as xm\n\nTPU = "TPU"\n'),
)
