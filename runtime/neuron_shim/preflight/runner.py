"""Runs the script in one process and writes down what happens:

    python -m neuron_shim.preflight.runner FOLDER STEPS script|module TARGET [ARGUMENT...]

Exit status: 0 if the script ended, or was ended after its steps; 1 if it failed; 4 if no device can be simulated here.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_shim.preflight.journal import Journal
from neuron_shim.preflight.watch.state import Enough, State
from neuron_shim.simulate import NotPossible, activate
from neuron_shim.simulate.record import users_line
from neuron_shim.simulate.script import run_script

if TYPE_CHECKING:
    from types import TracebackType

IMPOSSIBLE = 4


def main() -> int:
    folder, steps, kind, target, *arguments = sys.argv[1:]
    rank = os.environ.get("RANK", "0")
    journal = Journal(Path(folder) / f"events-{rank}.jsonl")
    try:
        activate()
    except NotPossible as error:
        journal.note("end", how="impossible", message=str(error))
        return IMPOSSIBLE
    from neuron_shim.preflight.watch import device, libraries, models

    state = State(journal, int(steps), Path(folder) / "scratch")
    for watched in (device, models, libraries):
        watched.install(state)
    end, status = _run(state, target, arguments, as_module=kind == "module")
    state.note("end", **end)
    return status


def _run(state: State, target: str, arguments: list[str], *, as_module: bool) -> tuple[dict[str, Any], int]:
    try:
        run_script(target, arguments, as_module=as_module)
    except Enough:
        _leave_group()
        return {"how": "enough"}, 0
    except KeyboardInterrupt:
        return {"how": "interrupted"}, 1
    except SystemExit as error:
        if error.code in (None, 0):
            return {"how": "finished"}, 0
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
        return {"how": "failed", "type": "SystemExit", "message": f"exit status {error.code}", "where": None}, 1
    except BaseException as error:
        if state.redirected and isinstance(error, OSError):
            return {"how": "enough"}, 0  # it looks for the model that preflight has not saved there
        shown = error.with_traceback(_of_the_script(error.__traceback__, target))
        traceback.print_exception(type(shown), shown, shown.__traceback__)
        frames = traceback.walk_tb(shown.__traceback__)
        return {
            "how": "failed",
            "type": type(error).__name__,
            "message": str(error),
            "chain": _chain(error),
            "where": users_line(reversed(list(frames))),
        }, 1
    return {"how": "finished"}, 0


def _of_the_script(traceback: TracebackType | None, target: str) -> TracebackType | None:
    """From the first line of the script on, as Python alone would show it."""
    here = traceback
    while here is not None:
        name = here.tb_frame.f_code.co_filename
        if name == target or (here.tb_frame.f_globals.get("__name__") == "__main__" and name != __file__):
            return here
        here = here.tb_next
    return None


def _chain(error: BaseException) -> list[str]:
    """The error and what it was raised from."""
    messages: list[str] = []
    current: BaseException | None = error
    while current is not None and len(messages) < 8:
        messages.append(str(current))
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return messages


def _leave_group() -> None:
    import torch

    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())
