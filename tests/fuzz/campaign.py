"""A run over many programs: which promises were broken, by which seed, and by how little."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

from . import contracts, grammar, texts
from .shrink import shrunk

CHUNK = 25


@dataclass(frozen=True)
class Broken:
    """A program that breaks a promise, as small as it could be made."""

    seed: str
    contract: str
    said: str
    text: str


@dataclass(frozen=True)
class Counted:
    """What some programs came to."""

    programs: int
    refused: int
    """Those that are no Python, which may only be refused."""
    broken: tuple[Broken, ...]
    heard: frozenset[str]
    """The codes of the rules that had something to say."""


def run(seed: str, programs: int, jobs: int, kind: str = "python") -> Iterator[Counted]:
    """The counts of all programs, or texts of another kind, of a seed, a few at a time."""
    starts = range(0, programs, CHUNK)
    look = partial(_chunk, kind, seed, programs)
    if jobs == 1:
        yield from map(look, starts)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(look, starts)


def _chunk(kind: str, seed: str, programs: int, start: int) -> Counted:
    seeds = [f"{seed}:{number}" for number in range(start, min(start + CHUNK, programs))]
    return counted(seeds, kind)


def counted(seeds: list[str], kind: str = "python") -> Counted:
    """The counts of some seeds of a kind, as the log names them or without the kind."""
    return _programs(seeds) if kind == "python" else _texts(kind, [seed.removeprefix(f"{kind}:") for seed in seeds])


def _programs(seeds: list[str]) -> Counted:
    refused = 0
    heard: set[str] = set()
    broken: list[Broken] = []
    for seed in seeds:
        program = grammar.program(seed)
        refused += not program.valid
        for violation in contracts.violations(program.text, program.settings, heard):
            small = shrunk(program.text, partial(_breaks, violation.contract, program))
            said = [each.said for each in contracts.violations(small, program.settings)]
            broken.append(Broken(seed, violation.contract, said[0] if said else violation.said, small))
            break
    return Counted(len(seeds), refused, tuple(broken), frozenset(heard))


def _texts(kind: str, seeds: list[str]) -> Counted:
    """The counts of some texts of another kind; what cannot be read is refused by the parser of the kind."""
    broken = []
    heard: set[str] = set()
    for seed in seeds:
        text = texts.text(kind, random.Random(f"{kind}:{seed}"))
        for violation in texts.violations(kind, text, heard):
            small = shrunk(text, partial(_text_breaks, violation.contract, kind))
            broken.append(Broken(f"{kind}:{seed}", violation.contract, violation.said, small))
            break
    return Counted(len(seeds), 0, tuple(broken), frozenset(heard))


def _text_breaks(contract: str, kind: str, text: str) -> bool:
    return any(each.contract == contract for each in texts.violations(kind, text))


def _breaks(contract: str, program: grammar.Program, text: str) -> bool:
    return any(each.contract == contract for each in contracts.violations(text, program.settings))
