"""How tests run programs of several processes: none is left behind, and a known crash of torch is not ours."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

PATIENCE = 300

CRASH_AT_EXIT = "terminate called without an active exception"
"""What gloo says when it crashes while the interpreter goes down, after all work is done: its threads still hold
tensors, and to release one they need an interpreter that has gone. It happens once in a thousand runs, of any script,
and torch 2.13 has no remedy (https://github.com/pytorch/pytorch/pull/179291). Such a run is done again."""


def run(
    command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None, timeout: float = PATIENCE
) -> subprocess.CompletedProcess[str]:
    """The finished program, whatever its status."""
    done = _run(command, cwd, env, timeout)
    if done.returncode and CRASH_AT_EXIT in done.stderr:
        done = _run(command, cwd, env, timeout)
    return done


def _run(
    command: Sequence[str], cwd: Path | None, env: Mapping[str, str] | None, timeout: float
) -> subprocess.CompletedProcess[str]:
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=timeout)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)
