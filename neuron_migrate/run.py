"""The two passes over the files that matter: learn what each tells the others, then migrate each.

The results are a stream in the order of discovery. Nothing is written here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from neuron_migrate.results import FileResult, Problem
from neuron_migrate.scan import Hit, Scan

if TYPE_CHECKING:
    from neuron_codemods import ModuleFacts

WORTH_A_POOL = 8
"""Starting workers costs about as much as migrating this many files."""


@dataclass(frozen=True)
class Choices:
    """What the user may choose about the migration; the codemods' own settings are made of it when first needed."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    annotate: bool = False


def run(
    scan: Scan, choices: Choices, *, jobs: int | None = None, tick: Callable[[], None] = lambda: None
) -> Iterator[FileResult]:
    """The results for all entries of a scan; ``tick`` is called twice for each file that is migrated."""
    hits = scan.hits
    if not hits:
        yield from (entry for entry in scan.entries if isinstance(entry, FileResult))
        return
    workers = _workers(jobs, len(hits))
    results = _serially(hits, choices, tick) if workers == 1 else _pooled(hits, choices, workers, tick)
    for entry in scan.entries:
        yield entry if isinstance(entry, FileResult) else next(results)


def _workers(jobs: int | None, hits: int) -> int:
    if jobs is None:
        jobs = 1 if hits <= WORTH_A_POOL else _processors()
    return min(jobs, hits)


def _processors() -> int:
    # Not the machine's processors but those that this process may use: a container often has fewer.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _serially(hits: list[Hit], choices: Choices, tick: Callable[[], None]) -> Iterator[FileResult]:
    from neuron_migrate import worker

    facts = _ticked(map(worker.collect, hits), tick)
    return _migrated(hits, facts, choices, tick, lambda work, sound: map(work, sound))


def _pooled(hits: list[Hit], choices: Choices, workers: int, tick: Callable[[], None]) -> Iterator[FileResult]:
    from neuron_migrate import worker
    from neuron_migrate.pool import Pool

    died = Problem(f"internal error, the file is left as it is: the process that worked on it died; {worker.REPORT}")
    pool = Pool(workers)
    try:
        facts = _ticked(pool.map(worker.collect, hits, lambda hit: died), tick)
        yield from _migrated(
            hits,
            facts,
            choices,
            tick,
            lambda work, sound: pool.map(work, sound, lambda hit: FileResult(hit.path, hit.data, problem=died)),
        )
    except BaseException:
        pool.kill()
        raise
    pool.close()


def _migrated(
    hits: list[Hit],
    facts: Iterable[ModuleFacts | Problem | None],
    choices: Choices,
    tick: Callable[[], None],
    mapped: Callable[[Callable[[Hit], FileResult], list[Hit]], Iterator[FileResult]],
) -> Iterator[FileResult]:
    """The second pass, given what the first has learned; a file on which the first failed is not tried again."""
    from neuron_codemods import Project
    from neuron_codemods.model import Settings
    from neuron_migrate import worker

    problems: dict[str, Problem] = {}
    modules: list[ModuleFacts] = []
    for hit, fact in zip(hits, facts, strict=True):
        if isinstance(fact, Problem):
            problems[hit.path] = fact
        elif fact is not None:
            modules.append(fact)
    settings = Settings(select=choices.select, ignore=choices.ignore, annotate=choices.annotate)
    work = partial(worker.migrate, settings=settings, project=Project(tuple(modules)))
    results = mapped(work, [hit for hit in hits if hit.path not in problems])
    for hit in hits:
        problem = problems.get(hit.path)
        yield FileResult(hit.path, hit.data, problem=problem) if problem is not None else next(results)
        tick()


def _ticked(
    answers: Iterable[ModuleFacts | Problem | None], tick: Callable[[], None]
) -> Iterator[ModuleFacts | Problem | None]:
    for answer in answers:
        yield answer
        tick()
