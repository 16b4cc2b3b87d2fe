"""The work on one file, behind a guard: whatever happens in there, the other files go on.

These functions run in the command's own process or in a worker process, and give the same results in both.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from neuron_codemods.model import SourceError
from neuron_migrate.documents import DocumentError, document
from neuron_migrate.results import FileResult, Problem
from neuron_migrate.work import Job

if TYPE_CHECKING:
    from neuron_codemods import ModuleFacts, Project

REPORT = "please report this to the neuron-migrate project, with the file or the part of it that matters"

Answer = TypeVar("Answer")


def collect(job: Job) -> ModuleFacts | Problem | None:
    """What other files may need to know of this one."""
    hit = job.hit
    return _guarded(lambda: document(hit.kind).collect(hit.data, hit.path))


def migrate(job: Job, project: Project) -> FileResult:
    """The migrated file."""
    hit, settings = job
    migrated = _guarded(lambda: document(hit.kind).migrate(hit.data, hit.path, settings, project))
    if isinstance(migrated, Problem):
        return FileResult(hit.path, hit.data, problem=migrated)
    if migrated.data == hit.data:
        return FileResult(hit.path, hit.data, findings=migrated.findings)
    return FileResult(hit.path, hit.data, migrated.data, migrated.findings, migrated.launch)


def _guarded(work: Callable[[], Answer]) -> Answer | Problem:
    try:
        with warnings.catch_warnings():
            # Python warns of odd escapes in the source it parses. That is the user's own business, not this run's.
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            return work()
    except SourceError as error:
        return Problem(error.message, error.line, error.column)
    except DocumentError as error:
        return Problem(error.reason, error.line, error.column)
    except RecursionError:
        return Problem("nested too deeply to be read", detail=traceback.format_exc())
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # not Exception: a panic of libcst's Rust parser is none
        said = " ".join(str(error).split())
        name = type(error).__name__
        if name == "PanicException":
            return Problem(f"libcst fails at this file ({said})", detail=traceback.format_exc())
        reason = f"internal error, the file is left as it is: {f'{name}: {said}' if said else name}; {REPORT}"
        return Problem(reason, detail=traceback.format_exc())
