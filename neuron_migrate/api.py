"""The command as a library: files below some paths, each with what became of it, as a stream.

``neuron_codemods`` migrates texts; this opens files, and follows names from one to another as the command does.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import fields

from neuron_codemods.model import Settings
from neuron_migrate import catalog, write
from neuron_migrate.configuration import Configurations
from neuron_migrate.discover import discover
from neuron_migrate.results import FileResult
from neuron_migrate.run import run
from neuron_migrate.scan import scan


def migrate_paths(
    paths: Iterable[str | os.PathLike[str]],
    *,
    settings: Settings | None = None,
    exclude: Iterable[str] = (),
    jobs: int = 1,
) -> Iterator[FileResult]:
    """Migrate the files below some paths, in a fixed order; nothing is written, see :func:`write_result`.

    Files that hold nothing of Optimum Neuron are left out. What a file's project says in ``[tool.neuron-migrate]``
    holds, unless ``settings`` are given, which then hold for all. A file that cannot be processed is a result with a
    problem. More than one of the ``jobs`` are processes of their own. Raises ``ValueError`` for a pattern that never
    matches.
    """
    given = {} if settings is None else {each.name: getattr(settings, each.name) for each in fields(settings)}
    configurations = Configurations(given, use=settings is None, prefixes=catalog.prefixes)
    places = [os.fspath(path) for path in paths]
    found = scan(discover(places, exclude), further=configurations.needles(places))
    return run(found, configurations, jobs=jobs)


def write_result(result: FileResult) -> None:
    """Write the migrated text of a result, if there is one, as a whole or not at all.

    Raises :class:`neuron_migrate.write.WriteError`, also where the file has changed since it was read.
    """
    if result.after is not None:
        write.replace(result.path, result.before, result.after)
