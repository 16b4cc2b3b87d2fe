"""Run a script in this process as ``python SCRIPT`` would."""

from __future__ import annotations

import os
import runpy
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def run_script(target: str, arguments: Sequence[str], *, as_module: bool = False) -> None:
    """The script, or the module of that name, with its own ``sys.argv`` and ``sys.path``."""
    sys.argv = [target, *arguments]
    if as_module:
        runpy.run_module(target, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(target))
        runpy.run_path(target, run_name="__main__")
