"""Programs like those that use Optimum Neuron, in every shape that Python allows; the same seed, the same program."""

from __future__ import annotations

import ast
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from neuron_codemods.model import Settings

from . import layout, mutations, pieces

SETTINGS = (
    *(Settings(),) * 6,
    Settings(annotate=True),
    Settings(shim=False),
    Settings(select=("NM", "NM7")),
    Settings(ignore=("NM1",)),
)


@dataclass(frozen=True)
class Program:
    """One generated text, and how it is to be migrated."""

    seed: str
    text: str
    settings: Settings
    valid: bool
    """Whether the running Python can read it."""


def program(seed: str) -> Program:
    """The program of a seed."""
    return generated(random.Random(seed), seed)


def generated(rng: random.Random, seed: str = "") -> Program:
    """A program that a source of random numbers decides."""
    text = _assembled(rng)
    for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 5))):
        text = _mutated(text, rng, mutations.ALL)
    for _ in range(rng.choice((0, 0, 1, 2, 3, 4))):
        text = _mutated(text, rng, layout.ALL)
    valid = True
    if rng.random() < 0.02:
        text = layout.broken(text, rng)
        valid = mutations.tree_of(text) is not None
    return Program(seed, text, rng.choice(SETTINGS), valid)


def _mutated(text: str, rng: random.Random, ways: tuple[Callable[[str, random.Random], str], ...]) -> str:
    """The text after one mutation, or as it was where the mutation would make it no Python."""
    try:
        changed = rng.choice(ways)(text, rng)
    except (IndexError, ValueError):  # nothing there to be mutated
        return text
    if len(changed) > 20_000 or mutations.tree_of(changed) is None:
        return text
    if rng.random() < 0.95 and not compiles(changed) and compiles(text):
        return text  # a few only ast reads: return at the top, two meanings of one name
    return changed


def compiles(text: str) -> bool:
    """Whether the running Python takes a text for a program."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "program.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _assembled(rng: random.Random) -> str:
    """Cases, scripts and lines from the table, one after the other or mixed with one another."""
    texts: list[list[str]] = []
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
        made = rng.choices((_case, _script, _uses, _other), (70, 3, 22, 5))[0](rng)
        texts.append(pieces.chunks(made))
    if rng.random() < 0.5:
        parts = [part for text in texts for part in text]
    else:
        parts = []
        while any(texts):
            source = rng.choice([text for text in texts if text])
            parts.append(source.pop(0))
    if rng.random() < 0.3:
        parts.insert(rng.randrange(len(parts) + 1), rng.choice(pieces.syntax()))
    if rng.random() < 0.1:
        rng.shuffle(parts)
    return "".join(part if part.endswith("\n") else f"{part}\n" for part in parts)


def _case(rng: random.Random) -> str:
    return rng.choice(pieces.cases())


def _script(rng: random.Random) -> str:
    return rng.choice(pieces.scripts())


def _other(rng: random.Random) -> str:
    return "".join(rng.choice(pieces.syntax()) for _ in range(rng.randint(1, 4)))


def _uses(rng: random.Random) -> str:
    """Imports from the table of names, and what a script may do with them."""
    lines = []
    names = []
    for symbol in rng.sample(pieces.symbols(), rng.choice((1, 1, 2, 3))):
        line, name = _imported(*symbol, rng)
        lines.append(line)
        names.append(name)
    for _ in range(rng.randint(1, 5)):
        use = rng.choice(_USES)
        given = ", ".join(
            f"{rng.choice(pieces.all_keywords())}={rng.choice(_VALUES)}" for _ in range(rng.randint(0, 3))
        )
        lines.append(use.replace("NAME", rng.choice(names)).replace("GIVEN", given))
    text = "\n".join(lines) + "\n"
    try:
        ast.parse(text)
    except SyntaxError:  # a keyword twice
        return lines[0] + "\n"
    return text


def _imported(module: str, name: str, rng: random.Random) -> tuple[str, str]:
    parent, _, last = module.rpartition(".")
    return rng.choice(
        (
            (f"from {module} import {name}", name),
            (f"from {module} import {name}", name),
            (f"from {module} import {name} as imported", "imported"),
            (f"from {module} import {name} as {name}", name),
            (f"import {module}", f"{module}.{name}"),
            (f"import {module} as on", f"on.{name}"),
            (f"from {parent} import {last}", f"{last}.{name}"),
            (f"from {parent} import {last} as part", f"part.{name}"),
            (f"from {module} import *", name),
            (f"from {module} import (\n    {name},  # why\n    # another\n    nothing_known,\n)", name),
            (f"from {module} import {name}, \\\n    {name} as again", "again"),
            (f"try:\n    from {module} import {name}\nexcept ImportError:\n    {name} = None", name),
            (f"if TYPE_CHECKING:\n    from {module} import {name}", name),
            (f"import os, {module}, sys", f"{module}.{name}"),
            (f"from .{module} import {name}", name),
        )
    )


_VALUES = (
    "1",
    "True",
    "False",
    "None",
    '"bf16"',
    "x",
    "[1, 2]",
    '{"a": 1}',
    "8 * n",
    "args.value",
    "dict(a=1)",
    "f()",
)

_USES = (
    "NAME",
    "x = NAME",
    "x = NAME(GIVEN)",
    "x = NAME(first, GIVEN)",
    "x = NAME(*args, GIVEN)",
    "x = NAME(\n    first,  # one\n    GIVEN\n)",
    'x = NAME.from_pretrained("a/b", GIVEN)',
    "with NAME(GIVEN) as x:\n    x.train()",
    "class Own(NAME):\n    def train(self, *args, **kwargs):\n        return super().train(*args, **kwargs)",
    "def f(a: NAME, b: 'NAME' = None) -> NAME:\n    return NAME(a, GIVEN)",
    "isinstance(x, NAME)",
    "isinstance(x, (NAME, int))",
    "x: 'list[NAME]' = []",
    "x: NAME = NAME(GIVEN)",
    "print(f'{NAME} {NAME(GIVEN)!r}')",
    "@NAME\ndef f(): pass",
    "@NAME(GIVEN)\ndef f(): pass",
    "for x in NAME(GIVEN): x()",
    "try:\n    NAME(GIVEN)\nexcept NAME:\n    raise",
    "lambda: NAME(GIVEN)",
    "[NAME(GIVEN) for NAME_ in range(3)]",
    "del x",
    "x.train(GIVEN); x.save_model('out')",
    "NAME.attribute = 1",
    "x = NAME if x else None",
    "getattr(NAME, 'x')",
    "assert NAME",
    "return_value = (NAME(GIVEN), NAME)",
    "match x:\n    case NAME(): pass",
    "x = dict(GIVEN)\ny = NAME(**x)",
    "__all__ = ['NAME']",
    "if x: NAME(GIVEN)",
    "global_ = x.model.config",
)
