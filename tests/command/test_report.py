"""What a person reads: findings, summary, colours, and the bar for those who wait."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from .support import Project, arguments, environment

ALL = {"a.py": "x = Neuron__old; y = Neuron__old\n", "sub/b.py": "Neuron__other\n\n  # x\nNeuron__hard\n", "c.py": ""}


def test_the_report_of_a_rewriting_run(project: Project) -> None:
    ended = project.write(ALL).run(".")
    assert (ended.status, ended.err) == (4, "")
    assert ended.text == (
        "Rewrote a.py\n"
        "sub/b.py:1:1: NM102 review Neuron__other became native_other; mind the memory.\n"
        "sub/b.py:4:1: NM201 manual Write this by hand.\n"
        "Rewrote sub/b.py\n"
        "\n"
        "Files: 3 scanned, 2 with findings, 2 rewritten.\n"
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
    ended = project.write({**ALL, "d.py": "Neuron_ ("}).run(".", "--quiet")
    assert ended.status == 12
    assert ended.text == "sub/b.py:4:1: NM201 manual Write this by hand.\n"
    assert ended.err.startswith("d.py:1:")


def test_quiet_says_nothing_where_nothing_is_left(project: Project) -> None:
    ended = project.write({"a.py": "Neuron__old\nNeuron__other\n"}).run(".", "--quiet")
    assert (ended.status, ended.out, ended.err) == (0, b"", "")


def test_verbose_shows_rewritten_references_too(project: Project) -> None:
    ended = project.write(ALL).run(".", "--verbose")
    assert "a.py:1:5: NM101 rewritten Neuron__old became native_new.\n" in ended.text
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
    project.write({"a.py": "Neuron__old\n--- x\n+++ Neuron__old\n"})
    plain = project.run(".", "--diff").out
    colored = project.run(".", "--diff", "--color", "always").out
    for code in (b"\x1b[0m", b"\x1b[1m", b"\x1b[31m", b"\x1b[32m", b"\x1b[36m"):
        assert code in colored
        colored = colored.replace(code, b"")
    assert colored == plain


def test_a_name_that_the_output_cannot_spell_is_escaped(project: Project) -> None:
    project.write({"šílený.py": "Neuron__hard\n"})
    (project.root / os.fsdecode(b"\xe9.py")).write_bytes(b"Neuron__hard\n")
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


def _plain(seen: str) -> list[str]:
    return re.sub(r"\x1b\[\d*m", "", seen).splitlines()


GROUPS = {
    "a.py": "Neuron__old\n",
    "b.py": "\n" * 9 + "Neuron__hard, Neuron__long",
    "c.py": "Neuron__old\n",
    "d.py": "Neuron__old\n",
    "e.py": "Neuron_ (",
    "f.py": "Neuron__hard\n",
}


def test_findings_of_a_file_stand_together_on_a_terminal(project: Project) -> None:
    status, seen = _on_a_terminal(project.write(GROUPS), ".", "--check", COLUMNS="80")
    assert status == 13
    assert _plain(seen)[: _plain(seen).index("code   rule      rewritten  review  manual")] == [
        "Would rewrite a.py",
        "",
        "Would rewrite b.py",
        "   10:1  NM201  manual  Write this by hand.",
        "  10:15  NM102  review  A-long-word A-long-word A-long-word A-long-word",
        *["                        A-long-word A-long-word A-long-word A-long-word"] * 4,
        "                        https://example.org/" + "x" * 60,
        "",
        "Would rewrite c.py",
        "Would rewrite d.py",
        "e.py:1:9: '(' was never closed",
        "",
        "f.py",
        "  1:1  NM201  manual  Write this by hand.",
        "",
        "Files: 6 scanned, 5 with findings, 4 would be rewritten, 1 could not be",
        "processed.",
        "References: 6 found, 3 rewritten, 1 to review, 2 to do by hand.",
        "",
    ]


def test_messages_stand_below_their_places_on_a_narrow_terminal(project: Project) -> None:
    project.write({"a.py": "Neuron__hard; Neuron__long", "a-file-with-a-name.py": "Neuron_ = 'never closed"})
    seen = _plain(_on_a_terminal(project, ".", COLUMNS="40")[1])
    assert seen[:4] == [
        "a-file-with-a-name.py:1:11:",
        "    unterminated string literal",
        "    (detected at line 1)",
        "",
    ]
    assert seen[4:9] == [
        "Rewrote a.py",
        "   1:1  NM201  manual",
        "    Write this by hand.",
        "  1:15  NM102  review",
        "    A-long-word A-long-word A-long-word",
    ]


def test_lines_are_not_too_long_to_read_on_a_wide_terminal(project: Project) -> None:
    seen = _plain(_on_a_terminal(project.write({"a.py": "Neuron__long"}), ".", COLUMNS="300")[1])
    assert 100 < len(seen[1]) <= 120


def test_quiet_names_the_file_of_what_is_left_on_a_terminal(project: Project) -> None:
    status, seen = _on_a_terminal(project.write(GROUPS), "b.py", "d.py", "--quiet")
    assert (status, _plain(seen)) == (4, ["b.py", "  10:1  NM201  manual  Write this by hand."])


def test_a_diff_follows_what_is_said_of_its_file_on_a_terminal(project: Project) -> None:
    seen = _plain(_on_a_terminal(project.write(GROUPS), "a.py", "b.py", "f.py", "--diff", COLUMNS="300")[1])
    seen = [line[:15] for line in seen if not line.startswith(" " * 15)]
    shown = seen[: seen.index("code   rule    ")]
    assert shown == [
        *("--- a/a.py", "+++ b/a.py", "@@ -1 +1 @@", "-Neuron__old", "+native_new", ""),
        *("b.py", "   10:1  NM201 ", "  10:15  NM102 ", "", "--- a/b.py", "+++ b/b.py", "@@ -7,4 +7,4 @@"),
        *(" ", " ", " ", "-Neuron__hard, ", "\\ No newline at", "+Neuron__hard, ", "\\ No newline at", ""),
        *("f.py", "  1:1  NM201  m", "", "Files: 3 scanne", "References: 4 f", ""),
    ]


def test_an_editor_that_runs_the_command_in_a_dumb_terminal_gets_a_line_for_each_finding(project: Project) -> None:
    seen = _on_a_terminal(project.write(GROUPS), "b.py", "--check", TERM="dumb", COLUMNS="40")[1].splitlines()
    assert seen[0] == "b.py:10:1: NM201 manual Write this by hand."
    assert seen[1].startswith("b.py:10:15: NM102 review A-long-word")
    assert seen[2] == "Would rewrite b.py"


def _launches(project: Project) -> Project:
    return project.write(
        {
            "a.py": "Neuron__old  # launch: TP_SIZE=2\n",
            "my scripts/b.py": "Neuron__old  # launch:\n",
            "c.py": "Neuron__hard  # launch: TP_SIZE=9\n",
            "d.py": "Neuron__old\n",
            "e.py": "Neuron__break  # launch: TP_SIZE=9\n",
        }
    )


ADVICE = (
    "Launch lines that were not among these files lose their Neuron flags (--tensor_parallel_size, --zero_1, ...).\n"
)
SIZES = "TP_SIZE x FSDP_SIZE must be the number of processes; FSDP_SIZE, if not set, is what is missing. "


@pytest.mark.parametrize("given", [(), ("--check",), ("--diff",)])
def test_the_report_ends_with_how_to_launch_the_rewritten_scripts(project: Project, given: tuple[str, ...]) -> None:
    ended = _launches(project).run("a.py", "my scripts", "c.py", "d.py", "e.py", *given)
    assert (ended.err if "--diff" in given else ended.text).endswith(
        "\n\nLaunch:\n"
        "  TP_SIZE=2 torchrun --nproc_per_node=<cores> a.py\n"
        "  torchrun --nproc_per_node=<cores> 'my scripts/b.py'\n" + SIZES + ADVICE
    )


def test_sizes_are_not_spoken_of_where_no_script_has_any(project: Project) -> None:
    ended = _launches(project).run("my scripts", "d.py")
    assert ended.text.endswith("\n\nLaunch:\n  torchrun --nproc_per_node=<cores> 'my scripts/b.py'\n" + ADVICE)


@pytest.mark.parametrize("given", [("c.py", "d.py", "e.py"), ("a.py", "--quiet")])
def test_nothing_is_said_of_launching_where_nothing_to_launch_was_rewritten(
    project: Project, given: tuple[str, ...]
) -> None:
    assert "torchrun" not in _launches(project).run(*given).text


def test_few_of_many_scripts_are_named(project: Project) -> None:
    project.write({f"{number:02}.py": "Neuron__old  # launch: TP_SIZE=2" for number in range(20)})
    ended = project.run(".")
    assert ended.text.count("torchrun") == 8
    assert ended.text.endswith("<cores> 07.py\n  and 12 more\n" + SIZES + ADVICE)


def test_a_script_from_standard_input_is_launched_by_some_name(project: Project) -> None:
    ended = project.run("-", stdin=b"Neuron__old  # launch: TP_SIZE=2")
    assert "\n  TP_SIZE=2 torchrun --nproc_per_node=<cores> script.py\n" in ended.err


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
    return project.write({f"{number}.py": "Neuron__old\n" for number in range(250)})


@pytest.mark.parametrize(("color", "coloured"), [("auto", True), ("never", False)])
def test_long_work_shows_a_bar_and_takes_it_away_again(project: Project, color: str, coloured: bool) -> None:
    status, seen = _on_a_terminal(_many(project), ".", "--jobs", "1", "--color", color)
    assert status == 0
    bars = "".join(re.findall("Migrating .*", seen))
    assert bars
    assert bool(re.search(r"\x1b\[[\d;]*[1-9]m", bars)) == coloured
    assert "Migrating" not in seen.rpartition("\x1b[2K")[2]
    assert any(line.endswith("Rewrote 249.py") for line in _plain(seen))


@pytest.mark.parametrize(("given", "env"), [((), {"CI": "true"}), (("--quiet",), {})])
def test_there_is_no_bar_where_nobody_waits(project: Project, given: tuple[str, ...], env: dict[str, str]) -> None:
    assert "Migrating" not in _on_a_terminal(_many(project), ".", *given, **env)[1]
    _many(project)
    ended = project.run(".")
    assert "Migrating" not in ended.text + ended.err
