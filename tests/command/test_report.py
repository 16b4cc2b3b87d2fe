"""What a person reads: findings, summary, colours, and the bar for those who wait."""

from __future__ import annotations

import os
import subprocess

import pytest

from .support import Project, arguments, environment

ALL = {"a.py": "x = optimum_old; y = optimum_old\n", "sub/b.py": "optimum_other\n\n  # x\noptimum_hard\n", "c.py": ""}


def test_the_report_of_a_rewriting_run(project: Project) -> None:
    ended = project.write(ALL).run(".")
    assert (ended.status, ended.err) == (4, "")
    assert ended.text == (
        "Rewrote a.py\n"
        "sub/b.py:1:1: NM102 review optimum_other became native_other; mind the memory.\n"
        "sub/b.py:4:1: NM201 manual Write this by hand.\n"
        "Rewrote sub/b.py\n"
        "\n"
        "Files: 3 scanned, 2 with Optimum Neuron, 2 rewritten.\n"
        "References: 4 found, 2 rewritten, 1 to review, 1 to do by hand.\n"
        "\n"
        "code   rule      rewritten  review  manual\n"
        "NM101  old-word          2       -       -\n"
        "NM102  other             -       1       -\n"
        "NM201  hard              -       -       1\n"
    )


def test_a_checking_run_says_would(project: Project) -> None:
    ended = project.write(ALL).run(".", "--check")
    assert "Would rewrite a.py\n" in ended.text
    assert "2 would be rewritten" in ended.text
    assert "Rewrote" not in ended.text


def test_quiet_leaves_what_is_to_do_by_hand(project: Project) -> None:
    ended = project.write({**ALL, "d.py": "optimum ("}).run(".", "--quiet")
    assert ended.status == 12
    assert ended.text == "sub/b.py:4:1: NM201 manual Write this by hand.\n"
    assert ended.err.startswith("d.py:1:")


def test_quiet_says_nothing_where_nothing_is_left(project: Project) -> None:
    ended = project.write({"a.py": "optimum_old\noptimum_other\n"}).run(".", "--quiet")
    assert (ended.status, ended.out, ended.err) == (0, b"", "")


def test_verbose_shows_rewritten_references_too(project: Project) -> None:
    ended = project.write(ALL).run(".", "--verbose")
    assert "a.py:1:5: NM101 rewritten optimum_old became native_new.\n" in ended.text
    assert "a.py:1:22: NM101 rewritten" in ended.text


@pytest.mark.parametrize(
    ("given", "env", "colored"),
    [
        ((), {}, False),
        (("--color", "auto"), {}, False),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
        (("--color", "always"), {}, True),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ((), {"NO_COLOR": ""}, False),
    ],
)
@pytest.mark.parametrize("mode", ["--check", "--diff"])
def test_colours_are_used_as_chosen(
    project: Project, given: tuple[str, ...], env: dict[str, str], colored: bool, mode: str
) -> None:
    ended = project.write(ALL).run(".", mode, *given, env=env)
    assert (b"\x1b[" in ended.out) is colored
    assert ("\x1b[" in ended.err) is (colored and mode == "--diff")


def test_a_coloured_diff_is_the_plain_one_in_colours(project: Project) -> None:
    project.write({"a.py": "optimum_old\n--- x\n+++ optimum_old\n"})
    plain = project.run(".", "--diff").out
    colored = project.run(".", "--diff", "--color", "always").out
    for code in (b"\x1b[0m", b"\x1b[1m", b"\x1b[31m", b"\x1b[32m", b"\x1b[36m"):
        assert code in colored
        colored = colored.replace(code, b"")
    assert colored == plain


def test_a_name_that_the_output_cannot_spell_is_escaped(project: Project) -> None:
    project.write({"šílený.py": "optimum_hard\n"})
    (project.root / os.fsdecode(b"\xe9.py")).write_bytes(b"optimum_hard\n")
    ended = project.run(".", env={"PYTHONIOENCODING": "ascii"})
    assert ended.status == 4
    assert b"\\u0161\\xedlen\\xfd.py:1:1: NM201" in ended.out
    assert b"\\udce9.py:1:1: NM201" in ended.out
    assert b"\\udce9.py:1:1: NM201" in project.run(".").out


pty = pytest.importorskip("pty")


def _on_a_terminal(project: Project, *given: str, **env: str) -> tuple[int, str]:
    """What a person sees, and the exit status."""
    ours, theirs = pty.openpty()
    run = subprocess.Popen(
        arguments(*given), cwd=project.root, env={**environment(), **env}, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    seen = b""
    try:
        while piece := os.read(ours, 1 << 16):
            seen += piece
    except OSError:  # Linux says so when the other side is closed
        pass
    os.close(ours)
    return run.wait(timeout=20), seen.decode()


def test_a_terminal_gets_colours(project: Project) -> None:
    status, seen = _on_a_terminal(project.write(ALL), ".")
    assert status == 4
    assert "\x1b[31mmanual\x1b[0m" in seen
    assert "Migrating" not in seen


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_gets_no_colours_where_they_are_not_wanted(project: Project, env: dict[str, str]) -> None:
    assert "\x1b[3" not in _on_a_terminal(project.write(ALL), ".", **env)[1]


def test_the_rules_are_a_table_on_a_terminal(project: Project) -> None:
    status, seen = _on_a_terminal(project, "--list-rules", COLUMNS="60")
    assert status == 0
    assert "summary" in seen
    assert "[sic]" in seen


def _many(project: Project) -> Project:
    return project.write({f"{number}.py": "optimum_old\n" for number in range(250)})


def test_long_work_shows_a_bar_and_takes_it_away_again(project: Project) -> None:
    status, seen = _on_a_terminal(_many(project), ".", "--jobs", "1")
    assert status == 0
    assert "Migrating" in seen
    assert "Migrating" not in seen.rpartition("\x1b[2K")[2]
    assert "Rewrote 249.py\r\n" in seen


@pytest.mark.parametrize(("given", "env"), [((), {"CI": "true"}), (("--quiet",), {})])
def test_there_is_no_bar_where_nobody_waits(project: Project, given: tuple[str, ...], env: dict[str, str]) -> None:
    assert "Migrating" not in _on_a_terminal(_many(project), ".", *given, **env)[1]
    _many(project)
    ended = project.run(".")
    assert "Migrating" not in ended.text + ended.err
