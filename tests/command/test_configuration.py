"""``[tool.neuron-migrate]``: which table a file belongs to, what it may say, and that the command line wins."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from neuron_migrate.cli import _configurations
from neuron_migrate.configuration import Configurations

from .support import Project

ALL = "Neuron__old\nNeuron__other\nNeuron__hard\n"


def table(text: str, **more: str) -> dict[str, str | bytes]:
    return {"pyproject.toml": f"[tool.neuron-migrate]\n{text}\n", "a.py": ALL, **more}


def found(project: Project, *given: str) -> list[str]:
    """Place and code of each finding."""
    lines = project.run(*(given or (".",)), "--check", "--verbose").lines
    return [f"{line.split(':')[0]} {line.split()[1]}" for line in lines if ": NM" in line]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("", ["NM101", "NM102", "NM201"]),
        ('select = ["NM1"]', ["NM101", "NM102"]),
        ('select = ["nm1, NM201"]', ["NM101", "NM102", "NM201"]),
        ('ignore = ["NM1"]', ["NM201"]),
        ('select = ["NM1"]\nignore = ["NM102"]', ["NM101"]),
        ('per-file-ignores = {"a.py" = ["NM2"]}', ["NM101", "NM102"]),
        ('per-file-ignores = {"*.py" = ["NM2"], "b.py" = ["NM1"]}', ["NM101", "NM102"]),
        ('select = ["NM101", "NM2"]\nper-file-ignores = {"a.py" = ["NM1"]}', ["NM201"]),
        ('exclude = ["b.py"]', ["NM101", "NM102", "NM201"]),
        ('exclude = ["a.py"]', []),
        ('exclude = ["*.py", "!a.py"]', ["NM101", "NM102", "NM201"]),
    ],
)
def test_what_a_table_chooses(project: Project, text: str, codes: list[str]) -> None:
    assert found(project.write(table(text))) == [f"a.py {code}" for code in codes]


def test_review_findings_are_written_where_the_table_says_so(project: Project) -> None:
    project.write(table("annotate = true")).run(".")
    assert project.read("a.py") == b"native_new\nnative_other  # NM102\nNeuron__hard\n"


def test_the_nearest_table_counts(project: Project) -> None:
    project.write(
        {
            **table('select = ["NM1"]'),
            "sub/pyproject.toml": '[project]\nname = "x"\n# tool.neuron-migrate\n',
            "sub/a.py": ALL,
            "other/pyproject.toml": '[tool.neuron-migrate]\nselect = ["NM2"]\nexclude = ["out/"]\n',
            "other/deep/a.py": ALL,
            "other/out/a.py": ALL,
        }
    )
    assert found(project) == ["a.py NM101", "a.py NM102", "other/deep/a.py NM201", "sub/a.py NM101", "sub/a.py NM102"]
    assert found(project, "other/deep") == ["other/deep/a.py NM201"]


def test_paths_are_seen_from_the_table(project: Project) -> None:
    project.write(
        {
            "x/pyproject.toml": '[tool.neuron-migrate]\nexclude = ["/y/a.py"]\nper-file-ignores = {"z/" = ["NM1"]}\n',
            "x/y/a.py": ALL,
            "x/z/deep/a.py": ALL,
        }
    )
    assert found(project) == ["x/z/deep/a.py NM201"]


def test_excluded_files_are_left_even_when_they_are_named(project: Project) -> None:
    """As pre-commit names them."""
    assert found(project.write(table('exclude = ["a.py"]', **{"b.py": "Neuron__hard\n"})), "a.py", "b.py") == [
        "b.py NM201"
    ]


def test_the_command_line_wins(project: Project) -> None:
    project.write(table('select = ["NM1"]\nignore = ["NM102"]\nexclude = ["a.py"]'))
    assert found(project, ".", "--exclude", "b.py") == ["a.py NM101"]
    assert found(project, ".", "--exclude", "b.py", "--select", "NM") == ["a.py NM101", "a.py NM201"]
    assert found(project, ".", "--exclude", "b.py", "--ignore", "NM101") == ["a.py NM102"]


def test_isolated_reads_no_table(project: Project) -> None:
    assert len(found(project.write(table('exclude = ["a.py"]')), ".", "--isolated")) == 3


def test_standard_input_belongs_to_the_current_directory(project: Project) -> None:
    project.write(table('select = ["NM101"]\nper-file-ignores = {"legacy/" = ["NM1"]}'))
    assert project.run("-", stdin=ALL.encode()).out == b"native_new\nNeuron__other\nNeuron__hard\n"
    ended = project.run("-", "--stdin-filename", "legacy/a.py", stdin=ALL.encode())
    assert ended.out == ALL.encode()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('selct = ["NM1"]', "has no key 'selct' (did you mean 'select'?)"),
        (
            "zzz = 1",
            "has no key 'zzz'; there are select, ignore, per-file-ignores, exclude, annotate, shim, target-versions",
        ),
        ('select = "NM1"', 'select must be a list of rule codes, as in ["NM1"]'),
        ("annotate = 1", "annotate must be true or false"),
        (
            'per-file-ignores = ["NM1"]',
            'per-file-ignores must be a table of patterns and rule codes, as in {"legacy/"',
        ),
        ("target-versions = 5.20", "target-versions must be a table of libraries and versions, as in {transformers"),
        (
            'target-versions = {transformers = "4.57"}',
            "transformers 4.57 is too old for migrated code, which needs 5.20",
        ),
        ('select = ["NM9"]', "no rule has the code or prefix 'NM9'"),
        ('exclude = ["a["]', "the pattern 'a[' can never match"),
        ('per-file-ignores = {"../x" = ["NM1"]}', "the pattern '../x' can never match: it leads out of the directory"),
        ("select = [", "cannot be read: "),
        (f"x = {'[' * 5_000}{']' * 5_000}", "cannot be read: nested too deeply"),
    ],
)
def test_a_table_that_cannot_be_followed_is_said_and_other_projects_go_on(
    project: Project, text: str, said: str
) -> None:
    project.write({f"bad/{name}": content for name, content in table(text, **{"sub/b.py": ALL}).items()})
    project.write({"good/pyproject.toml": "[tool.neuron-migrate]\n", "good/a.py": "Neuron__old\n"})
    ended = project.run(".")
    assert ended.status == 8
    assert said in ended.err
    assert ended.err.startswith("bad/pyproject.toml: ")
    assert ended.err.count("\n") == 1
    assert "; 2 files are left as they are" in ended.err
    assert "2 could not be processed" in ended.text
    assert project.read("bad/a.py") == ALL.encode()
    assert project.read("good/a.py") == b"native_new\n"


def test_a_table_that_cannot_be_followed_is_said_where_it_is(project: Project) -> None:
    project.write({**table("zzz = 1"), "sub/b.txt": ""})
    ended = project.run("../a.py", "--check", cwd=project.root / "sub")
    place = os.path.realpath(project.root / "pyproject.toml")
    assert ended.err.startswith(f"{place}: [tool.neuron-migrate] has no key 'zzz'; ")
    assert ended.err.endswith("; ../a.py is left as it is\n")
    assert project.run("-", stdin=ALL.encode()).out == ALL.encode()


def test_a_table_of_something_else_is_no_matter(project: Project) -> None:
    project.write({"pyproject.toml": 'tool = 1\nname = "neuron-migrate"\n', "a.py": "Neuron__old\n"})
    assert project.run(".").status == 0
    project.write({"pyproject.toml": "[tool]\nneuron-migrate = 1\n", "a.py": "Neuron__old\n"})
    assert "tool.neuron-migrate must be a table" in project.run(".").err


def test_no_table_is_read_where_nothing_is_to_migrate(project: Project) -> None:
    assert project.write({**table("zzz = 1"), "a.py": "x = 1\n"}).run(".").status == 0


def targets(given: dict[str, object], files: Path) -> tuple[tuple[str, str], ...]:
    return Configurations(given, use=True, prefixes=tuple).of(str(files / "a.py")).settings.targets


def test_target_versions(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.neuron-migrate]\ntarget-versions = { trl = "1.12", transformers = "5.20.1" }\n'
    )
    assert targets({}, tmp_path) == (("transformers", "5.20.1"), ("trl", "1.12"))
    assert targets({"targets": (("trl", "1.2"),)}, tmp_path) == (("trl", "1.2"),)


def test_versions_of_the_command_line() -> None:
    given = {"select": (), "ignore": (), "annotate": False, "exclude": (), "no_shim": False, "isolated": True}
    chosen = _configurations({**given, "target": ("transformers==5.21", "TRL = 1.12")})
    assert chosen.of("a.py").settings.targets == (("transformers", "5.21"), ("trl", "1.12"))
