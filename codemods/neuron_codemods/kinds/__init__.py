"""The kinds of text that can be migrated: this table, and one module here for each kind but Python.

To add a kind, write a row in ``KINDS`` and a module of the row's name. The module has one function, and may have
another:

    parse(text, path) -> Parsed            the text, its comments, its statements, and the texts of other kinds in it
    collect(text, path) -> ModuleFacts     what other files may need to know (optional)

``neuron_codemods.texts`` does the rest: it runs the rules whose ``RULE.kind`` is the row's name, migrates the texts of
other kinds that lie inside (``Parsed.regions``), sets markers and honours suppressions, and parses what it wrote. A
parser that is not among the base dependencies is imported by :func:`parser` when the first such text is met.

This module imports nothing that costs, because every run reads it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import translate
from typing import TYPE_CHECKING, Protocol, cast

from neuron_codemods import needles

if TYPE_CHECKING:
    from types import ModuleType

    from neuron_codemods.project import ModuleFacts
    from neuron_codemods.texts import Parsed

EXTRA = "neuron-migrate[project]"
"""What brings the parsers."""
TOLD = ("optimum", "tensor_parallel_size", "tensor-parallel-size", "zero_1", "zero-1")
"""Words in commands of which other files may need to know."""


@dataclass(frozen=True)
class Kind:
    """One kind of text, and how a file of it is told from the others."""

    name: str
    """What a rule of this kind has as its ``kind``; also the name of the module here."""
    title: str
    """As a person reads it in a message."""
    suffixes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """Patterns of whole file names, as in ``requirements*.txt``."""
    interpreters: tuple[bytes, ...] = ()
    """Words in a ``#!`` line that tell the kind of a file whose name has no suffix."""
    languages: tuple[str, ...] = ()
    """What stands behind the fence of such a block in a document."""
    needles: tuple[bytes, ...] = ()
    """Byte strings without which such a text cannot concern this tool."""
    launches: tuple[bytes, ...] = ()
    """Byte strings with which it concerns this tool if it also names a Python file that is migrated; for Python, if
    there is another file that may launch it."""

    def concerns(self, data: bytes, further: tuple[bytes, ...] = ()) -> bool:
        """Whether such a file with these bytes may hold something to migrate or a marker to report.

        ``further`` are byte strings that count in Python files too, because rules for them are selected.
        """
        if self is PYTHON:
            return needles.concerns(data, further)
        return any(needle in data for needle in self.needles)

    def may_launch(self, data: bytes) -> bool:
        """Whether it concerns this tool where one of the files that it names does."""
        return any(needle in data for needle in self.launches)


PYTHON = Kind("python", "Python", (".py", ".pyi", ".pyw"), interpreters=(b"python",), launches=(b"neuron_shim",))

_WORDS = (b"euron", b"optimum", b"NEURON", b"zero_1")
"""Words of Optimum Neuron and of the stack below it, in code and on command lines."""

_PACKAGES = (
    *(b"optimum", b"neuronx", b"torch_neuron", b"torch.neuron", b"neuron-cc", b"neuron_cc"),
    *(b"tensorflow-neuron", b"plugin-neuron", b"neuron-migrate NM", b"neuron-migrate: ignore"),
)
"""In the names of the packages that bring a part of the old stack; this tool's own name and table are no reason."""

_REQUIREMENTS = (
    *("requirements*.txt", "requirements*.in", "*[-_]requirements.txt", "*[-_]requirements.in"),
    *("constraints*.txt", "constraints*.in"),
)

_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml", "pylock.*.toml")

KINDS: tuple[Kind, ...] = (
    PYTHON,
    Kind(
        "shell",
        "shell scripts",
        (".sh", ".bash", ".slurm", ".sbatch"),
        interpreters=(b"/sh", b"bash", b" sh", b"zsh"),
        languages=("bash", "sh", "shell", "zsh", "shellscript"),
        needles=_WORDS,
        launches=(b"torchrun", b"accelerate", b"python"),
    ),
    Kind("notebook", "notebooks", (".ipynb",), needles=_WORDS),
    Kind(
        "makefile",
        "makefiles",
        (".mk", ".mak"),
        ("Makefile", "makefile", "GNUmakefile"),
        languages=("make", "makefile"),
        needles=_WORDS,
        launches=(b"torchrun", b"accelerate", b"python"),
    ),
    Kind("rst", "reStructuredText", (".rst",), needles=_WORDS),
    Kind("markdown", "Markdown", (".md", ".mdx", ".markdown", ".qmd"), needles=_WORDS),
    Kind("requirements", "requirements files", files=_REQUIREMENTS, needles=_PACKAGES),
    Kind(
        "dockerfile",
        "Dockerfiles",
        (".dockerfile", ".containerfile"),
        files=("Dockerfile", "Dockerfile.*", "Containerfile", "Containerfile.*"),
        languages=("dockerfile", "docker"),
        needles=_WORDS,
        launches=(b"torchrun", b"accelerate", b"python"),
    ),
    Kind(
        "yaml",
        "YAML",
        (".yaml", ".yml", ".yaml-template", ".yml-template"),
        files=("*.yaml.template", "*.yml.template"),
        languages=("yaml", "yml"),
        needles=(*_WORDS, b"trn1", b"inf2"),
        launches=(b"torchrun", b"accelerate", b"python"),
    ),
    Kind("json", "JSON", (".json",), needles=tuple(f'"{flag}"'.encode() for flag in needles.FLAGS)),
    Kind("env", "files of environment variables", (".env",), (".env", ".env.*", "env.list"), needles=_WORDS),
    Kind("setup_cfg", "setup.cfg", files=("setup.cfg",), needles=_PACKAGES),
    Kind("pyproject", "pyproject.toml", files=("pyproject.toml", "Pipfile"), needles=_PACKAGES),
    Kind("lock", "lock files", files=_LOCKS, needles=_PACKAGES),
)

_BY_SUFFIX = {suffix: kind for kind in KINDS for suffix in kind.suffixes}
_BY_FILE = [(re.compile(translate(pattern)).match, kind) for kind in KINDS for pattern in kind.files]
_ANY_FILE = re.compile("|".join(translate(pattern) for kind in KINDS for pattern in kind.files)).match


def by_name(name: str) -> Kind | None:
    """The kind that a file's name tells, if it tells one; asked of every file of a tree."""
    dot = name.rfind(".")
    kind = _BY_SUFFIX.get(name[dot:].lower()) if dot > 0 else None
    if kind is None and _ANY_FILE(name):
        return next(kind for matches, kind in _BY_FILE if matches(name))
    return kind


def by_first_line(head: bytes) -> Kind | None:
    """The kind that a ``#!`` line tells, if there is one."""
    if not head.startswith(b"#!"):
        return None
    line = head.partition(b"\n")[0]
    for kind in KINDS:
        if any(interpreter in line for interpreter in kind.interpreters):
            return kind
    return None


class KindModule(Protocol):
    """What the module of a kind looks like."""

    def parse(self, text: str, path: str) -> Parsed: ...


def load(name: str) -> KindModule:
    """The module of a kind."""
    from importlib import import_module

    return cast("KindModule", import_module(f"{__name__}.{name}"))


def collect(name: str, text: str, path: str) -> ModuleFacts | None:
    """What other files may need to know of a text of some kind: at least, what its commands export and launch."""
    own = getattr(load(name), "collect", None)
    if own is not None or not any(word in text for word in TOLD):
        return cast("ModuleFacts | None", own(text, path) if own is not None else None)
    from neuron_codemods.project import ModuleFacts

    commands = (region.text for region in load(name).parse(text, path).regions() if region.kind == "shell")
    found = [facts for command in commands if (facts := collect("shell", command, path)) is not None]
    return ModuleFacts.of_commands(path, found)


class MissingParserError(Exception):
    """A parser that only the extra brings is not installed."""


def parser(module: str, what: str) -> ModuleType:
    """A module of a parser that may be missing; ``what`` is read with it, as in "shell scripts"."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0].replace("_", "-")
        raise MissingParserError(
            f"{what} are read with {package}, which is not installed: run pip install '{EXTRA}'"
        ) from None
