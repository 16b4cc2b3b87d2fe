"""The command line itself: what is wrong usage, and what the exit status says."""

from __future__ import annotations

import pytest

from .support import Project

OLD = "x = Neuron__old\n"
HARD = "y = Neuron__hard\n"
BAD = "def (Neuron_\n"


@pytest.mark.parametrize(
    ("files", "given", "status"),
    [
        ({"a.py": "import os\n"}, (), 0),
        ({"a.py": "import os\n"}, ("--check",), 0),
        ({"a.py": OLD}, (), 0),
        ({"a.py": OLD}, ("--check",), 1),
        ({"a.py": OLD}, ("--diff",), 1),
        ({"a.py": OLD}, ("--diff", "--check"), 1),
        ({"a.py": OLD}, ("--check", "--quiet"), 1),
        ({"a.py": HARD}, (), 4),
        ({"a.py": HARD}, ("--check",), 4),
        ({"a.py": BAD}, (), 8),
        ({"a.py": OLD, "b.py": HARD}, (), 4),
        ({"a.py": OLD, "b.py": HARD}, ("--check",), 5),
        ({"a.py": OLD, "b.py": BAD}, (), 8),
        ({"a.py": OLD, "b.py": BAD}, ("--diff",), 9),
        ({"a.py": HARD, "b.py": BAD}, (), 12),
        ({"a.py": OLD, "b.py": HARD, "c.py": BAD}, ("--check",), 13),
    ],
)
def test_the_exit_status_is_the_sum_of_what_is_the_case(
    project: Project, files: dict[str, str], given: tuple[str, ...], status: int
) -> None:
    assert project.write(files).run(".", *given).status == status


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((), "Nothing to migrate"),
        (("--diff",), "Nothing to migrate"),
        (("--no-such-option", "."), "--no-such-option"),
        (("-", "a.py"), "'-' stands alone"),
        (("--stdin-filename", "x.py", "a.py"), "--stdin-filename"),
        (("--jobs", "0", "."), "--jobs"),
        (("--jobs", "many", "."), "--jobs"),
        (("--color", "purple", "."), "purple"),
        (("--quiet", "--verbose", "."), "exclude each other"),
        (("--target", "transformers", "."), "'transformers' is no LIBRARY=VERSION"),
        (("--target", "trl=0.24", "."), "trl 0.24 is too old for migrated code, which needs 1.0 or later."),
        (("--select", "NM9", "."), "'NM9'"),
        (("--select", "NM1,XY2", "."), "'XY2'"),
        (("--ignore", "NM1011", "."), "'NM1011' (did you mean NM101"),
        (("--select", "", "."), "--select"),
        (("--ignore", " , ", "."), "--ignore"),
        (("--explain", "NM999"), "'NM999'"),
        (("--explain", "NM1"), "'NM1'"),
        (("--explain", ""), "''"),
        (("--exclude", "a[", "--exclude", "!", "."), "--exclude"),
    ],
)
def test_wrong_usage_is_status_2_with_a_sentence_and_nothing_is_done(
    project: Project, given: tuple[str, ...], named: str
) -> None:
    project.write({"a.py": OLD})
    ended = project.run(*given)
    assert (ended.status, ended.out) == (2, b"")
    assert named in ended.err
    assert project.read("a.py") == OLD.encode()


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_names_every_option_and_the_exit_status(project: Project, option: str) -> None:
    ended = project.run(option)
    assert ended.status == 0
    for name in (
        "--diff",
        "--check",
        "--select",
        "--ignore",
        "--exclude",
        "--jobs",
        "--stdin-filename",
        "Exit status",
    ):
        assert name in ended.text


def test_the_version_is_told(project: Project) -> None:
    ended = project.run("--version")
    assert ended.status == 0
    assert ended.text.startswith("neuron-migrate ")


def test_a_path_that_does_not_exist_is_named_and_the_others_are_migrated(project: Project) -> None:
    project.write({"a.py": OLD})
    ended = project.run("missing.py", "a.py", "gone/")
    assert ended.status == 8
    assert "missing.py: this path does not exist\n" in ended.err
    assert "gone/" in ended.err or "gone:" in ended.err
    assert project.read("a.py") == b"x = native_new\n"


def test_an_empty_path_is_not_the_current_directory(project: Project) -> None:
    project.write({"a.py": OLD})
    ended = project.run("")
    assert ended.status == 8
    assert '"": this path does not exist' in ended.err
    assert project.read("a.py") == OLD.encode()


def test_a_path_that_looks_like_an_option_follows_two_dashes(project: Project) -> None:
    assert project.write({"--diff": "", "-x.py": OLD}).run("--", "-x.py").status == 0
    assert project.read("-x.py") == b"x = native_new\n"
