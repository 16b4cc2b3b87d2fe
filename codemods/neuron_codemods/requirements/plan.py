"""What becomes of each requirement of a file that was written for Optimum Neuron."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from neuron_codemods.model import Outcome
from neuron_codemods.project import Project
from neuron_codemods.requirements import stack
from neuron_codemods.requirements.entries import Entry, Known, read

_NAMED = re.compile(r"\s*([A-Za-z0-9._-]+)\s*(\[[^\]]*\])?")


@dataclass(frozen=True)
class Decision:
    """What becomes of one requirement."""

    entry: Entry
    outcome: Outcome
    message: str
    new: tuple[str, ...] | None = None
    """The requirements that stand there instead, none to delete it; None leaves it as it is."""


def decide(entries: Iterable[Entry], project: Project) -> list[Decision]:
    """The decisions about the requirements of one file, in their order; none about those that stay without a word."""
    known = [found for found in map(read, entries) if found is not None]
    if not _is_old(known, project):
        return []
    return list(_Plan(known, project).decisions())


def task(decision: Decision) -> str:
    """What to do in the file that another tool has made this one from."""
    wanted = ", ".join(decision.new or ())
    return f"put {wanted} for {_name(decision.entry.text)}" if wanted else f"delete {_name(decision.entry.text)}"


def is_optimum_neuron(found: Known) -> bool:
    """Whether a requirement brought Optimum Neuron; old releases of optimum had extras that did."""
    return found.name == stack.OPTIMUM_NEURON or (found.name == "optimum" and bool(found.extras & stack.NEURON_EXTRAS))


def _is_old(known: Sequence[Known], project: Project) -> bool:
    """Whether the requirements are those of the old stack: torch-xla alone may be a TPU's."""
    if any(is_optimum_neuron(found) or _is_xla_neuronx(found) for found in known):
        return True
    if any(found.name in stack.LEFTOVERS and "neuron" in found.name for found in known):
        return True
    names = {found.name for found in known}
    is_native = "neuron-migrate" in names
    return not is_native and uses_optimum_neuron(project) and any("neuron" in name for name in names)


def uses_optimum_neuron(project: Project) -> bool:
    """Whether a file of the run imports Optimum Neuron, and so needs the shim once it is migrated."""
    return any(module.exports for module in project.modules)


def _is_xla_neuronx(found: Known) -> bool:
    return found.name == "torch-neuronx" and bool(found.specifier) and not found.allows("2.14.3.0")


class _Plan:
    def __init__(self, known: Sequence[Known], project: Project) -> None:
        self._known = known
        self._names = {found.name for found in known}
        self._held = dict(project.targets)
        self._shim = uses_optimum_neuron(project)
        self._first = next((found for found in known if is_optimum_neuron(found)), None)

    def decisions(self) -> Iterator[Decision]:
        for found in self._known:
            decision = self._decision(found)
            if decision is None:
                continue
            if decision.new is not None and not found.runs_on(stack.PYTHON):
                message = (
                    f"TorchNeuron needs Python {stack.PYTHON} or later, which this marker excludes: {decision.message}"
                )
                yield Decision(found.entry, Outcome.MANUAL, message)
            else:
                yield decision

    def _decision(self, found: Known) -> Decision | None:
        name = found.name
        if is_optimum_neuron(found):
            return self._native_stack(found)
        if name in stack.LEFTOVERS:
            return self._deleted(
                found, f"{name} belongs to the XLA stack and must not be installed beside TorchNeuron."
            )
        if name == "torch-neuronx":
            return self._torch_neuronx(found)
        if name == "neuronx-cc":
            return self._compiler(found)
        if name == "torch":
            return self._torch(found)
        if name in stack.BUILT_WITH_TORCH:
            return self._built_with_torch(found)
        if name in stack.LIBRARIES:
            return self._library(found)
        if name in stack.HELD_BACK:
            return self._held_back(found)
        if name == "optimum":
            return self._optimum(found)
        if name == "vllm":
            return self._vllm(found)
        return None

    def _native_stack(self, found: Known) -> Decision:
        if found is not self._first:
            return self._deleted(found, f"{found.name} is named twice.")
        missing = [each for each in self._wanted() if _name(each) not in self._names]
        new = tuple(each + found.marker for each in missing)
        told = ", ".join(missing) or "what is listed beside it"
        message = f"{found.name} becomes the native stack: {told}."
        if not self._shim and not any(_name(each) == "neuron-migrate" for each in missing):
            message += f" Code that imports neuron_shim also needs {stack.SHIM}."
            return Decision(found.entry, Outcome.REVIEW, message, new)
        return Decision(found.entry, Outcome.REWRITTEN, message, new)

    def _oldest(self, library: str) -> str:
        return self._held.get(library, stack.LIBRARIES[library])

    def _wanted(self) -> Iterator[str]:
        yield from (stack.TORCH_NEURONX, stack.COMPILER, stack.KERNELS)
        extras = frozenset(extra for found in self._known if is_optimum_neuron(found) for extra in found.extras)
        libraries = ["transformers", "accelerate"]
        libraries += (name for extra, names in stack.EXTRAS.items() if extra in extras for name in names)
        if self._shim:
            yield stack.SHIM
            libraries = [name for name in libraries if name in ("diffusers", "sentence-transformers")]
        yield from (f"{name}>={self._oldest(name)}" for name in dict.fromkeys(libraries))

    @staticmethod
    def _deleted(found: Known, message: str) -> Decision:
        return Decision(found.entry, Outcome.REWRITTEN, message, ())

    @staticmethod
    def _torch_neuronx(found: Known) -> Decision | None:
        if found.specifier and found.allows("2.14.3.0") and not found.allows("2.9.0"):
            return None
        message = "torch-neuronx 2.14 is TorchNeuron; up to 2.9 the same name is the XLA package."
        return Decision(found.entry, Outcome.REWRITTEN, message, (stack.TORCH_NEURONX + found.marker,))

    @staticmethod
    def _compiler(found: Known) -> Decision | None:
        if found.allows("2.28.7631.0"):
            return None
        message = "The compiler comes in the version that torch-neuronx asks for."
        return Decision(found.entry, Outcome.REWRITTEN, message, (stack.COMPILER + found.marker,))

    @staticmethod
    def _torch(found: Known) -> Decision | None:
        if found.allows(f"{stack.TORCH}.0") or found.is_address:
            return None
        message = f"torch-neuronx 2.14 is built for torch {stack.TORCH}."
        return Decision(found.entry, Outcome.REWRITTEN, message, (f"torch=={stack.TORCH}.*{found.marker}",))

    @staticmethod
    def _built_with_torch(found: Known) -> Decision | None:
        if not found.specifier:
            return None
        message = f"{found.name} comes in the version that belongs to torch {stack.TORCH}, which the resolver finds."
        return Decision(found.entry, Outcome.REWRITTEN, message, (found.name + found.marker,))

    def _library(self, found: Known) -> Decision | None:
        oldest = self._oldest(found.name)
        native = found.allows_any_from(oldest)
        if found.is_address or (found.specifier and native and not _allows_older(found, oldest)):
            return None
        clauses = sorted(str(clause) for clause in found.specifier)
        kept = [clause for clause in clauses if clause.startswith(("<", "!="))] if native else []
        named = _NAMED.match(found.entry.text)
        assert named is not None
        new = named.group().strip() + ",".join((f">={oldest}", *kept)) + found.marker
        message = f"Migrated code runs on {found.name} {oldest} or later."
        return Decision(found.entry, Outcome.REWRITTEN, message, (new,))

    @staticmethod
    def _held_back(found: Known) -> Decision | None:
        if any(map(found.allows, stack.HELD_BACK[found.name])):
            return None
        message = (
            f"{found.name} was held back for Optimum Neuron, and the native stack needs a later one: the pin is gone. "
            "Put one back if your own code needs it."
        )
        return Decision(found.entry, Outcome.REVIEW, message, (found.name + found.marker,))

    @staticmethod
    def _optimum(found: Known) -> Decision:
        message = "Delete optimum unless something else needs it: Optimum Neuron brought it."
        if found.specifier and not found.allows("2.3.0"):
            message += " This version cannot be installed beside transformers 5."
            return Decision(found.entry, Outcome.MANUAL, message)
        return Decision(found.entry, Outcome.REVIEW, message)

    @staticmethod
    def _vllm(found: Known) -> Decision:
        message = (
            "vLLM on Neuron has a plugin of its own now, in an environment of its own: it must not share one with "
            "torch-neuronx."
        )
        return Decision(found.entry, Outcome.MANUAL, message)


def _allows_older(found: Known, oldest: str) -> bool:
    major = int(oldest.split(".")[0])
    return any(map(found.allows, ("0.11.4", "0.24.0", "0.34.0", "1.8.1", "2.2.0", "4.36.2", "4.57.1", f"{major}.0.0")))


def _name(requirement: str) -> str:
    named = _NAMED.match(requirement)
    assert named is not None
    return named[1]
