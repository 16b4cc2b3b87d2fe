"""Ctrl-C, a polite kill, and a reader that goes away: no traceback, no half file, nothing left running."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from neuron_migrate import interrupts

from .support import Project, arguments, environment


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupted_run_ends_at_once_and_leaves_every_file_whole(
    project: Project, tmp_path: Path, number: int, status: int, jobs: str
) -> None:
    project.write({"a.py": "Neuron__old\n", "b.py": "Neuron__sleep\n", "c.py": "Neuron__old\n"})
    waiting = tmp_path / "waiting"
    run = subprocess.Popen(
        arguments(".", "--jobs", jobs),
        cwd=project.root,
        env=environment(FAKE_WAITING=str(waiting)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 20
    while not waiting.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.1)
    run.send_signal(number)
    _, err = run.communicate(timeout=20)
    assert run.returncode == status
    assert err.strip() == ("Interrupted. Every file is whole: migrated, or as it was." if status == 130 else "")
    assert set(project.files()) == {"a.py", "b.py", "c.py"}
    assert project.read("a.py") in (b"Neuron__old\n", b"native_new\n")
    assert project.read("b.py") == b"Neuron__sleep\n"
    assert project.read("c.py") == b"Neuron__old\n"


@pytest.fixture
def installed() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    interrupts.install()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(("number", "ends"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_a_signal_during_a_write_waits_until_it_is_done(number: int, ends: type[BaseException]) -> None:
    steps = []

    def work() -> None:
        with interrupts.held():
            with interrupts.held():
                os.kill(os.getpid(), number)
                steps.append("inner")
            steps.append("outer")
        steps.append("too far")

    with pytest.raises(ends):
        work()
    assert steps == ["inner", "outer"]


def _first_line(project: Project, *given: str) -> tuple[bytes, int, str]:
    """Read one line of the output, then close it, as ``| head -1`` does."""
    run = subprocess.Popen(
        arguments(*given), cwd=project.root, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert run.stdout is not None
    assert run.stderr is not None
    line = run.stdout.readline()
    run.stdout.close()
    err = run.stderr.read().decode()
    run.stderr.close()
    return line, run.wait(timeout=20), err


LONG = "Neuron__hard\n" * 5_000


def test_a_diff_that_nobody_reads_to_the_end_stops_quietly(project: Project) -> None:
    project.write({f"{number}.py": "Neuron__old\n" * 5_000 for number in range(5)})
    line, status, err = _first_line(project, ".", "--diff")
    assert (line, status, err) == (b"--- a/0.py\n", 141, "")


def test_a_rewriting_run_goes_on_when_nobody_reads_its_report(project: Project) -> None:
    project.write({"a.py": LONG, "b.py": LONG, "c.py": "Neuron__old\n"})
    _, status, err = _first_line(project, ".")
    assert (status, err) == (4, "")
    assert project.read("c.py") == b"native_new\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("given", [("--diff",), ("--list-rules",)])
def test_a_full_disk_behind_the_output_is_said_in_one_line(project: Project, given: tuple[str, ...]) -> None:
    project.write({"a.py": "Neuron__old\n"})
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            arguments(".", *given),
            cwd=project.root,
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 8
    assert done.stderr == b"neuron-migrate: No space left on device\n"
