"""Files rewritten in place: what changes, and all that must not."""

from __future__ import annotations

import pytest

from .support import Project

UNTOUCHED = (
    b"",
    b"import os\n",
    b"\xff\xfe\x00 not text at all",
    b"x = 1\r\ny = 2\r\n",
    b"\xef\xbb\xbfimport os",
    b"def (\n",
    "# an Neuron_ of nothing: š\n".encode(),
    b"# Neuron_\r\nx = 1\ry = 2",
    b"# coding: latin-1\n# Neuron_ \xe9",
)

CHANGED: dict[str, tuple[bytes, bytes]] = {
    "no newline at the end": (b"Neuron__old", b"native_new"),
    "CRLF": (b"Neuron__old\r\nx\r\n", b"native_new\r\nx\r\n"),
    "mixed newlines": (b"Neuron__old\r\nx\ny\r\n", b"native_new\r\nx\ny\r\n"),
    "CR": (b"Neuron__old\rx = 1\r", b"native_new\rx = 1\r"),
    "BOM": (b"\xef\xbb\xbfNeuron__old\n", b"\xef\xbb\xbfnative_new\n"),
    "BOM and CRLF": (b"\xef\xbb\xbfNeuron__old\r\n", b"\xef\xbb\xbfnative_new\r\n"),
    "BOM and cookie": (b"\xef\xbb\xbf# coding: utf-8\nNeuron__old\n", b"\xef\xbb\xbf# coding: utf-8\nnative_new\n"),
    "Latin-1 by cookie": (
        b"# -*- coding: latin-1 -*-\nNeuron__old  # \xe9\n",
        b"# -*- coding: latin-1 -*-\nnative_new  # \xe9\n",
    ),
    "cookie in the second line": (
        b"#!/usr/bin/python\n# vim: set fileencoding=cp1251 :\nNeuron__old  # \xc4\n",
        b"#!/usr/bin/python\n# vim: set fileencoding=cp1251 :\nnative_new  # \xc4\n",
    ),
    "emoji": ("Neuron__old  # ♻️ šě".encode(), "native_new  # ♻️ šě".encode()),
    "tab and form feed": (b"if x:\n\tNeuron__old\x0c\n", b"if x:\n\tnative_new\x0c\n"),
    "odd line end": ("x = 'a\u2028b'; Neuron__old".encode(), "x = 'a\u2028b'; native_new".encode()),
    "control character": (b"Neuron__old # \x1a", b"native_new # \x1a"),
}


def test_files_with_nothing_to_migrate_keep_their_bytes_and_their_times(project: Project) -> None:
    project.write({f"{number}.py": content for number, content in enumerate(UNTOUCHED)})
    paths = [project.root / f"{number}.py" for number in range(len(UNTOUCHED))]
    before = [(path.stat().st_mtime_ns, path.stat().st_ino) for path in paths]
    assert project.run(".").status == 0
    assert [path.read_bytes() for path in paths] == list(UNTOUCHED)
    assert [(path.stat().st_mtime_ns, path.stat().st_ino) for path in paths] == before
    assert len(project.files()) == len(UNTOUCHED)


@pytest.fixture(scope="module", params=["", "C"])
def changed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """All cases after one run, in the usual locale and in one that knows ASCII only."""
    project = Project(tmp_path_factory.mktemp("changed"))
    project.write({case.replace(" ", "_") + ".py": before for case, (before, _) in CHANGED.items()})
    env = {"LC_ALL": request.param, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"} if request.param else {}
    ended = project.run(".", env=env)
    assert (ended.status, ended.err) == (0, "")
    return project


@pytest.mark.parametrize("case", CHANGED)
def test_only_what_is_migrated_changes_whatever_the_locale(changed: Project, case: str) -> None:
    assert changed.read(case.replace(" ", "_") + ".py") == CHANGED[case][1]


def test_a_second_run_changes_nothing(project: Project) -> None:
    project.write({"a.py": "Neuron__old\n", "b.py": "Neuron__two_lines\n"})
    assert project.run(".").status == 0
    after = project.files()
    again = project.run(".", "--check")
    assert again.status == 0
    assert again.text == "Nothing to migrate: 2 files scanned.\n"
    assert project.files() == after


def test_a_run_that_only_shows_writes_nothing(project: Project) -> None:
    project.write({"a.py": "Neuron__old\n", "b.py": "Neuron__hard\n"})
    before = project.files()
    project.run(".", "--check")
    project.run(".", "--diff")
    assert project.files() == before


def test_nothing_but_the_migrated_files_appears_anywhere(project: Project) -> None:
    project.write({"sub/a.py": "Neuron__old\n", "sub/bad.py": "Neuron_ (", "cwd/keep.txt": ""})
    project.run(project.root / "sub", cwd=project.root / "cwd")
    assert set(project.files()) == {"sub/a.py", "sub/bad.py", "cwd/keep.txt"}


def test_standard_input_comes_back_on_standard_output_and_findings_beside_it(project: Project) -> None:
    ended = project.run("-", stdin=b"x = Neuron__old\r\ny = Neuron__hard")
    assert ended.status == 4
    assert ended.out == b"x = native_new\r\ny = Neuron__hard"
    assert "<stdin>:2:5: NM201 manual Write this by hand." in ended.err


@pytest.mark.parametrize("text", [b"", b"x = 1", b"x = 1\r\n\r\n", b"\xff\xfe", b"# Neuron_, and no newline"])
def test_a_text_without_anything_to_migrate_passes_through_as_it_is(project: Project, text: bytes) -> None:
    ended = project.run("-", stdin=text)
    assert (ended.status, ended.out) == (0, text)


@pytest.mark.parametrize("text", [b"def (Neuron_", b"Neuron__raise_value", b"Neuron_ \xff", b"Neuron__break\n"])
def test_a_text_that_cannot_be_migrated_passes_through_and_a_pipe_loses_nothing(project: Project, text: bytes) -> None:
    ended = project.run("-", stdin=text)
    assert (ended.status, ended.out) == (8, text)
    assert ended.err.startswith("<stdin>")


def test_standard_input_can_have_a_name(project: Project) -> None:
    ended = project.run("-", "--stdin-filename", "src/train.py", "--diff", stdin=b"Neuron__old\n")
    assert ended.status == 1
    assert ended.out.startswith(b"--- a/src/train.py\n+++ b/src/train.py\n@@ -1 +1 @@\n-Neuron__old\n+native_new\n")
    ended = project.run("-", "--stdin-filename", "src/train.py", stdin=b"Neuron_ (")
    assert ended.err.startswith("src/train.py:1:")


def test_standard_input_can_be_checked(project: Project) -> None:
    ended = project.run("-", "--check", stdin=b"Neuron__old\n")
    assert ended.status == 1
    assert ended.lines[0] == "Would rewrite <stdin>"


def test_every_file_of_a_run_is_known_before_the_first_is_migrated(project: Project) -> None:
    project.write({"a.py": "Neuron__project", "b.py": "# Neuron_", "c.py": "nothing", "d.py": "Neuron_ ("})
    assert "a.py:1:1: NM102 review Known: a.py, b.py" in project.run(".").text
