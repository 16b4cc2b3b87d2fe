"""The two passes over the files that matter: learn what each tells the others, then migrate each.

The results are a stream in the order of discovery. Nothing is written here.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from neuron_migrate.configuration import ConfigurationError, Configurations
from neuron_migrate.results import FileResult, Problem
from neuron_migrate.scan import Hit, Scan
from neuron_migrate.work import Job

if TYPE_CHECKING:
    from neuron_codemods import ModuleFacts

WORTH_A_POOL = 200_000
"""Starting workers costs about as much as migrating this many bytes."""
_BESIDE = 2_000
"""What each file costs however small it is, as so many bytes more."""


def run(
    scan: Scan, configurations: Configurations, *, jobs: int | None = None, tick: Callable[[], None] = lambda: None
) -> Iterator[FileResult]:
    """The results for all entries of a scan; ``tick`` is called twice for each file that is migrated."""
    entries = list(_configured(scan, configurations))
    work = [entry for entry in entries if not isinstance(entry, FileResult)]
    if not work:
        yield from (entry for entry in entries if isinstance(entry, FileResult))
        return
    workers = _workers(jobs, [len(job.hit.data) + _BESIDE for job in work])
    results = _serially(work, tick) if workers == 1 else _pooled(work, workers, tick)
    for entry in entries:
        yield entry if isinstance(entry, FileResult) else next(results)
    next(results, None)  # behind the last one, workers end in good order


def _configured(scan: Scan, configurations: Configurations) -> Iterator[FileResult | Job]:
    """Each file with the settings of its own project; without those that the project excludes.

    A table that cannot be followed is told once, for all files that it is for.
    """
    held: dict[ConfigurationError, list[Hit]] = defaultdict(list)
    for entry in scan.entries:
        if isinstance(entry, FileResult):
            yield entry
            continue
        try:
            configuration = configurations.of(entry.path)
        except ConfigurationError as error:
            held[error].append(entry)
            continue
        if not configuration.excludes(entry.path):
            yield Job(entry, configuration.for_file(entry.path))
    for broken, hits in held.items():
        left = f"{hits[0].path} is left as it is" if len(hits) == 1 else f"{len(hits):,} files are left as they are"
        problem = Problem(f"{broken.reason}; {left}", files=len(hits))
        yield FileResult(_shown(broken.path), hits[0].data, problem=problem)  # a filter hands its text on


def _shown(path: str) -> str:
    """A path as a person would name it: from the current directory, if it lies below."""
    shown = os.path.relpath(path)
    return path if shown.startswith(os.pardir) else shown


def _workers(jobs: int | None, sizes: Sequence[int]) -> int:
    if jobs is None:
        beside_the_largest = sum(sizes) - max(sizes)  # a file has one worker: only the others can be shared out
        jobs = 1 if beside_the_largest <= WORTH_A_POOL else _processors()
    return min(jobs, len(sizes))


def _processors() -> int:
    # Not the machine's processors but those that this process may use: a container often has fewer.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _serially(jobs: list[Job], tick: Callable[[], None]) -> Iterator[FileResult]:
    from neuron_migrate import worker
    from neuron_migrate.collector import resting

    with resting():
        facts = _ticked(map(worker.collect, jobs), tick)
        yield from _migrated(jobs, facts, tick, map)


def _pooled(jobs: list[Job], workers: int, tick: Callable[[], None]) -> Iterator[FileResult]:
    from neuron_migrate import worker
    from neuron_migrate.pool import Pool

    died = Problem(f"internal error, the file is left as it is: the process that worked on it died; {worker.REPORT}")
    with Pool(workers) as pool:
        facts = _ticked(pool.map(worker.collect, jobs, lambda job: died), tick)
        yield from _migrated(
            jobs,
            facts,
            tick,
            lambda work, sound: pool.map(
                work, sound, lambda job: FileResult(job.hit.path, job.hit.data, problem=died)
            ),
        )


def _migrated(
    jobs: list[Job],
    facts: Iterable[ModuleFacts | Problem | None],
    tick: Callable[[], None],
    mapped: Callable[[Callable[[Job], FileResult], list[Job]], Iterator[FileResult]],
) -> Iterator[FileResult]:
    """The second pass, given what the first has learned; a file on which the first failed is not tried again."""
    from neuron_codemods import Project
    from neuron_migrate import compiled_folders, worker

    problems: dict[str, Problem] = {}
    modules: list[ModuleFacts] = []
    for job, fact in zip(jobs, facts, strict=True):
        if isinstance(fact, Problem):
            problems[job.hit.path] = fact
        elif fact is not None:
            modules.append(fact)
    work = partial(worker.migrate, project=Project(tuple(modules)).knowing(compiled_folders.compiled(modules)))
    results = mapped(work, [job for job in jobs if job.hit.path not in problems])
    for job in jobs:
        problem = problems.get(job.hit.path)
        yield FileResult(job.hit.path, job.hit.data, problem=problem) if problem is not None else next(results)
        tick()


def _ticked(
    answers: Iterable[ModuleFacts | Problem | None], tick: Callable[[], None]
) -> Iterator[ModuleFacts | Problem | None]:
    for answer in answers:
        yield answer
        tick()
