"""Replaces `transformers.AdamW` by `torch.optim.AdamW`, with the defaults that it had.

transformers dropped its AdamW. The one of torch decays weights by 0.01 and has an epsilon of 1e-8 unless told
otherwise, where the old one had 0 and 1e-6: they are spelled out.

https://docs.pytorch.org/docs/stable/generated/torch.optim.AdamW.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import AnyEdit, CallEdit, Change, RenameAttribute, RenameImport
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.scopes import Binding
from neuron_codemods.values import has_splat, keyword, literal, remove_argument

RULE = Rule(
    code="NM703",
    name="removed-optimizer",
    summary="transformers.AdamW is torch.optim.AdamW, with eps=1e-6 and weight_decay=0.0.",
    url="https://docs.pytorch.org/docs/stable/generated/torch.optim.AdamW.html",
    outcomes=(Outcome.REVIEW, Outcome.MANUAL),
)

_OLD = frozenset({"transformers.AdamW", "transformers.optimization.AdamW"})
_NEW = "torch.optim.AdamW"
_DEFAULTS = (("eps", 3, "1e-6"), ("weight_decay", 4, "0.0"))
"""What the old one had, with the position of the argument, which is the same in both."""


def check(module: Module) -> Iterator[Change]:
    if not module.renames:
        return
    for scope in module.names.module.walk():
        for bindings in scope.bindings.values():
            for binding in bindings:
                if binding.is_import and binding.qualified in _OLD:
                    nodes = [reference.node for reference in module.references(binding)]
                    yield from _uses(module, binding.node, nodes, (RenameImport(binding, _NEW),))
                elif binding.is_import and (binding.qualified or "").partition(".")[0] == "transformers":
                    yield from _attributes(module, binding)


def _attributes(module: Module, binding: Binding) -> Iterator[Change]:
    for reference in module.references(binding):
        node = module.parent(reference.node)
        while isinstance(node, ast.Attribute):
            if module.resolve(node) in _OLD:
                yield from _uses(module, node, [node], (RenameAttribute(binding, node, _NEW),))
                break
            node = module.parent(node)


def _uses(
    module: Module, place: ast.AST, uses: list[ast.Name] | list[ast.Attribute], edits: tuple[AnyEdit, ...]
) -> Iterator[Change]:
    all_edits = list(edits)
    passed_on = False
    for use in uses:
        call = module.parent(use)
        if not isinstance(call, ast.Call) or call.func is not use:
            passed_on = True
            continue
        biased = keyword(call, "correct_bias")
        if biased is not None and literal(biased.value) is not True:
            message = "AdamW of torch always corrects the bias: decide whether correct_bias=False was meant."
            yield Change(Outcome.MANUAL, call, message)
            return
        if len(call.args) > 5 or any(isinstance(argument, ast.Starred) for argument in call.args):
            message = "Pass the arguments of AdamW by keyword, with eps=1e-6 and weight_decay=0.0 as they were."
            yield Change(Outcome.MANUAL, call, message)
            return
        all_edits += _call(call)
        passed_on = passed_on or has_splat(call)
    message = (
        "AdamW is that of torch, with the old eps=1e-6 and weight_decay=0.0 spelled out; it applies epsilon after the "
        "bias correction, so the first steps differ slightly."
    )
    if passed_on:
        message += " Where it is passed on, or its arguments come from a mapping, pass these two there."
    yield Change(Outcome.REVIEW, place, message, tuple(all_edits))


def _call(call: ast.Call) -> list[AnyEdit]:
    edits: list[AnyEdit] = [
        remove_argument(call, item) for item in call.keywords if item.arg in ("correct_bias", "no_deprecation_warning")
    ]
    if not has_splat(call):
        missing = [
            (name, text)
            for name, position, text in _DEFAULTS
            if keyword(call, name) is None and len(call.args) <= position
        ]
        if missing:
            edits.append(CallEdit(call, added=tuple(missing)))
    return edits


CASES = (
    Case(
        "the old defaults are spelled out",
        """from transformers import AdamW, get_scheduler

optimizer = AdamW(model.parameters(), lr=5e-5, correct_bias=True)
""",
        """from transformers import get_scheduler
from torch.optim import AdamW

optimizer = AdamW(model.parameters(), lr=5e-5, eps=1e-6, weight_decay=0.0)
""",
        (Outcome.REVIEW,),
    ),
    Case(
        "what is given stays",
        """import transformers

optimizer = transformers.AdamW(groups, 1e-4, (0.9, 0.98), 1e-8, weight_decay=0.1)
""",
        """import torch.optim

optimizer = torch.optim.AdamW(groups, 1e-4, (0.9, 0.98), 1e-8, weight_decay=0.1)
""",
        (Outcome.REVIEW,),
    ),
    Case(
        "without bias correction, as BERT was trained",
        """from transformers import AdamW

optimizer = AdamW(model.parameters(), correct_bias=False)
""",
        """from transformers import AdamW

# TODO(neuron-migrate NM703): AdamW of torch always corrects the bias: decide whether correct_bias=False was meant: \
https://docs.pytorch.org/docs/stable/generated/torch.optim.AdamW.html
optimizer = AdamW(model.parameters(), correct_bias=False)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "the AdamW of torch",
        """from torch.optim import AdamW
from transformers import get_scheduler

optimizer = AdamW(model.parameters(), lr=5e-5)
""",
    ),
    Case(
        "another optimizer of transformers",
        """from transformers import Adafactor

optimizer = Adafactor(model.parameters())
""",
    ),
    Case(
        "an AdamW from elsewhere",
        """from mylib import AdamW

optimizer = AdamW(model.parameters(), correct_bias=False)
""",
    ),
)
