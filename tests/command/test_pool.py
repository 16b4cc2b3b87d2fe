"""Worker processes: answers in order, one lost job for one lost worker, and an end at any moment."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Iterator

import pytest

from neuron_migrate import pool
from neuron_migrate.collector import resting


def died(job: object) -> str:
    return f"{job} took it down"


def large(size: int) -> bytes:
    return bytes(size)


@pytest.fixture
def as_before() -> Iterator[None]:
    """A worker changes its process for good; this process is the test's."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}
    with resting():
        yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("as_before")
def test_a_worker_answers_until_its_pipe_ends() -> None:
    ours, its_end = multiprocessing.Pipe()
    for message in [(len, "one"), (None, "four"), (str.upper, "up"), (None, "on")]:
        ours.send(message)
    answers = []

    def read() -> None:
        answers.extend(ours.recv() for _ in range(4))
        ours.close()

    reader = threading.Thread(target=read)
    reader.start()
    pool.serve(its_end)
    reader.join()
    assert answers == [3, 4, "UP", "ON"]
    assert its_end.closed
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_where_no_server_can_fork_workers_they_are_spawned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    monkeypatch.setenv("PYTHONSAFEPATH", "")
    with pool.Pool(1) as workers:
        assert list(workers.map(len, ["one", "four"], died)) == [3, 4]


def test_workers_end_at_once_in_the_middle_of_their_answers() -> None:
    with pool.Pool(2) as workers:
        answers = workers.map(large, [50_000_000] * 9, died)
        next(answers)
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_worker_that_dies_costs_its_one_job(jobs: int) -> None:
    with pool.Pool(jobs) as workers:
        answers = workers.map(signal.raise_signal, [0, signal.SIGKILL, signal.SIGTERM, 0, 0], died)
        assert list(answers) == [None, "9 took it down", "15 took it down", None, None]
