"""Many files at once, in worker processes.

Workers are forked from a server that has imported the rules once, or spawned where that is not to be had: plain fork
is unsafe once there are threads. A worker that dies (a crash in native code, no memory left) costs one file, not the
run.
"""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

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
        try:
            executor = self._started()
            futures = [executor.submit(_batch, work, batch) for batch in batches]
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
            return self._started().submit(_batch, work, [job]).result()[0]
        except BrokenProcessPool:
            self.close()
            return died(job)

    def _started(self) -> ProcessPoolExecutor:
        if self._executor is None:
            self._executor = ProcessPoolExecutor(self._jobs, self._context, initializer=_begin)
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


def _begin() -> None:
    # Ctrl-C reaches every process of the terminal. The command decides what it means, not the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _batch(work: Callable[[Job], Answer], jobs: Sequence[Job]) -> list[Answer]:
    return [work(job) for job in jobs]
