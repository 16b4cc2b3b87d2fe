"""Which files of a tree are looked at: as git and ruff have it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from neuron_migrate.discover import Found, discover, displayed

from .support import Project


def looked_at(*paths: str, exclude: tuple[str, ...] = ()) -> list[str]:
    found = list(discover(paths, exclude))
    assert all(isinstance(item, Found) for item in found), found
    return [item.path.replace(os.sep, "/") for item in found]


@pytest.fixture(autouse=True)
def inside(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.root)


def tree(project: Project, *names: str, repository: bool = True, **patterns: str) -> None:
    """Files of these names; a keyword is the .gitignore of a directory, with ``_`` for the root."""
    project.write(dict.fromkeys(names, ""))
    project.write({f"{'' if place == '_' else place + '/'}.gitignore": text for place, text in patterns.items()})
    if repository:
        (project.root / ".git").mkdir()


@pytest.mark.parametrize(
    "name",
    ["a.py", "a.pyi", "a.pyw", "A.PY", "deep/er/a.py", "a b.py", "ščř.py", ".hidden.py", ".hidden/a.py", "-.py"],
)
def test_python_files_are_found(project: Project, name: str) -> None:
    tree(project, name)
    assert looked_at(".") == [name]


@pytest.mark.parametrize(
    "name", ["a.txt", "a.pyc", "a.pyx", "a.py.orig", "py", ".py", "a.py~", "a.ipynb~", "a.so", ".x"]
)
def test_other_files_are_not(project: Project, name: str) -> None:
    tree(project, name)
    assert [path for path in looked_at(".") if path != "py"] == []


def test_the_order_is_always_the_same(project: Project) -> None:
    tree(project, "b.py", "a/z.py", "a/b.py", "c/a.py", "a.py")
    assert looked_at(".") == ["a/b.py", "a/z.py", "a.py", "b.py", "c/a.py"]
    assert looked_at("c", ".") == ["c/a.py", "a/b.py", "a/z.py", "a.py", "b.py"]


@pytest.mark.parametrize(
    "name",
    [
        ".git",
        ".hg",
        ".venv",
        ".tox",
        ".nox",
        ".mypy_cache",
        ".ruff_cache",
        "node_modules",
        "__pycache__",
        "build",
        "dist",
    ],
)
def test_directories_of_others_are_left_out_unless_named(project: Project, name: str) -> None:
    tree(project, f"{name}/a.py", f"sub/{name}/a.py", f"x{name}/a.py", repository=False)
    assert looked_at(".") == [f"x{name}/a.py"]
    assert looked_at(name) == [f"{name}/a.py"]


def test_a_virtual_environment_is_told_by_its_configuration_not_by_its_name(project: Project) -> None:
    tree(project, "env3/pyvenv.cfg", "env3/lib/a.py", "venv/a.py")
    assert looked_at(".") == ["venv/a.py"]
    assert looked_at("env3") == ["env3/lib/a.py"]


@pytest.mark.parametrize(
    ("line", "taken"),
    [
        ("#!/usr/bin/env python3\n", True),
        ("#! /usr/bin/python -u\n", True),
        ("#!/usr/bin/env -S uv run python\n", True),
        ("#!/usr/bin/perl\n# python\n", False),
        ("# python\n", False),
        ("import os\n", False),
        ("", False),
    ],
)
def test_a_file_without_suffix_is_told_by_its_first_line(project: Project, line: str, taken: bool) -> None:
    project.write({"script": line + "Neuron__old\n"})
    ended = project.run(".")
    assert ended.status == 0
    assert (b"native_new" in project.read("script")) is taken
    assert f"{int(taken)} " in ended.text.splitlines()[-1 if not taken else 0] or taken


@pytest.mark.parametrize(
    ("patterns", "kept"),
    [
        ("", ["a.py", "gen/a.py", "gen/b_pb2.py", "gen/sub/c.py"]),
        ("# gen\n\n", ["a.py", "gen/a.py", "gen/b_pb2.py", "gen/sub/c.py"]),
        ("gen/\n", ["a.py"]),
        ("gen\n", ["a.py"]),
        ("/gen/sub\n", ["a.py", "gen/a.py", "gen/b_pb2.py"]),
        ("sub/\n", ["a.py", "gen/a.py", "gen/b_pb2.py"]),
        ("/sub/\n", ["a.py", "gen/a.py", "gen/b_pb2.py", "gen/sub/c.py"]),
        ("a.py\n", ["gen/b_pb2.py", "gen/sub/c.py"]),
        ("/a.py\n", ["gen/a.py", "gen/b_pb2.py", "gen/sub/c.py"]),
        ("*_pb2.py\n", ["a.py", "gen/a.py", "gen/sub/c.py"]),
        ("gen/**/c.py\n", ["a.py", "gen/a.py", "gen/b_pb2.py"]),
        ("gen/*\n!gen/a.py\n", ["a.py", "gen/a.py"]),
        ("gen/\n!gen/a.py\n", ["a.py"]),
        ("*\n!a.py\n", ["a.py"]),
        ("*.py\n!*/\n!c.py\n", ["gen/sub/c.py"]),
        ("gen/\r\na.py\r\n", []),
        ("\ufeffgen/\n", ["a.py"]),
        ("gen/\n!\n/\n", ["a.py"]),
    ],
)
def test_gitignore_decides_as_git_does(project: Project, patterns: str, kept: list[str]) -> None:
    names = ["a.py", "gen/a.py", "gen/b_pb2.py", "gen/sub/c.py"]
    tree(project, *names, repository=False)
    (project.root / ".gitignore").write_bytes(patterns.encode())
    project.tool("git", "init", "-q", ".")
    assert looked_at(".") == kept
    listed = project.tool("git", "ls-files", "-co", "--exclude-standard", "*.py").lines
    assert sorted(listed) == sorted(kept)


def test_the_closest_gitignore_wins(project: Project) -> None:
    tree(project, "a.py", "sub/a.py", "sub/b.py", "sub/deep/a.py", _="a.py\n", sub="!a.py\nb.py\n")
    assert looked_at(".") == ["sub/a.py", "sub/deep/a.py"]


def test_patterns_above_the_named_directory_hold_up_to_the_root_of_the_repository(project: Project) -> None:
    tree(project, "repo/src/a.py", "repo/src/b.py", _="b.py\n", repo="a.py\n")
    (project.root / "repo" / ".git").mkdir()
    assert looked_at("repo/src") == ["repo/src/b.py"]
    assert looked_at(".") == ["repo/src/b.py"]


def test_gitignore_means_nothing_outside_a_repository(project: Project) -> None:
    tree(project, "a.py", _="a.py\n", repository=False)
    assert looked_at(".") == ["a.py"]


def test_a_worktree_is_a_repository_too(project: Project) -> None:
    tree(project, "a.py", "b.py", _="a.py\n", repository=False)
    (project.root / ".git").write_text("gitdir: /elsewhere\n")
    assert looked_at(".") == ["b.py"]


def test_patterns_in_the_repositorys_own_exclude_file_hold(project: Project) -> None:
    tree(project, "a.py", "b.py")
    project.write({".git/info/exclude": "a.py\n"})
    assert looked_at(".") == ["b.py"]


def test_a_named_file_is_taken_though_ignored_excluded_or_of_an_odd_name(project: Project) -> None:
    tree(project, "a.py", "build/b.py", "odd.txt", _="a.py\n")
    assert looked_at("a.py", "build/b.py", "odd.txt", exclude=("a.py",)) == ["a.py", "build/b.py", "odd.txt"]


def test_a_named_directory_is_walked_though_ignored_or_excluded_and_its_own_patterns_hold(project: Project) -> None:
    tree(project, "gen/a.py", "gen/sub/b.py", "gen/c.py", _="gen/\n", gen="c.py\n")
    assert looked_at("gen") == ["gen/a.py", "gen/sub/b.py"]
    assert looked_at("gen/sub") == ["gen/sub/b.py"]
    assert looked_at("gen", exclude=("gen", "b.py")) == ["gen/a.py"]
    assert looked_at("gen/sub", exclude=("gen", "b.py")) == []


@pytest.mark.parametrize(
    ("exclude", "kept"),
    [
        (("tests",), ["a.py", "src/a.py", "src/gen_a.py"]),
        (("tests/",), ["a.py", "src/a.py", "src/gen_a.py"]),
        (("src/tests",), ["a.py", "src/a.py", "src/gen_a.py", "tests/a.py"]),
        (("gen_*",), ["a.py", "src/a.py", "src/tests/t.py", "tests/a.py"]),
        (("/a.py",), ["src/a.py", "src/gen_a.py", "src/tests/t.py", "tests/a.py"]),
        (("tests", "src"), ["a.py"]),
        (("*.py", "!src/a.py"), ["src/a.py"]),
        (("nothing",), ["a.py", "src/a.py", "src/gen_a.py", "src/tests/t.py", "tests/a.py"]),
    ],
)
def test_excluded_files_are_left_out(project: Project, exclude: tuple[str, ...], kept: list[str]) -> None:
    tree(project, "a.py", "src/a.py", "src/gen_a.py", "src/tests/t.py", "tests/a.py")
    assert looked_at(".", exclude=exclude) == kept
    assert looked_at(str(project.root), exclude=exclude) == kept


def test_an_exclusion_holds_outside_the_current_directory_too(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(project, "cwd/x.py", "other/tests/a.py", "other/b.py")
    monkeypatch.chdir(project.root / "cwd")
    assert looked_at("../other", exclude=("tests",)) == ["../other/b.py"]


@pytest.mark.parametrize(
    "paths",
    [
        ("a.py", "a.py"),
        ("a.py", "./a.py", "sub/../a.py"),
        (".", "a.py"),
        ("a.py", "."),
        (".", ".", "sub"),
        ("sub", "."),
        ("{root}", "."),
        ("{root}/a.py", "a.py", "."),
        (".", "sub/.."),
    ],
)
def test_a_file_named_twice_is_looked_at_once(project: Project, paths: tuple[str, ...]) -> None:
    tree(project, "a.py", "sub/b.py")
    found = looked_at(*(path.format(root=project.root) for path in paths))
    assert len(found) == len({os.path.realpath(path) for path in found})
    assert "a.py" in found


def test_links_to_directories_are_followed_only_when_named(project: Project, tmp_path: Path) -> None:
    tree(project, "sub/a.py")
    (project.root / "link").symlink_to("sub")
    assert looked_at(".") == ["sub/a.py"]
    assert looked_at("link") == ["link/a.py"]
    assert looked_at("link", ".") == ["link/a.py"]


def test_a_tree_deeper_than_pythons_recursion_limit_is_walked(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "/".join(["d"] * 200)
    tree(project, f"{path}/a.py")
    depth = len(__import__("inspect").stack())
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + 60)
    try:
        assert looked_at(".") == [f"{path}/a.py"]
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (".", "."),
        ("./a.py", "a.py"),
        ("sub//a.py", "sub/a.py"),
        ("{root}/sub/a.py", "sub/a.py"),
        ("{root}", "."),
        ("../x/a.py", "../x/a.py"),
        ("/elsewhere/a.py", "/elsewhere/a.py"),
        ("{root}2/a.py", "{root}2/a.py"),
        ("sub/", "sub"),
    ],
)
def test_a_path_is_shown_as_seen_from_the_current_directory(project: Project, path: str, shown: str) -> None:
    assert displayed(path.format(root=project.root)) == shown.format(root=project.root)
