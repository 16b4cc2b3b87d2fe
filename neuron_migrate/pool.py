"""Many files at once, in worker processes.

Workers are forked from a server that has imported the rules once, or spawned where that is not to be had: plain fork
is unsafe once there are threads. Each has a pipe of its own, which ends when it does: a worker that dies (a crash in
native code, no memory left) costs its one file, and all of them can be killed at any moment. The processes of
``concurrent.futures`` share their pipes; when one is killed half-way through an answer, its executor waits for ever.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from neuron_migrate import collector

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext

Job = TypeVar("Job")
Answer = TypeVar("Answer")


class Pool:
    """Worker processes; results come in the order of the work."""

    def __init__(self, jobs: int) -> None:
        context = _context()
        with _elsewhere():
            self._workers = [_Worker(context) for _ in range(jobs)]
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(jobs)  # one waits for each worker, whatever the caller does meanwhile

    def map(
        self, work: Callable[[Job], Answer], jobs: Sequence[Job], died: Callable[[Job], Answer]
    ) -> Iterator[Answer]:
        """``work`` done on every job; ``died`` stands in for the answer if it takes a worker down."""
        return self._threads.map(lambda job: self._answer(work, job, died), jobs)

    def _answer(self, work: Callable[[Job], Answer], job: Job, died: Callable[[Job], Answer]) -> Answer:
        worker = self._idle.get()
        try:
            return worker.ask(work, job)
        except (EOFError, OSError):
            worker.replace()
            return died(job)
        finally:
            self._idle.put(worker)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        """End the workers now, whatever they are doing: they only compute, nothing is lost."""
        for worker in self._workers:
            worker.end()
        self._threads.shutdown(cancel_futures=True)


class _Worker:
    """One process, and this end of its pipe."""

    def __init__(self, context: ForkServerContext | SpawnContext) -> None:
        self._context = context
        self._changes = threading.Lock()
        self._ended = False
        self._start()

    def _start(self) -> None:
        self._pipe, its_end = self._context.Pipe()
        self._process = self._context.Process(target=serve, args=(its_end,), daemon=True)
        self._process.start()
        its_end.close()
        self._known: object = None

    def ask(self, work: Callable[[Job], Answer], job: Job) -> Answer:
        """The answer to a job.

        Raises:
            EOFError: The process died of it.
            OSError: It had died before.
        """
        # What is known of all files of a large project is part of the work: it is sent once, not with each job.
        self._pipe.send((None if work is self._known else work, job))
        self._known = work
        answer: Answer = self._pipe.recv()
        return answer

    def replace(self) -> None:
        """Start a new process in place of the one that died."""
        with self._changes:
            if not self._ended:
                self._pipe.close()
                self._process.join()
                self._start()

    def end(self) -> None:
        """Kill the process, for good."""
        with self._changes:
            self._ended = True
            self._process.kill()
            self._process.join()


def _context() -> ForkServerContext | SpawnContext:
    if "forkserver" not in multiprocessing.get_all_start_methods():
        os.environ["PYTHONSAFEPATH"] = "1"  # for the replacements, which cannot be started elsewhere
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["neuron_migrate.preload"])
    return context


@contextmanager
def _elsewhere() -> Iterator[None]:
    """Start processes in Python's own directory.

    A new interpreter looks for modules where it is started, before all other places. Where the command runs, that is a
    project whose ``signal.py`` is nobody's business here. (A replacement is started from a thread, which has no
    directory of its own; the server that it is forked from runs already.)
    """
    here = os.getcwd()
    os.chdir(os.path.dirname(os.__file__))
    try:
        yield
    finally:
        os.chdir(here)


def serve(pipe: Connection) -> None:
    """What a worker does: one job after the other, until nobody has any more."""
    # Ctrl-C reaches every process of the terminal. The command decides what it means, not the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    collector.rest()
    work: Any = None
    with pipe, suppress(EOFError, BrokenPipeError):
        while True:
            given, job = pipe.recv()
            work = given or work
            pipe.send(work(job))
