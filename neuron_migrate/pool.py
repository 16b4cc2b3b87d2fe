"""Many files at once, in worker processes.

Workers are forked from a server that has imported the rules once, or spawned where that is not to be had: plain fork
is unsafe once there are threads. A worker that dies (a crash in native code, no memory left) costs one file, not the
run.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from neuron_migrate import collector
from neuron_migrate.work import Job

Answer = TypeVar("Answer")

LARGEST_BATCH = 8
GRACE = 2.0
"""Seconds that the threads behind the workers get to end once the workers are gone."""


class Pool:
    """Worker processes; results come in the order of the work."""

    def __init__(self, jobs: int) -> None:
        methods = multiprocessing.get_all_start_methods()
        self._context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
        if "forkserver" in methods:
            self._context.set_forkserver_preload(["neuron_migrate.preload"])
        self._jobs = jobs
        self._others = set(multiprocessing.active_children())
        self._other_threads = set(threading.enumerate())
        self._executor: ProcessPoolExecutor | None = None

    def map(
        self, work: Callable[[Job], Answer], jobs: Sequence[Job], died: Callable[[Job], Answer]
    ) -> Iterator[Answer]:
        """``work`` done on every job; ``died`` stands in for the answer if it takes a worker down."""
        size = max(1, min(LARGEST_BATCH, len(jobs) // (self._jobs * 4)))
        batches = [jobs[start : start + size] for start in range(0, len(jobs), size)]
        futures: list[Future[list[Answer]]] = []
        self.close()
        try:
            executor = self._started(work)
            with _elsewhere():
                futures = [executor.submit(_batch, batch) for batch in batches]
        except BrokenProcessPool:  # so early that not all is submitted yet
            pass
        for index, batch in enumerate(batches):
            try:
                if index >= len(futures):
                    raise BrokenProcessPool
                yield from futures[index].result()
            except BrokenProcessPool:
                # Nobody can tell which file it was: whatever has no answer yet is tried once more, one at a time.
                for job in batch:
                    yield self._alone(work, job, died)

    def _alone(self, work: Callable[[Job], Answer], job: Job, died: Callable[[Job], Answer]) -> Answer:
        if self._executor is None or self._jobs != 1:
            self.close()
            self._jobs = 1
        try:
            executor = self._started(work)
            with _elsewhere():
                future = executor.submit(_batch, [job])
            answers: list[Answer] = future.result()
            return answers[0]
        except BrokenProcessPool:
            self.close()
            return died(job)

    def _started(self, work: Callable[[Job], Any]) -> ProcessPoolExecutor:
        # What is known of all files of a large project is part of the work. It goes to each process once, and not
        # with each batch; a process that is forked anew for that has the rules already.
        if self._executor is None:
            with _elsewhere():
                self._executor = ProcessPoolExecutor(self._jobs, self._context, initializer=_begin, initargs=(work,))
        return self._executor

    def close(self) -> None:
        """End the workers in good order."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None

    def kill(self) -> None:
        """End the workers now, whatever they are doing: they only compute, nothing is lost."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            for child in set(multiprocessing.active_children()) - self._others:
                child.terminate()
            # The interpreter's own end would meet these threads half-way out, and complain.
            for thread in set(threading.enumerate()) - self._other_threads:
                thread.join(GRACE)
            self._executor = None


@contextmanager
def _elsewhere() -> Iterator[None]:
    """Start processes in Python's own directory.

    A new interpreter looks for modules where it is started, before all other places. Where the command runs, that is a
    project whose ``signal.py`` is nobody's business here.
    """
    here = os.getcwd()
    os.chdir(os.path.dirname(os.__file__))
    try:
        yield
    finally:
        os.chdir(here)


_work: Callable[[Job], Any]
"""What this process was started for."""


def _begin(work: Callable[[Job], Any]) -> None:
    global _work
    # Ctrl-C reaches every process of the terminal. The command decides what it means, not the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    collector.rest()
    _work = work


def _batch(jobs: Sequence[Job]) -> list[Any]:
    return [_work(job) for job in jobs]
