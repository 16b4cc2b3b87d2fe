"""Reports names of Optimum Neuron that no release is known to have had.

The table holds every public name of the 36 releases 0.0.1 to 0.4.5. Anything else (a private helper, a name of a
development version, a module of a fork) is left alone and marked.

https://huggingface.co/docs/optimum-neuron
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import PurePath

from neuron_codemods.edits import Change, EraseImport
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renaming import attributes, known_modules, module_bindings
from neuron_codemods.scopes import Binding, Reference

RULE = Rule(
    code="NM003",
    name="unknown-name",
    summary="A name of optimum.neuron that is in none of its releases, or a use that cannot be followed.",
    url="https://huggingface.co/docs/optimum-neuron",
    outcomes=(Outcome.MANUAL, Outcome.REWRITTEN),
)


def check(module: Module) -> Iterator[Change]:
    through_modules: dict[ast.AST, ast.Attribute] = {}
    for _, node, _ in attributes(module):
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute):
            inner = inner.value
        through_modules[inner] = node
    for binding in module_bindings(module):
        alias, qualified = binding.node, binding.qualified or ""
        assert isinstance(alias, ast.alias)
        if not _is_module(qualified):
            yield Change(Outcome.MANUAL, alias, _unknown(qualified))
            continue
        uses = [use for use in module.references(binding) if _concerns(module, use, binding)]
        for use in uses:
            if use.node not in through_modules:
                chain = module.dotted(use)
                yield Change(Outcome.MANUAL, chain, _unknown(module.resolve(chain) or qualified))
        if not uses:
            yield _unused(module, binding, alias)


def _is_module(qualified: str) -> bool:
    return qualified in ("optimum", "optimum.exporters") or qualified in known_modules()


def _concerns(module: Module, use: Reference, binding: Binding) -> bool:
    """Whether a use of a module's name is about Optimum Neuron: the name may hold another thing by then."""
    if module.is_served(use, binding):
        return False
    found = module.binding(use.node)
    if found is None or found.qualified == binding.qualified:
        return True
    return found.is_import and module.scope(use.node) is not binding.scope  # which of the two depends on the moment


def _unused(module: Module, binding: Binding, alias: ast.alias) -> Change:
    name = alias.name
    if isinstance(binding.statement, ast.ImportFrom):
        name = f"{binding.statement.module}.{name}"
    others = [other for other in binding.scope.bindings[binding.name] if not other.is_import]
    is_offered = PurePath(module.path).name == "__init__.py" or binding.name in module.names.exported
    if others or is_offered or binding.scope.is_class or binding.name in module.names.moved:
        message = f"Delete the import of {name}: the package does not install beside native PyTorch."
        return Change(Outcome.MANUAL, alias, message)
    message = f"The import of {name} is erased: nothing uses it."
    return Change(Outcome.REWRITTEN, alias, message, (EraseImport(binding),))


def _unknown(name: str) -> str:
    if name in known_modules():
        return (
            f"{name} is passed on or read by name here, which cannot be followed: replace what is used from it by "
            "hand, "
            "since the package does not install beside native PyTorch."
        )
    return (
        f"{name} is no public name of any Optimum Neuron release, or is used in a way that cannot be followed: "
        "replace it by hand, since the package does not install beside native PyTorch."
    )


CASES = (
    Case(
        "a private name",
        "from optimum.neuron.trainers import _TrainerForNeuron\n\nt = _TrainerForNeuron()\n",
        outcomes=(Outcome.MANUAL,),
        after="# TODO(neuron-migrate NM003): optimum.neuron.trainers._TrainerForNeuron is no public name of any "
        "Optimum Neuron release, or is used in a way that cannot be followed: replace it by hand, since the package "
        "does "
        "not install beside native PyTorch: https://huggingface.co/docs/optimum-neuron\n"
        "from optimum.neuron.trainers import _TrainerForNeuron\n\nt = _TrainerForNeuron()\n",
    ),
    Case("another package of optimum", "import optimum.onnxruntime\n\nprint(optimum.onnxruntime)\n"),
    Case("a package whose name only starts alike", "from optimum.neuronal import Thing\n\nThing()\n"),
    Case("a relative import", "from .optimum.neuron import NeuronTrainer\n\nNeuronTrainer()\n"),
)
