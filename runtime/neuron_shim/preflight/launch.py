"""Start the processes of the script, as torchrun would, and wait for them."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

PATIENCE = 10.0
"""Seconds that the other processes have to end by themselves when one has failed."""

_OF_A_LAUNCHER = (
    *("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT"),
    "TORCHELASTIC_RUN_ID",
)


@dataclass(frozen=True)
class Launch:
    target: str
    arguments: Sequence[str]
    as_module: bool
    processes: int
    steps: int


@dataclass(frozen=True)
class Ended:
    statuses: Sequence[int]
    """By rank; negative is the signal that ended a process."""

    first_to_fail: int | None
    """The rank whose failure the others may only have followed."""


def run(launch: Launch, folder: Path) -> Ended:
    """Wait until all processes have ended.

    What rank 0 prints goes to the error output, since the report has the other one. What another rank says is shown
    only if that rank is the first to fail.
    """
    kind = "module" if launch.as_module else "script"
    command = [sys.executable, "-m", "neuron_shim.preflight.runner", str(folder), str(launch.steps), kind]
    command += [launch.target, *launch.arguments]
    running: list[subprocess.Popen[bytes]] = []
    port = _free_port() if launch.processes > 1 else 0
    try:
        for rank in range(launch.processes):
            with contextlib.ExitStack() as stack:
                said = stack.enter_context(open(folder / f"said-{rank}", "wb")) if rank else sys.stderr.fileno()
                running.append(
                    subprocess.Popen(command, env=_environment(rank, launch.processes, port), stdout=said, stderr=said)
                )
        failed = _wait(running)
    except BaseException:
        _end(running, patience=0)
        raise
    if failed:
        sys.stderr.write((folder / f"said-{failed}").read_text(encoding="utf-8", errors="replace"))
    return Ended([process.wait() for process in running], failed)


def _environment(rank: int, processes: int, port: int) -> Mapping[str, str]:
    environment = {name: value for name, value in os.environ.items() if name not in _OF_A_LAUNCHER}
    # Nothing of a preflight belongs on a dashboard.
    environment |= {"WANDB_MODE": "disabled", "COMET_MODE": "disabled"}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in (_ours(), environment.get("PYTHONPATH")) if path)
    if processes > 1:
        environment |= {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(processes),
            "LOCAL_WORLD_SIZE": str(processes),
            "GROUP_RANK": "0",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "TORCHELASTIC_RUN_ID": "preflight",
        }
        environment.setdefault("OMP_NUM_THREADS", "1")
    return environment


def _ours() -> str:
    import neuron_shim

    return os.path.dirname(os.path.dirname(os.path.abspath(neuron_shim.__file__)))


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait(running: list[subprocess.Popen[bytes]]) -> int | None:
    """The first rank that failed, if any; the others are then ended."""
    while True:
        statuses = [process.poll() for process in running]
        failed = next((rank for rank, status in enumerate(statuses) if status), None)
        if failed is not None:
            _end(running, PATIENCE)
            return failed
        if None not in statuses:
            return None
        time.sleep(0.05)


def _end(running: list[subprocess.Popen[bytes]], patience: float) -> None:
    """Let the processes end, as those that wait for one that failed soon do, and then make them."""
    until = time.monotonic() + patience
    while time.monotonic() < until and any(process.poll() is None for process in running):
        time.sleep(0.05)
    for process in running:
        if process.poll() is None:
            process.terminate()
    for process in running:
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
