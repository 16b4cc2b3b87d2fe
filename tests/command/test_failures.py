"""One bad file is named with its reason, and the others go on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from neuron_migrate.discover import Found
from neuron_migrate.documents import PYTHON
from neuron_migrate.results import FileResult, Problem
from neuron_migrate.scan import scan

from .support import UNMEASURED, Ended, Project, arguments, environment

GOOD = {"a_good.py": "Neuron__old\n", "z_good.py": "Neuron__old\n"}


BAD: dict[str, tuple[bytes, str]] = {
    "syntax": (b"x = 1\nif Neuron_ (:\n", ":2:13: "),
    "Python 2": (b"print 'Neuron_'\n", ":1:1: Missing parentheses"),
    "Latin-1": (b"# Neuron_\nx = '\xe9'\n", ":2:6: the file is not valid UTF-8: byte 0xe9"),
    "Latin-1 in the first line": (b"# \xe9 Neuron_\n", ":1:3: the file is not valid UTF-8"),
    "BOM but not UTF-8": (b"\xef\xbb\xbf# Neuron_ \xe9\n", ":1:11: the file is not valid UTF-8"),
    "UTF-16, in which no needle is seen": ("# Neuron_".encode("utf-16"), ""),
    "unknown cookie": (b"# coding: klingon\n# Neuron_\n", "unknown encoding: klingon"),
    "codec": (b"# coding: rot13\n# Neuron_\n", ":1:1: the file cannot be read in the encoding"),
    "UTF-7": (b"# coding: utf-7\n# Neuron_ +AGE-\n", "would not come back byte for byte"),
    "BOM against cookie": (b"\xef\xbb\xbf# coding: latin-1\n# Neuron_\n", "the coding cookie cannot be followed"),
    "not encodable": (b"# coding: latin-1\nNeuron__snow\n", "needs '☃' (U+2603), which iso-8859-1 cannot"),
    "null byte": (b"# Neuron_\nx = '\x00'\n", ":"),
    "a rule raises": (b"Neuron__raise_value", ": internal error, the file is left as it is: ValueError: a rule is"),
    "the parser panics": (b"Neuron__raise_panic", ": libcst fails at this file (called"),
    "recursion": (b"Neuron__raise_recursion", ": nested too deeply to be read"),
    "the first pass raises": (b"Neuron__raise_in_collect", "ValueError: collect is broken"),
    "the result does not parse": (b"Neuron__break\n", "the migrated text would not parse"),
    "too large": (b"#" * 10_000_001 + b"Neuron_", "the file is larger than 10 MB"),
}  # fmt: skip
"""What is in a file, and what is said of it."""


def _name(case: str) -> str:
    return case.replace(" ", "_").replace(",", "") + ".py"


@pytest.fixture(scope="module")
def all_bad(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Ended]:
    """One run over every bad file, between two good ones."""
    project = Project(tmp_path_factory.mktemp("bad"))
    project.write({**GOOD, **{_name(case): content for case, (content, _) in BAD.items()}})
    return project, project.run(".", "--jobs", "1")


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_named_with_its_reason_in_one_line_and_left_alone(
    all_bad: tuple[Project, Ended], case: str
) -> None:
    project, ended = all_bad
    content, message = BAD[case]
    lines = [line for line in ended.err.splitlines() if line.startswith(_name(case) + ":")]
    assert len(lines) == bool(message)
    assert message in "".join(lines)
    assert project.read(_name(case)) == content


def test_bad_files_do_not_keep_good_ones_from_being_migrated(all_bad: tuple[Project, Ended]) -> None:
    project, ended = all_bad
    assert ended.status == 8
    assert [project.read(name) for name in GOOD] == [b"native_new\n"] * 2
    assert set(project.files()) == {*GOOD, *map(_name, BAD)}


def test_the_same_is_said_by_worker_processes(all_bad: tuple[Project, Ended]) -> None:
    project, ended = all_bad
    again = project.run(".", "--jobs", "2")
    assert (again.status, again.err) == (ended.status, ended.err)


def test_a_large_file_that_does_not_concern_us_is_no_problem(project: Project) -> None:
    assert project.write({"a.py": b"#" * 10_000_001}).run(".").status == 0


def test_a_word_across_two_pieces_of_a_large_file_is_seen(project: Project) -> None:
    assert project.write({"a.py": b"#" * ((1 << 20) - 3) + b"Neuron_" + b"#" * 10_000_000}).run(".").status == 8


def test_an_internal_error_shows_its_traceback_only_when_asked(project: Project) -> None:
    project.write({"a.py": "Neuron__raise_value"})
    assert "engine.py" not in project.run(".").err
    ended = project.run(".", "--verbose")
    assert ended.status == 8
    assert "Traceback (most recent call last)" in ended.err
    assert "engine.py" in ended.err


def test_a_file_that_fails_tells_nothing_else(project: Project) -> None:
    ended = project.write({"a.py": "Neuron__hard; Neuron__break"}).run(".")
    assert ended.status == 8
    assert "NM201" not in ended.text


def test_a_named_pipe_is_refused_and_not_waited_for(project: Project) -> None:
    os.mkfifo(project.root / "pipe.py")
    assert "neither a regular file nor a directory" in project.run("pipe.py").err
    assert project.run(".").text == "Nothing to migrate: 0 files scanned.\n"


def test_a_link_that_leads_to_itself_is_named_when_named_and_passed_over_in_a_walk(project: Project) -> None:
    project.write(GOOD)
    (project.root / "loop.py").symlink_to("loop.py")
    ended = project.run("loop.py")
    assert ended.status == 8
    assert ended.err.startswith("loop.py: this path cannot be used: Too many levels")
    assert project.run(".").status == 0


def test_a_link_to_nowhere_is_named_when_named_and_passed_over_in_a_walk(project: Project) -> None:
    project.write(GOOD)
    (project.root / ".#lock.py").symlink_to("user@host.1234")
    assert "does not exist" in project.run(".#lock.py").err
    assert project.run(".").status == 0


def test_a_directory_that_links_to_its_parent_is_walked_once(project: Project) -> None:
    project.write({"sub/a.py": "Neuron__old\n"})
    (project.root / "sub" / "up").symlink_to("..")
    ended = project.run(".", "--check")
    assert "Files: 1 scanned" in ended.text


def test_an_unknown_kind_of_file_is_refused_only_if_it_concerns_us(project: Project) -> None:
    project.write({"notes.xyz": "Neuron_\n", "LICENSE": "MIT\n"})
    ended = project.run("notes.xyz", "LICENSE")
    assert ended.status == 8
    assert ended.err.startswith("notes.xyz: neuron-migrate does not know this kind of file, only Python, ")


def test_a_file_that_vanishes_after_it_was_listed_is_named(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write({"a.py": "Neuron__old\n", "c.py": "Neuron__old\n"})
    monkeypatch.chdir(project.root)
    seen = scan(Found(name, PYTHON, named=False) for name in ("a.py", "b.py", "c.py"))
    gone = FileResult("b.py", problem=Problem("the file has vanished"))
    assert [entry.path for entry in seen.hits] == ["a.py", "c.py"]
    assert seen.entries[1] == gone


def test_a_file_with_two_names_is_migrated_once(project: Project) -> None:
    project.write({"b.py": "Neuron__hard\nNeuron__old\n"})
    os.link(project.root / "b.py", project.root / "c.py")
    (project.root / "a.py").symlink_to("c.py")
    ended = project.run(".")
    assert ended.status == 4
    assert [line for line in ended.lines if "NM201" in line][:-1] == ["b.py:1:1: NM201 manual Write this by hand."]
    assert project.read("a.py") == project.read("b.py") == project.read("c.py") == b"Neuron__hard\nnative_new\n"


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory that other users can enter, too."""
    path = Path(tempfile.mkdtemp(prefix="neuron-migrate-test-"))
    path.chmod(0o755)
    yield path
    subprocess.run(["chmod", "-R", "u+rwX", path], check=True)
    shutil.rmtree(path)


_UNPRIVILEGED = """
import os, sys
import ast, gettext, locale, tempfile, tokenize
import neuron_codemods.engine, neuron_codemods.project, neuron_codemods.registry
import neuron_migrate.catalog, neuron_migrate.cli, neuron_migrate.compiled_folders, neuron_migrate.documents.python
import neuron_migrate.worker, neuron_migrate.write
if os.getuid() == 0:  # nothing stops root; all that is needed is imported before it turns into nobody
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
sys.exit(neuron_migrate.cli.main())
"""


def _as_nobody(path: Path, *given: str) -> tuple[int, str, str]:
    """Run the command as a user for whom permissions count."""
    command = [sys.executable, "-c", _UNPRIVILEGED, *given]
    done = subprocess.run(
        command, cwd=path, env=environment(**UNMEASURED), capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout, done.stderr


def _owned(path: Path) -> None:
    if os.getuid() == 0:
        os.chown(path, 65534, 65534)


def test_a_file_that_may_not_be_read_is_named(public: Path) -> None:
    for name in ("a.py", "b.py"):
        (public / name).write_text("Neuron__old\n")
        _owned(public / name)
    (public / "a.py").chmod(0o200)
    _owned(public)
    status, _, err = _as_nobody(public, ".")
    assert (status, err) == (8, "a.py: the file cannot be read: Permission denied\n")
    assert (public / "b.py").read_text() == "native_new\n"


def test_a_directory_that_may_not_be_listed_is_named(public: Path) -> None:
    (public / "closed").mkdir()
    (public / "a.py").write_text("Neuron__old\n")
    _owned(public / "closed")
    (public / "closed").chmod(0)
    status, _, err = _as_nobody(public, "--check", ".")
    assert (status, err) == (9, "closed: this directory cannot be listed: Permission denied\n")


def test_a_file_that_may_not_be_written_is_named_and_not_replaced_behind_its_owners_back(public: Path) -> None:
    (public / "theirs.py").write_text("Neuron__old\n")
    (public / "theirs.py").chmod(0o444 if os.getuid() else 0o644)
    if not os.getuid():
        _owned(public)  # the directory would allow to put another file in its place
    status, out, err = _as_nobody(public, ".")
    assert status == 8
    assert err.startswith("theirs.py: the file ")
    assert "0 rewritten, 1 could not be processed" in out
    assert [path.name for path in public.iterdir()] == ["theirs.py"]
    assert (public / "theirs.py").read_text() == "Neuron__old\n"


def test_a_writable_file_in_a_directory_that_is_not_is_written(public: Path) -> None:
    (public / "a.py").write_text("Neuron__old\n")
    _owned(public / "a.py")
    if os.getuid():
        public.chmod(0o555)
    status, _, err = _as_nobody(public, ".")
    assert (status, err) == (0, "")
    assert (public / "a.py").read_text() == "native_new\n"
    assert [path.name for path in public.iterdir()] == ["a.py"]


@pytest.mark.parametrize("name", ["pyproject.toml", ".gitignore"])
def test_a_pipe_in_the_place_of_a_configuration_is_not_waited_for(project: Project, name: str) -> None:
    project.write({"a.py": "Neuron__old\n"})
    (project.root / ".git").mkdir()
    os.mkfifo(project.root / name)
    assert project.run(".").status == 0
    assert project.read("a.py") == b"native_new\n"


def test_a_disk_that_is_full_leaves_the_file_and_names_the_report(project: Project) -> None:
    resource = pytest.importorskip("resource")
    project.write({"a.py": "Neuron__old\n" + "#" * 2_000 + "\n", "b.py": "Neuron__old\n"})
    done = subprocess.run(
        [*arguments(".", "--report", "all.html"), "--jobs", "1"],
        cwd=project.root,
        env=environment(**UNMEASURED, PYTHONDONTWRITEBYTECODE="1"),  # modules cut short would be read by the next run
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000)),
    )
    assert done.returncode == 8
    assert done.stderr.splitlines() == [
        "a.py: the file cannot be written: File too large",
        "neuron-migrate: all.html: the report is not whole: File too large",
    ]
    assert project.read("a.py").startswith(b"Neuron__old\n")
    assert project.read("b.py") == b"native_new\n"
    assert set(project.files()) == {"a.py", "b.py", "all.html"}
