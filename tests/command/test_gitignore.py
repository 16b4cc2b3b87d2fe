"""Patterns of a .gitignore, each judged by git itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuron_migrate import gitignore
from neuron_migrate.discover import Found, discover
from neuron_migrate.gitignore import PatternError, Patterns

from .support import environment

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="needs git")

# Few names and few characters, so that what is drawn at random often matches.
NAMES = st.sampled_from(["a", "b", "ab", "a.py", "b.py", "a b", "a ", "é", "[a]", "*", "\\a", "a-b", "!a", "#a", "^"])
PLACES = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
ATOMS = st.sampled_from(
    [
        *("a", "b", "ab", "é", ".", ".py", "-", " ", "!", "#", "\t", "\0", "\r"),
        *("/", "/", "*", "*", "**", "***", "/**/", "**/", "/**", "?", "\\", "[", "]", "[a", "[:a:]", "[[:a"),
        *("[a-b]", "[!a]", "[^b]", "[]a]", "[a-]", "[\\]a]", "[\\a-b]", "[b-a]", "[--a]", "[a/b]", "[!-~]"),
        *("[[:alpha:]]", "[[:punct:]b]", "[![:lower:]]", "[[:none:]]"),
    ]
)
LINES = st.builds(
    lambda start, atoms, end: start + "".join(atoms) + end,
    st.sampled_from(["", "", "", "!", "/", "\\", "#"]),
    st.lists(ATOMS, max_size=4),
    st.sampled_from(["", "", "", "/", " ", "  ", "\\ ", "\\  ", "/ "]),
)
FILES = st.builds(
    lambda mark, lines, newline, end: mark + newline.join(lines) + end,
    st.sampled_from(["", "", "\ufeff"]),
    st.lists(LINES, max_size=5),
    st.sampled_from(["\n", "\n", "\r\n"]),
    st.sampled_from(["", "\n"]),
)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    _git(root, "init", "-q", ".")
    return root


def _git(root: Path, *given: str, stdin: bytes = b"") -> bytes:
    done = subprocess.run(("git", *given), cwd=root, env=environment(), input=stdin, capture_output=True, check=False)
    assert (done.returncode in (0, 1), done.stderr) == (True, b""), done
    return done.stdout


def _grow(root: Path, places: list[str], ignores: dict[str, str]) -> None:
    """A fresh tree: every place is a file, unless another one lies in it."""
    for old in root.iterdir():
        if old.name != ".git":
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    for place in places:
        # Some are empty directories: a pattern with a slash at its end tells the two apart.
        path = root / place
        if any(parent.is_file() for parent in path.parents):
            continue
        (path if len(place) % 3 == 0 else path.parent).mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.touch()
    for directory, text in ignores.items():
        if (root / directory).is_dir():
            (root / directory / ".gitignore").write_bytes(text.encode())


def _entries(root: Path) -> list[str]:
    paths = (path.relative_to(root) for path in root.rglob("*") if path.name != ".gitignore")
    return sorted(path.as_posix() for path in paths if path.parts[0] != ".git")


def _ignored(root: Path, patterns: Patterns) -> set[str]:
    def out(path: str) -> bool:
        return bool(patterns.verdict(os.fsencode(path), directory=(root / path).is_dir()))

    def out_with_parents(path: str) -> bool:
        parts = path.split("/")
        return any(out("/".join(parts[:end])) for end in range(1, len(parts) + 1))

    return set(filter(out_with_parents, _entries(root)))


def _ignored_by_git(root: Path) -> set[str]:
    entries = "\0".join(_entries(root)).encode()
    given = ("-c", "core.ignoreCase=false", "check-ignore", "-z", "--stdin", "--no-index")
    return set(_git(root, *given, stdin=entries).decode().split("\0")) - {""}


@given(st.lists(PLACES, min_size=1, max_size=8), FILES)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_patterns_mean_what_git_takes_them_for(repository: Path, places: list[str], text: str) -> None:
    _grow(repository, places, {".": text})
    patterns = gitignore.read((repository / ".gitignore").read_bytes())
    assert _ignored(repository, patterns) == _ignored_by_git(repository)


@given(st.lists(PLACES, min_size=1, max_size=8), FILES, FILES, FILES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_trees_are_walked_as_git_walks_them(
    repository: Path, places: list[str], top: str, below: str, deep: str
) -> None:
    _grow(repository, places, {".": top, "a": below, "ab": below, "a/b": deep, "a/ab": deep})
    found = {os.path.relpath(item.path, repository) for item in discover([str(repository)]) if isinstance(item, Found)}
    listed = _git(repository, "ls-files", "-z", "-o", "--exclude-standard").decode().split("\0")
    python = {path for path in listed if path.endswith(".py")}
    assert {path for path in found if path.endswith(".py")} == python


@pytest.mark.parametrize(
    ("line", "ignored"),
    [
        ("a", {"a", "sub/a"}),
        ("/a", {"a"}),
        ("sub/a", {"sub/a"}),
        ("a/", {"a"}),
        ("*.py", {"x.py", "sub/x.py"}),
        ("s*/x.py", {"sub/x.py"}),
        ("**/x.py", {"x.py", "sub/x.py"}),
        ("s**/x.py", {"sub/x.py"}),
        ("sub/**", {"sub/a", "sub/x.py"}),
        ("?.py", {"x.py", "sub/x.py"}),
        ("[w-y].py", {"x.py", "sub/x.py"}),
        ("[!a].py", {"x.py", "sub/x.py"}),
        ("\\#x", {"#x"}),
        ("\\!x", {"!x"}),
        ("!x", set()),
        ("#x", set()),
        ("b  ", {"b"}),
        ("b\\ ", {"b "}),
        ("b\\  ", {"b "}),
        ("", set()),
        ("x.py\\", set()),
        ("[x.py", set()),
        ("[[:nothing:]].py", set()),
        ("/", set()),
        ("é", {"é"}),
        ("?", {"a", "b", "sub/a"}),
        ("??", {"é", "#x", "!x", "b "}),  # a character is a byte, as for git
    ],
)
def test_a_pattern_matches_what_the_manual_says(repository: Path, line: str, ignored: set[str]) -> None:
    _grow(repository, ["x.py", "sub/x.py", "sub/a", "b", "b ", "#x", "!x", "é"], {".": line})
    (repository / "a").mkdir()
    found = _ignored(repository, gitignore.read(line.encode()))
    assert found - {"sub"} == ignored
    assert found == _ignored_by_git(repository)


@pytest.mark.parametrize("line", ["", "   ", "# comment", "#", "\0rest"])
def test_a_line_may_hold_no_pattern(line: str) -> None:
    assert gitignore.parse(line.encode()) is None


@pytest.mark.parametrize(
    "line", ["!", "/", "!/", "[", "[]", "[!]", "a[b", "[[:x:]]", "[[:a", "[a-", "[\\", "[a-\\", "\\"]
)
def test_a_pattern_that_can_never_match_is_told(line: str) -> None:
    with pytest.raises(PatternError):
        gitignore.parse(line.encode())
    assert not gitignore.read(line.encode())


def test_a_long_list_is_matched_quickly() -> None:
    lines = [f"/generated/part_{number}/*.py\n*_{number}_pb2.py\nname{number}/\n" for number in range(100)]
    patterns = gitignore.read("".join(lines).encode())
    started = time.process_time()
    for number in range(2_000):
        assert not patterns.verdict(b"src/package/module/file%d.py" % number, directory=False)
    assert time.process_time() - started < 0.5
