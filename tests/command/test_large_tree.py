"""10,000 files: all that matter are reported and no others, in one order, and the rest is not kept in memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from neuron_migrate.api import migrate_paths
from neuron_migrate.discover import discover
from neuron_migrate.scan import scan

FILES, FOLDERS = 10_000, 100
PLAIN = b"import json\n\nprint(json.dumps({}))\n" * 50
OLD = b"from optimum.neuron import NeuronTrainer\n\nNeuronTrainer(model=m, tokenizer=t)\n"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file of a hundred uses Optimum Neuron."""
    root = tmp_path_factory.mktemp("tree")
    for folder in range(FOLDERS):
        at = root / f"package_{folder}"
        at.mkdir()
        for number in range(FILES // FOLDERS):
            (at / f"file_{number}.py").write_bytes(OLD if number == folder else PLAIN)
    return root


def test_all_and_only_what_matters_is_reported_in_a_stable_order(tree: Path) -> None:
    results = list(migrate_paths([tree], jobs=1))
    names = [Path(result.path).relative_to(tree).as_posix() for result in results]
    assert sorted(names) == sorted(f"package_{folder}/file_{folder}.py" for folder in range(FOLDERS))
    assert all(result.after is not None and b"optimum" not in result.after for result in results)
    assert names == [Path(entry.path).relative_to(tree).as_posix() for entry in scan(discover([str(tree)])).entries]


def test_the_bytes_of_other_files_are_not_kept(tree: Path) -> None:
    tracemalloc.start()
    try:
        found = scan(discover([str(tree)]))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (found.files, len(found.hits)) == (FILES, FOLDERS)
    assert peak < FILES * len(PLAIN) / 4  # what is kept of a file is about its path
