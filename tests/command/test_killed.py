"""Kill -9 at every step of a write: whatever was reached, the file holds its old bytes or its new ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .support import REPOSITORY, environment

OLD = b"old bytes, and longer than the new ones\n" * 3
NEW = b"new bytes\n"

_WRITER = """
import os, signal, sys
from pathlib import Path

from neuron_migrate import write

path, old, new = sys.argv[1], Path(sys.argv[2]).read_bytes(), Path(sys.argv[3]).read_bytes()
CALLS = "open read write close fsync lseek ftruncate stat chown chmod replace unlink".split()
step = 0


def attempt(last):
    # In a child of its own: counts the lines and the system calls of the write, and dies before the one asked for.
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    steps = 0

    def step():
        nonlocal steps
        if steps == last:
            os.kill(os.getpid(), signal.SIGKILL)
        steps += 1

    def counted(name, call):
        def stand_in(*given, **named):
            step()
            if name == "write" and steps == last and len(given[1]) > 1:
                return call(given[0], given[1][: len(given[1]) // 2])  # half of the bytes, then the end
            return call(*given, **named)

        return stand_in

    def traced(frame, event, argument):
        if frame.f_code.co_filename != write.__file__:
            return None
        if event == "line":
            step()
        return traced

    for name in CALLS:
        setattr(os, name, counted(name, getattr(os, name)))
    sys.settrace(traced)
    write.replace(path, old, new)
    os._exit(0)


for last in range(1_000):
    Path(path).write_bytes(old)
    status = attempt(last)
    now = Path(path).read_bytes()
    folder = os.path.dirname(path)
    copies = [name for name in os.listdir(folder) if name.startswith(".neuron-migrate-")]
    saved = any((Path(folder) / name).read_bytes() == old for name in copies)
    state = "old" if now == old else "new" if now == new else "torn, old bytes beside it" if saved else "LOST"
    print(f"killed before step {last}: {state}" if status else f"done in {last} steps: {state}")
    for name in copies:
        os.unlink(os.path.join(folder, name))
    if not status:
        break
"""


def _attempts(tmp_path: Path, links: int) -> list[str]:
    folder = tmp_path / "folder"
    folder.mkdir()
    file = folder / "file.py"
    file.write_bytes(OLD)
    if links == 2:
        os.link(file, folder / "twin.py")
    (tmp_path / "old").write_bytes(OLD)
    (tmp_path / "new").write_bytes(NEW)
    done = subprocess.run(
        [sys.executable, "-c", _WRITER, file, tmp_path / "old", tmp_path / "new"],
        cwd=REPOSITORY,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    return done.stdout.splitlines()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_write_that_is_killed_at_any_step_leaves_the_old_bytes_or_the_new_ones(tmp_path: Path) -> None:
    *killed, done = _attempts(tmp_path, links=1)
    assert len(killed) > 30
    assert done.endswith("steps: new")
    assert {line.rpartition(": ")[2] for line in killed} == {"old", "new"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_file_with_two_names_that_is_killed_has_its_old_bytes_beside_it_at_the_worst(tmp_path: Path) -> None:
    *killed, done = _attempts(tmp_path, links=2)
    assert done.endswith("steps: new")
    assert {line.rpartition(": ")[2] for line in killed} == {"old", "new", "torn, old bytes beside it"}
