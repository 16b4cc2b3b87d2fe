"""Run scripts one after another in this process, each in a folder of its own:  python run_scripts.py PLAN

PLAN is a file with JSON: a list of {"name", "script", "arguments", "folder"}. One line of JSON is printed for each
script: its name, the seconds, and the error that ended it, if any.
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import sys
import time
import traceback
from pathlib import Path
from typing import Any


def main() -> None:
    for item in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        start = time.perf_counter()
        error = run(item)
        result = {"name": item["name"], "seconds": round(time.perf_counter() - start, 1), "error": error}
        print(json.dumps(result), flush=True)


def run(item: dict[str, Any]) -> str:
    """The traceback of what ended a script, or nothing."""
    script, folder = Path(item["script"]), Path(item["folder"])
    folder.mkdir(parents=True)
    environment, modules, path = dict(os.environ), set(sys.modules), list(sys.path)
    os.chdir(folder)
    sys.path.insert(0, str(script.parent))
    sys.argv = [script.name, *item["arguments"]]
    try:
        with contextlib.redirect_stdout(sys.stderr):
            runpy.run_path(str(script), run_name="__main__")
    except SystemExit as error:
        return "" if error.code in (None, 0) else f"SystemExit: {error.code}"
    except BaseException:
        return traceback.format_exc()
    finally:
        forget(modules, script.parent)
        sys.path[:] = path
        os.environ.clear()
        os.environ.update(environment)
    return ""


def forget(modules: set[str], folder: Path) -> None:
    """Let the next script start as in a process of its own, as far as it can tell."""
    for name in set(sys.modules) - modules:
        if getattr(sys.modules[name], "__file__", None) and Path(sys.modules[name].__file__ or "").parent == folder:
            del sys.modules[name]
    state = sys.modules.get("accelerate.state")
    if state is not None:
        state.AcceleratorState._reset_state(True)
        state.GradientState._reset_state()


if __name__ == "__main__":
    main()
