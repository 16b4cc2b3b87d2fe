"""Diffs are fed to the real ``git apply`` and ``patch``, and must give what an in-place run writes."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from neuron_migrate.diff import unified

from .support import Project

OLD = "Neuron__old\n"

pytestmark = pytest.mark.skipif(not (shutil.which("git") and shutil.which("patch")), reason="needs git and patch")

FILES: dict[str, bytes] = {
    "plain.py": b"a\n" * 10 + b"Neuron__old\n" + b"b\n" * 10 + b"Neuron__old\n",
    "no_newline.py": b"x\nNeuron__old",
    "newline_elsewhere.py": b"Neuron__old\n" + b"a\n" * 9 + b"no_newline",
    "crlf.py": b"a\r\nNeuron__old\r\nb\r\n",
    "mixed.py": b"a\r\nNeuron__old\nb\r\n",
    "cr.py": b"a\rNeuron__old\rb\r",
    "bom.py": b"\xef\xbb\xbfNeuron__old\r\n",
    "latin.py": b"# coding: latin-1\n# \xe9\nNeuron__old\n# \xff\n",
    "form_feed.py": "a\x0c\nNeuron__old\n# b\u2028c\x85\n".encode(),
    "minus.py": b"x = 2\n-- Neuron__old\n++ Neuron__old\n",
    "two_lines.py": b"a\nNeuron__two_lines\n",
    "deep/er/file.py": b"Neuron__old\n",
    "with space.py": b"Neuron__old\n",
    "dir with space/a b c.py": b"Neuron__old\n",
    "šílený.py": b"Neuron__old\n",
    'quo"te.py': b"Neuron__old\n",
    "back\\slash.py": b"Neuron__old\n",
    "tab\there.py": b"Neuron__old\n",
    "untouched.py": b"import os\n",
}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, dict[str, bytes]]:
    """The diff of the whole tree, and the tree as an in-place run leaves it."""
    project = Project(tmp_path_factory.mktemp("migrated")).write(FILES)
    shows = project.run(".", "--diff")
    assert (shows.status, project.files()) == (1, FILES)
    assert project.run(".").status == 0
    return shows.out, project.files()


@pytest.mark.parametrize("repository", [True, False])
def test_git_applies_the_diff_of_a_tree(
    project: Project, shown: tuple[bytes, dict[str, bytes]], repository: bool
) -> None:
    project.write(FILES)
    if repository:
        project.tool("git", "init", "-q", ".")
    project.tool("git", "apply", "-", stdin=shown[0])
    assert project.files() == shown[1]


def test_patch_applies_the_diff_of_a_tree(project: Project, shown: tuple[bytes, dict[str, bytes]]) -> None:
    project.write(FILES)
    project.tool("patch", "-p1", "--binary", stdin=shown[0])
    assert project.files() == shown[1]


def test_patch_needs_no_option_for_a_tree_without_carriage_returns(project: Project) -> None:
    project.write({"a.py": OLD, "b c.py": "Neuron__old"})
    shows = project.run(".", "--diff")
    project.tool("patch", "-p1", stdin=shows.out)
    assert project.files() == {"a.py": b"native_new\n", "b c.py": b"native_new"}


def test_the_diff_is_seen_from_the_directory_the_command_runs_in(project: Project) -> None:
    project.write({"top.py": OLD, "sub/in/a.py": OLD})
    project.tool("git", "init", "-q", ".")
    shows = project.run("in", cwd=project.root / "sub")
    assert shows.status == 0
    project.write({"sub/in/a.py": OLD})
    shows = project.run(project.root / "sub" / "in" / "a.py", "--diff", cwd=project.root / "sub")
    assert shows.out.startswith(b"--- a/in/a.py\n+++ b/in/a.py\n")
    project.tool("git", "apply", "-", stdin=shows.out, cwd=project.root / "sub")
    assert project.read("sub/in/a.py") == b"native_new\n"


def test_the_diff_of_a_file_elsewhere_applies_from_the_root(project: Project) -> None:
    project.write({"other/a.py": OLD, "cwd/b.py": OLD})
    shows = project.run("../other/a.py", "--diff", cwd=project.root / "cwd")
    assert b"--- a" + str(project.root / "other/a.py").encode() + b"\n" in shows.out
    project.tool("patch", "-p1", "-d", "/", stdin=shows.out)
    assert project.read("other/a.py") == b"native_new\n"


def test_the_diff_of_a_link_is_that_of_the_file_behind_it(project: Project) -> None:
    project.write({"a.py": OLD, "sub/b.py": OLD})
    (project.root / "0.py").symlink_to("a.py")
    (project.root / "0dir").symlink_to("sub")
    project.tool("git", "init", "-q", ".")
    shows = project.run("0.py", "0dir", ".", "--diff")
    assert shows.out.count(b"\n--- ") + 1 == 2
    project.tool("git", "apply", "-", stdin=shows.out)
    assert project.read("a.py") == project.read("sub/b.py") == b"native_new\n"
    assert (project.root / "0.py").is_symlink()


def test_a_piped_diff_has_nothing_but_the_diff_on_standard_output(project: Project) -> None:
    project.write({"a.py": "Neuron__old\nNeuron__hard\n", "b.py": "Neuron_ ("})
    shows = project.run(".", "--diff")
    assert shows.status == 13
    assert shows.out == (b"--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-Neuron__old\n+native_new\n Neuron__hard\n")
    assert "a.py:2:1: NM201 manual" in shows.err
    assert "Files: 2 scanned" in shows.err


def test_nothing_is_shown_when_nothing_changes(project: Project) -> None:
    project.write({"a.py": "Neuron__hard\n", "b.py": "import os\n"})
    assert project.run(".", "--diff").out == b""


def test_diffs_of_many_random_files_apply(project: Project) -> None:
    """Whatever is changed where: one tree of 150 pairs, one run of each program."""
    chance = random.Random(5)
    pieces = [
        b"a\n",
        b"b\n",
        b"\n",
        b"c\r\n",
        b"\r",
        b"\xe9\n",
        b"--- x\n",
        b"+++ y\n",
        b"\\ No\n",
        b"@@ -1 +1 @@\n",
        b"z",
    ]
    before: dict[str, bytes] = {}
    after: dict[str, bytes] = {}
    for number in range(150):
        old = [chance.choice(pieces) for _ in range(chance.randrange(1, 40))]
        new = [piece for piece in old for piece in chance.choice([[piece]] * 5 + [[], [piece, b"new\n"]])]
        name = f"{number}.py"
        before[name] = b"start\n" + b"".join(old)
        after[name] = b"start\n" + b"".join(new) + chance.choice([b"", b"end", b"end\n"])
    diff = b"".join(
        unified(str(project.root / name), before[name], after[name]) for name in before if before[name] != after[name]
    )
    root = str(project.root).encode()
    diff = diff.replace(b"--- a" + root + b"/", b"--- a/").replace(b"+++ b" + root + b"/", b"+++ b/")
    for program in (("git", "apply", "-"), ("patch", "-p1", "--binary")):
        project.write(before)
        project.tool(*program, stdin=diff)
        assert project.files() == after


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (b"", b"x\n", b"@@ -0,0 +1 @@\n+x\n"),
        (b"x\n", b"", b"@@ -1 +0,0 @@\n-x\n"),
        (b"x", b"x\n", b"@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+x\n"),
        (b"x\n", b"x", b"@@ -1 +1 @@\n-x\n+x\n\\ No newline at end of file\n"),
        (b"a\nx", b"b\nx", b"@@ -1,2 +1,2 @@\n-a\n+b\n x\n\\ No newline at end of file\n"),
    ],
)
def test_a_missing_newline_is_told_as_diff_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bytes, after: bytes, expected: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    assert unified("f.py", before, after) == b"--- a/f.py\n+++ b/f.py\n" + expected


def test_a_long_generated_file_is_compared_quickly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.chdir(tmp_path)
    lines = [b"value_%d = call(%d)\n" % (number, number % 7) if number % 3 else b"\n" for number in range(20_000)]
    after = [line.replace(b"call", b"Call") if number % 1_000 == 1 else line for number, line in enumerate(lines)]
    started = time.process_time()
    assert unified("f.py", b"".join(lines), b"".join(after)).count(b"\n+") == 1 + sum(map(bytes.__ne__, lines, after))
    assert time.process_time() - started < 3
