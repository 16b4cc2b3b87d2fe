"""Reports names of Optimum Neuron that no release is known to have had.

The table holds every public name of the 36 releases 0.0.1 to 0.4.5. Anything else (a private helper, a name of a
development version, a module of a fork) is left alone and marked.

https://huggingface.co/docs/optimum-neuron
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import Change, EraseImport
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renaming import attributes, known_modules, module_bindings

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
        uses = list(module.references(binding))
        alias = binding.node
        assert isinstance(alias, ast.alias)
        if not uses and _is_module(binding.qualified or "") and len(binding.scope.bindings[binding.name]) == 1:
            message = f"The import of {alias.name} is erased: nothing uses it."
            if "__init__" not in module.path and binding.name not in module.names.exported:
                yield Change(Outcome.REWRITTEN, alias, message, (EraseImport(binding),))
                continue
        if not _is_module(binding.qualified or ""):
            yield Change(Outcome.MANUAL, alias, _unknown(binding.qualified or alias.name))
            continue
        for use in uses:
            if use.node not in through_modules and _reaches_neuron(module, use.node, binding.qualified or ""):
                chain = module.dotted(use)
                yield Change(Outcome.MANUAL, chain, _unknown(module.resolve(chain) or use.name))


def _is_module(qualified: str) -> bool:
    return qualified == "optimum" or qualified in known_modules()


def _reaches_neuron(module: Module, node: ast.Name, qualified: str) -> bool:
    """Whether a use of ``optimum`` is about its neuron part, and not about another package of that name."""
    if qualified not in ("optimum", "optimum.exporters"):
        return True
    chain: ast.AST = node
    parts = [qualified]
    above = module.parent(chain)
    while isinstance(above, ast.Attribute):
        parts.append(above.attr)
        above = module.parent(above)
    dotted = ".".join(parts)
    return f"{dotted}.".startswith(("optimum.neuron.", "optimum.exporters.neuron.")) or dotted == qualified


def _unknown(name: str) -> str:
    return (
        f"{name} is no public name of any Optimum Neuron release, or is used in a way that cannot be followed: "
        "replace it by hand, since the package does not install beside native PyTorch."
    )


CASES = (
    Case(
        "a private name",
        "from optimum.neuron.trainers import _TrainerForNeuron\n\nt = _TrainerForNeuron()\n",
        outcomes=(Outcome.MANUAL,),
        after="# TODO(neuron-migrate NM003): optimum.neuron.trainers._TrainerForNeuron is no public name of any Optimum "
        "Neuron release, or is used in a way that cannot be followed: replace it by hand, since the package does not "
        "install beside native PyTorch: https://huggingface.co/docs/optimum-neuron\n"
        "from optimum.neuron.trainers import _TrainerForNeuron\n\nt = _TrainerForNeuron()\n",
    ),
    Case("another package of optimum", "import optimum.onnxruntime\n\nprint(optimum.onnxruntime)\n"),
    Case("a package whose name only starts alike", "from optimum.neuronal import Thing\n\nThing()\n"),
    Case("a relative import", "from .optimum.neuron import NeuronTrainer\n\nNeuronTrainer()\n"),
)
