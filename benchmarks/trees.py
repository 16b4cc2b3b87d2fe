"""Trees to measure on: the files of a library, as many as are asked for, and one in a hundred to migrate."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from benchmarks import touched

ONE_IN = 100
"""One file of so many is to be migrated."""


def files_without_needle(tree: Path) -> list[str]:
    """The Python files of a tree that the command opens and puts aside."""
    from neuron_codemods.needles import concerns
    from neuron_migrate.discover import Found, discover

    found = [item.path for item in discover([str(tree)]) if isinstance(item, Found) and item.kind is not None]
    return [path for path in found if not concerns(Path(path).read_bytes())]


def filled(tree: Path, paths: list[str], target: Path, files: int, *, copied: bool = False) -> Path:
    """So many of these files of a tree, several times over if need be, each in its folder: hard links if possible.

    ``copied`` is for those who write.
    """
    for number in range(files):
        copy, index = divmod(number, len(paths))
        path = paths[index]
        link = target / f"copy{copy}" / tree.name / Path(path).resolve().relative_to(tree)
        link.parent.mkdir(parents=True, exist_ok=True)
        try:
            (shutil.copyfile if copied else os.link)(path, link)
        except OSError:
            shutil.copyfile(path, link)
    return target


def sprinkled(target: Path, files: int) -> int:
    """Add scripts of the size of such a file, one for each ``ONE_IN`` files; their number."""
    number = max(files // ONE_IN, 1)
    folder = target / "scripts"
    folder.mkdir()
    for index in range(number):
        (folder / f"train_{index}.py").write_text(touched.generated(LINES), encoding="utf-8")
    return number


LINES = 335
"""Of a script to be migrated: 18 kB, as the files of transformers have on average."""
