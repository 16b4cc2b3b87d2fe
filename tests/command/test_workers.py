"""Many files in worker processes: the same results in the same order, and one lost worker costs one file."""

from __future__ import annotations

import pytest

from neuron_migrate import run

from .support import Project


def many(number: int) -> dict[str, str | bytes]:
    return {f"d{index % 3}/f{index:02}.py": f"Neuron__old\nNeuron__other  # {index}\n" for index in range(number)}


@pytest.mark.parametrize("given", [("--diff",), ("--check",), ()])
def test_workers_give_what_one_process_gives(project: Project, given: tuple[str, ...]) -> None:
    files = many(20) | {
        "d1/bad.py": "Neuron_ (",
        "d1/panic.py": "Neuron__raise_panic",
        "project.py": "Neuron__project",
    }
    project.write(files)
    alone = project.run(".", *given, "--jobs", "1")
    written = project.files()
    project.write(files)
    together = project.run(".", *given, "--jobs", "3")
    assert (together.status, together.out, together.err) == (alone.status, alone.out, alone.err)
    assert project.files() == written
    assert "Known: d0/f00.py, d0/f03.py" in alone.text + alone.err
    assert len(written) == 23


def test_a_file_that_takes_a_worker_down_is_named_and_the_others_are_migrated(project: Project) -> None:
    project.write(many(20) | {"d1/die.py": "Neuron__die\n"})
    ended = project.run(".", "--jobs", "2")
    assert ended.status == 8
    assert ended.err.startswith(
        "d1/die.py: internal error, the file is left as it is: the process that worked on it died"
    )
    assert len(ended.err.splitlines()) == 1
    assert "21 scanned, 20 with findings, 20 rewritten, 1 could not be processed" in ended.text


def test_warnings_of_the_source_are_not_shown(project: Project) -> None:
    project.write({"a.py": r"x = '\d' + str(1 is 1) + Neuron__old" + "\n"})
    ended = project.run("a.py")
    assert (ended.status, ended.err) == (0, "")


@pytest.mark.parametrize(
    ("sizes", "workers"),
    [([1_000_000, *[2_000] * 30], 1), ([1_000_000] * 3, 2), ([3_000] * 100, 2), ([5_000] * 30, 1), ([9_000_000], 1)],
)
def test_processes_are_worth_it_where_work_can_be_shared_out(
    monkeypatch: pytest.MonkeyPatch, sizes: list[int], workers: int
) -> None:
    monkeypatch.setattr(run, "_processors", lambda: 2)
    assert run._workers(None, sizes) == workers
    assert run._workers(4, sizes) == min(4, len(sizes))
