"""What one file of a project needs to know about the others: names they pass on and classes they derive."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath


@dataclass(frozen=True)
class ModuleFacts:
    """What a file offers to those that import it, and what it takes from files that are not libraries."""

    path: str
    exports: dict[str, str] = field(default_factory=dict)
    """Names bound at the top of the file to something of Optimum Neuron: local name -> dotted name."""
    takes: frozenset[tuple[str, str]] = frozenset()
    """Pairs of module and name that this file imports."""
    written: tuple[ModuleFacts, ...] = ()
    """The scripts that this file writes when it runs, such as a notebook that keeps its scripts in cells."""
    hardware: str = ""
    """``neuron`` or ``other`` where the file tells which machine it is written for."""

    @property
    def dotted(self) -> tuple[str, ...]:
        """The parts of the path as a dotted module name: ``src/train/model.py`` -> (src, train, model)."""
        parts = PurePath(self.path).with_suffix("").parts
        return parts[:-1] if parts and parts[-1] == "__init__" else parts


@dataclass(frozen=True)
class Project:
    """The files of one run that import Optimum Neuron, or may import it from each other."""

    modules: tuple[ModuleFacts, ...] = ()
    originals: tuple[tuple[str, str], ...] = ()
    """Pairs of a folder with a compiled model, as a file names it behind the path of that file's folder, and the id of
    the original model that was compiled."""

    @cached_property
    def _by_last_name(self) -> dict[str, list[ModuleFacts]]:
        table: dict[str, list[ModuleFacts]] = {}
        for module in self.modules:
            if module.exports and module.dotted:
                table.setdefault(module.dotted[-1], []).append(module)
        return table

    def resolve(self, qualified: str) -> str:
        """Follow a name imported from another file of the project to what it is there."""
        module, _, name = qualified.rpartition(".")
        parts = tuple(part for part in module.split(".") if part)
        if not parts:
            return qualified
        for facts in self._by_last_name.get(parts[-1], ()):
            if facts.dotted[-len(parts) :] == parts and name in facts.exports:
                return facts.exports[name]
        return qualified

    @cached_property
    def scripts(self) -> dict[str, list[ModuleFacts]]:
        """The Python files by their names without directories."""
        table: dict[str, list[ModuleFacts]] = {}
        for module in self.modules:
            if module.path.endswith(".py"):
                table.setdefault(PurePath(module.path).name, []).append(module)
            for script in module.written:
                table.setdefault(PurePath(script.path).name, []).append(script)
        return table

    def including(self, facts: ModuleFacts | None) -> Project:
        """The same with what one more file tells, unless it has done so already."""
        if facts is None or any(module.path == facts.path for module in self.modules):
            return self
        return Project((*self.modules, facts))

    def names_in(self, text: str) -> bool:
        """Whether a text names one of the files."""
        return any(name in text for name in self.scripts)

    def original(self, path: str, folder: str) -> str | None:
        """The id of the original model of a compiled folder that the file at ``path`` names, where it is known."""
        return dict(self.originals).get(folder_of(path, folder))

    def is_taken(self, path: str, name: str) -> bool:
        """Whether another file of the project imports a name from the file at ``path``."""
        own = ModuleFacts(path).dotted
        for facts in self.modules:
            for module, taken in facts.takes:
                parts = tuple(part for part in module.split(".") if part)
                if taken in (name, "*") and facts.path != path and parts and own[-len(parts) :] == parts:
                    return True
        return False


def folder_of(path: str, folder: str) -> str:
    """How a folder that a file names is known in ``Project.originals``."""
    return PurePath(PurePath(path).parent, folder).as_posix()


def collect(text: str, path: str) -> ModuleFacts:
    """Read what other files may need to know about one; raises ``SourceError`` as :func:`migrate` does."""
    import ast

    from neuron_codemods import data
    from neuron_codemods.module import Module
    from neuron_codemods.xla.evidence import hardware

    module = Module(text.removeprefix("\ufeff"), path)
    exports: dict[str, str] = {}
    for name, bindings in module.names.module.bindings.items():
        for binding in bindings:
            if binding.is_import and data.symbol(*_cut(binding.qualified or "")) is not None:
                exports[name] = binding.qualified or ""
    takes = frozenset(
        ("." * node.level + (node.module or ""), alias.name)
        for node in module.names.imports
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    )
    return ModuleFacts(path, exports, takes, hardware=hardware(module))


def _cut(qualified: str) -> tuple[str, str]:
    module, _, name = qualified.rpartition(".")
    return module, name
