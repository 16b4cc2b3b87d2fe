"""What one file of a project needs to know about the others: names they pass on and classes they derive."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING

from neuron_codemods.scripts import Script
from neuron_codemods.source import MARKER

if TYPE_CHECKING:
    from neuron_codemods.module import Module
    from neuron_codemods.targets import Targets

_LONGEST_CHAIN = 8
"""How many files are followed from an import to what is imported."""


@dataclass(frozen=True)
class Derived:
    """A class that may derive from one of Optimum Neuron, as files that import it need to know it."""

    bases: tuple[str, ...]
    """The dotted names of its bases; one without a dot is a class of the same file."""
    own: frozenset[str] = frozenset()
    """The fields and methods that it defines itself."""
    parameters: frozenset[str] | None = None
    """The keywords that its own ``__init__`` takes (``**`` for any other), or None when it has none."""


COMPILED_FOR = frozenset(
    {
        *("batch_size", "text_batch_size", "sequence_length", "audio_sequence_length", "num_beams"),
        *("height", "width", "num_images_per_prompt", "guidance_scale"),
        *("auto_cast", "auto_cast_type", "torch_dtype", "num_cores", "tensor_parallel_size", "tp_degree"),
    }
)
"""The settings of ``from_pretrained`` that say what a model is compiled for."""


@dataclass(frozen=True)
class Compiled:
    """A folder with a compiled model."""

    folder: str
    """The folder as ``folder_of`` knows it."""
    model: str
    """The id of the original model."""
    settings: tuple[tuple[str, str | int], ...] = ()
    """What it was compiled for, under the names in ``COMPILED_FOR``."""

    @classmethod
    def told(cls, folder: str, model: str, values: Iterable[tuple[str, object]]) -> Compiled:
        """A folder with what these names and values say of it, in numbers and strings."""
        known = ((name, value) for name, value in values if isinstance(value, (str, int)))
        return cls(folder, model, tuple((name, value) for name, value in known if name in COMPILED_FOR))


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
    passes: dict[str, str] = field(default_factory=dict)
    """Names that may be passed on from another file: local name -> dotted name."""
    classes: dict[str, Derived] = field(default_factory=dict)
    """The classes at the top of the file that have bases."""
    carriers: frozenset[tuple[str, str, int]] = frozenset()
    """Functions with a parameter, and its place, that only carries a configuration to where a model is loaded."""
    sizes: frozenset[int] = frozenset()
    """The tensor parallel sizes that arguments made here say."""
    offers: frozenset[str] = frozenset()
    """How others get at the training arguments that it makes: ``args``, ``get_args()``, ``get_args()[0]``."""
    script: Script = field(default_factory=Script)
    """What its launch line needs to know."""
    compiled: tuple[Compiled, ...] = ()
    """The folders to which the file exports models."""
    asks: frozenset[str] = frozenset()
    """The folders with compiled models that the file loads and whose original models it does not say."""
    shards: frozenset[tuple[str, str]] = frozenset()
    """The scripts, as file name and path, that the file launches with flags that shard their models."""

    @classmethod
    def of_commands(
        cls, path: str, told: Sequence[ModuleFacts], written: tuple[ModuleFacts, ...] = ()
    ) -> ModuleFacts | None:
        """What a file tells through the commands in it and the scripts that it writes, if there are any."""
        if not told and not written:
            return None
        compiled = tuple(folder for facts in told for folder in facts.compiled)
        shards = frozenset(script for facts in told for script in facts.shards)
        return cls(path, written=written, compiled=compiled, shards=shards)

    @cached_property
    def dotted(self) -> tuple[str, ...]:
        """The parts of the path as a dotted module name: ``src/train/model.py`` -> (src, train, model)."""
        parts = PurePath(self.path).with_suffix("").parts
        return parts[:-1] if parts and parts[-1] == "__init__" else parts


@dataclass(frozen=True)
class Around:
    """A text that others lie in."""

    text: str = ""
    code: str = ""
    """The texts that lie in it, without the prose between them."""
    launched: frozenset[str] = frozenset()
    """The names of the scripts that its shell texts launch as they are, without compiling first."""

    @cached_property
    def is_of_neuron(self) -> bool:
        """Whether it names Optimum Neuron, or a variable that only Neuron reads."""
        return re.search(r"optimum[.-]neuron|neuronx?\b(?!-migrate)|\bNEURON_", MARKER.sub("", self.text)) is not None


@dataclass(frozen=True)
class Project:
    """The files of one run that import Optimum Neuron, or may import it from each other."""

    modules: tuple[ModuleFacts, ...] = ()
    compiled: tuple[Compiled, ...] = ()
    """The folders with compiled models that none of the files made."""
    around: Around = Around()
    """The text that holds the one that is migrated, such as the notebook of a shell line."""
    targets: Targets = ()
    """The versions of the libraries that the text is written for."""

    @cached_property
    def _by_last_name(self) -> dict[str, list[ModuleFacts]]:
        table: dict[str, list[ModuleFacts]] = {}
        for module in self.modules:
            told = module.exports or module.classes or module.passes or module.carriers or module.offers
            if told and module.dotted:
                table.setdefault(module.dotted[-1], []).append(module)
        return table

    def resolve(self, qualified: str) -> str:
        """Follow a name imported from another file of the project to what it is there."""
        found = self._resolved.get(qualified)
        if found is None:
            exports = (facts.exports[name] for facts, name in self._places(qualified) if name in facts.exports)
            found = self._resolved[qualified] = next(exports, qualified)
        return found

    @cached_property
    def _resolved(self) -> dict[str, str]:
        return {}

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

    def script(self, name: str, path: str, launcher: str) -> ModuleFacts | None:
        """What is known of a script that a launcher names: of several files of its name, the one nearest to it."""
        found = self.scripts.get(name, [])
        parts = tuple(part for part in PurePath(path).parts if part != "..")
        meant = [facts for facts in found if PurePath(facts.path).parts[-len(parts) :] == parts]
        folders = PurePath(launcher).parent.parts

        def distance(facts: ModuleFacts) -> int:
            own = PurePath(facts.path).parent.parts
            shared = next((n for n, pair in enumerate(zip(own, folders, strict=False)) if len(set(pair)) > 1), None)
            return len(own) + len(folders) - 2 * (min(len(own), len(folders)) if shared is None else shared)

        return min(meant or found, key=distance, default=None)

    def is_sharded(self, path: str) -> bool:
        """Whether another file launches the script at ``path`` with flags that shard its model."""
        return path in self._sharded

    @cached_property
    def _sharded(self) -> frozenset[str]:
        found = (
            self.script(name, script, module.path)
            for module in self.modules
            for facts in (module, *module.written)
            for name, script in facts.shards
        )
        return frozenset(facts.path for facts in found if facts is not None)

    def including(self, facts: ModuleFacts | None) -> Project:
        """The same with what one more file tells, unless it has done so already."""
        if facts is None or any(module.path == facts.path for module in self.modules):
            return self
        return replace(self, modules=(*self.modules, facts))

    def knowing(self, compiled: Iterable[Compiled]) -> Project:
        """The same with more folders of compiled models."""
        return replace(self, compiled=(*self.compiled, *compiled))

    def held_to(self, targets: Targets) -> Project:
        """The same, written for other versions of the libraries."""
        if targets == self.targets:
            return self
        if targets not in self._held:  # one for all files, so that what it has looked up is looked up once
            self._held[targets] = replace(self, targets=targets)
        return self._held[targets]

    @cached_property
    def _held(self) -> dict[Targets, Project]:
        return {}

    def names_in(self, text: str) -> bool:
        """Whether a text names one of the files."""
        return any(name in text for name in self.scripts)

    def compiled_in(self, path: str, folder: str) -> Compiled | None:
        """What is known of a folder with a compiled model that the file at ``path`` names."""
        return self._compiled.get(folder_of(path, folder))

    @cached_property
    def _compiled(self) -> dict[str, Compiled]:
        made = (compiled for module in self.modules for compiled in module.compiled)
        return {compiled.folder: compiled for compiled in (*self.compiled, *made)}

    def derived(self, qualified: str) -> tuple[ModuleFacts, Derived] | None:
        """The class of another file of the project that a dotted name stands for, with the facts of that file."""
        for facts, name in self._places(qualified):
            if name in facts.classes:
                return facts, facts.classes[name]
        return None

    def classes_of(self, module: str) -> Iterator[str]:
        """The dotted names of the classes with bases in a file of the project that is imported as a whole."""
        parts = tuple(part for part in module.split(".") if part)
        for facts in self._by_last_name.get(parts[-1], ()) if parts else ():
            if facts.dotted[-len(parts) :] == parts:
                yield from (f"{module}.{name}" for name in facts.classes)

    def _places(
        self, qualified: str, left: int = _LONGEST_CHAIN, seen: dict[str, int] | None = None
    ) -> Iterator[tuple[ModuleFacts, str]]:
        """The files that a dotted name may lead to, each with the name there.

        Files may pass a name to each other in a circle: ``seen`` holds how far each name was followed already.
        """
        seen = {} if seen is None else seen
        if seen.get(qualified, -1) >= left:
            return
        seen[qualified] = left
        module, _, name = qualified.rpartition(".")
        parts = tuple(part for part in module.split(".") if part)
        for facts in self._by_last_name.get(parts[-1], ()) if parts else ():
            if facts.dotted[-len(parts) :] == parts:
                yield facts, name
                if name in facts.passes and left:
                    yield from self._places(facts.passes[name], left - 1, seen)

    def carries(self, qualified: str, place: int | str) -> bool:
        """Whether what a function of another file is given at a place or by a name only told sizes to a model load."""
        return any(
            function == name and place in (parameter, index)
            for facts, name in self._places(qualified)
            for function, parameter, index in facts.carriers
        )

    def offers(self, qualified: str, form: str) -> bool:
        """Whether a name of another file, with this behind it (``()[0]``), is training arguments that it makes."""
        return any(f"{name}{form}" in facts.offers for facts, name in self._places(qualified))

    @cached_property
    def size(self) -> int | None:
        """The tensor parallel size that all arguments of the project say, if it is one."""
        sizes = {size for module in self.modules for size in module.sizes}
        return sizes.pop() if len(sizes) == 1 else None

    def is_taken(self, path: str, name: str) -> bool:
        """Whether another file of the project imports a name from the file at ``path``."""
        own = ModuleFacts(path).dotted
        return any(
            taker != path and own[-len(parts) :] == parts
            for taken in (name, "*")
            for taker, parts in self._takers.get((own[-1] if own else "", taken), ())
        )

    @cached_property
    def _takers(self) -> dict[tuple[str, str], list[tuple[str, tuple[str, ...]]]]:
        """Who imports what, by the last part of a module and the name that is imported from it."""
        table: dict[tuple[str, str], list[tuple[str, tuple[str, ...]]]] = {}
        for facts in self.modules:
            for module, taken in facts.takes:
                parts = tuple(part for part in module.split(".") if part)
                if parts:
                    table.setdefault((parts[-1], taken), []).append((facts.path, parts))
        return table


def folder_of(path: str, folder: str) -> str:
    """How a folder that a file names is known in ``Compiled.folder``."""
    return PurePath(PurePath(path).parent, folder).as_posix()


def bases(project: Project, qualified: str, left: int = _LONGEST_CHAIN) -> Iterator[tuple[str, tuple[Derived, ...]]]:
    """The classes that a class of another file derives from, each with the classes on the way to it."""
    found = project.derived(qualified)
    if found is None or not left:
        return
    facts, derived = found
    for base in derived.bases:
        target = base if "." in base else ".".join((*facts.dotted, base))
        resolved = project.resolve(target)
        yield resolved, (derived,)
        if resolved == target:
            for above, way in bases(project, target, left - 1):
                yield above, (derived, *way)


def collect(text: str, path: str) -> ModuleFacts:
    """Read what other files may need to know about one; raises ``SourceError`` as :func:`migrate` does."""
    from neuron_codemods import data
    from neuron_codemods.diffusion.folders import folders as pipelines
    from neuron_codemods.inference.folders import folders
    from neuron_codemods.launch.sagemaker_jobs import shards
    from neuron_codemods.module import Module
    from neuron_codemods.scripts import script
    from neuron_codemods.values import offered_arguments
    from neuron_codemods.xla.evidence import hardware

    module = Module(text.removeprefix("\ufeff"), path)
    exports: dict[str, str] = {}
    passes: dict[str, str] = {}
    for name, bindings in module.names.module.bindings.items():
        for binding in bindings:
            qualified = binding.qualified or ""
            if binding.is_import and data.symbol(*_cut(qualified)) is not None:
                exports[name] = qualified
            elif binding.is_import and isinstance(binding.statement, ast.ImportFrom):
                passes[name] = qualified
    takes = frozenset(
        ("." * node.level + (node.module or ""), alias.name)
        for node in module.names.imports
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    )
    classes = {
        node.name: Derived(tuple(_bases(module, node)), own_names(node), init_parameters(node))
        for node in module.source.tree.body
        if isinstance(node, ast.ClassDef) and node.bases
    }
    compiled, asks = folders(module)
    module.keep()
    carriers, sizes = _parallelism(module) if "tensor_parallel" in text or "trn_config" in text else ((), ())
    return ModuleFacts(
        path,
        exports,
        takes,
        passes=passes,
        classes=classes,
        offers=frozenset(offered_arguments(module)),
        hardware=hardware(module),
        script=script(module),
        compiled=(*compiled, *pipelines(module)),
        asks=asks,
        carriers=frozenset(carriers),
        sizes=frozenset(sizes),
        shards=frozenset(shards(module)),
    )


def _parallelism(module: Module) -> tuple[Iterable[tuple[str, str, int]], Iterable[int]]:
    from neuron_codemods.training.configs import carriers
    from neuron_codemods.training.parallel import said_sizes

    return carriers(module), said_sizes(module)


def _bases(module: Module, definition: ast.ClassDef) -> Iterator[str]:
    for base in definition.bases:
        qualified = module.resolve(base)
        if qualified is not None:
            yield qualified
        elif isinstance(base, ast.Name):
            yield base.id


def own_names(definition: ast.ClassDef) -> frozenset[str]:
    """The fields and methods that a class defines itself."""
    names = []
    for item in definition.body:
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names.append(item.name)
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            names.append(item.target.id)
    return frozenset(names)


def init_parameters(definition: ast.ClassDef) -> frozenset[str] | None:
    """The keywords that a class's own ``__init__`` takes (``**`` for any other), or None when it has none."""
    for item in definition.body:
        if isinstance(item, ast.FunctionDef) and item.name == "__init__":
            arguments = item.args
            names = {argument.arg for argument in (*arguments.args[1:], *arguments.kwonlyargs)}
            return frozenset(names | ({"**"} if arguments.kwarg is not None else set()))
    return None


def _cut(qualified: str) -> tuple[str, str]:
    module, _, name = qualified.rpartition(".")
    return module, name
