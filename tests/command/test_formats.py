"""What programs read: JSON, SARIF, annotations of GitHub, and the page of ``--report``."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from neuron_migrate import cli

from .support import REPOSITORY, Project

HERE = Path(__file__).parent
SCHEMA = json.loads((REPOSITORY / "neuron_migrate/reports/report.schema.json").read_text(encoding="utf-8"))
# The schema of OASIS, https://docs.oasis-open.org/sarif/sarif/v2.1.0/, without its white space.
SARIF = json.loads((HERE / "schemas/sarif-2.1.0.json").read_text(encoding="utf-8"))

FILES: dict[str, str | bytes] = {
    "a.py": "x = Neuron__old; y = Neuron__old\n",
    "sub/b, c.py": "# launch: TP_SIZE=2\nNeuron__two_lines\nNeuron__other\nNeuron__hard\nNeuron__hard\n",
    "d.py": "Neuron_ (",
    "e.py": "x = 1\n",
    "f.py": b"# coding: latin-1\n# \xe9\nNeuron__old\n",
}


def document(project: Project, *given: str, schema: dict[str, Any] = SCHEMA) -> dict[str, Any]:
    ended = project.run(".", *given)
    assert ended.err == ""
    told: dict[str, Any] = json.loads(ended.text)
    jsonschema.validate(told, schema)
    return told


@pytest.mark.parametrize("mode", [(), ("--check",), ("--diff",)])
def test_json_follows_its_schema(project: Project, mode: tuple[str, ...]) -> None:
    told = document(project.write(FILES), "--output-format", "json", *mode)
    assert told["summary"]["files"] == {"scanned": 5, "concerned": 3, "changed": 3, "failed": 1}
    assert told["summary"]["references"] == {"rewritten": 4, "review": 1, "manual": 2}
    assert told["summary"]["exit_status"] == (13 if mode else 12)
    assert told["summary"]["launch"] == ["TP_SIZE=2 torchrun --nproc_per_node=<cores> 'sub/b, c.py'"]
    assert [file["path"] for file in told["files"]] == ["a.py", "d.py", "f.py", "sub/b, c.py"]
    assert ["diff" in file for file in told["files"]] == [
        mode == ("--diff",) and file["changed"] for file in told["files"]
    ]


def test_json_has_the_lines_before_and_after(project: Project) -> None:
    told = document(project.write(FILES), "--output-format", "json", "--check")
    files = {file["path"]: file for file in told["files"]}
    assert files["sub/b, c.py"]["changes"] == [
        {
            "before": {"line": 2, "text": "Neuron__two_lines\nNeuron__other\n"},
            "after": {"line": 2, "text": "native = 1\nnative\nnative_other\n"},
        }
    ]
    assert files["f.py"]["changes"][0]["after"] == {"line": 3, "text": "native_new\n"}
    assert files["d.py"]["problem"]["line"] == 1
    assert files["d.py"]["problem"]["reason"]


def test_json_places_findings_in_the_text_on_disk(project: Project) -> None:
    def lines(*given: str) -> list[int]:
        told = document(project.write(FILES), "--output-format", "json", *given)
        return [finding["start"]["line"] for finding in told["files"][-1]["findings"]]

    assert lines("--check") == [2, 3, 4, 5]
    assert lines() == [2, 3, 5, 6]


def test_json_of_standard_input(project: Project) -> None:
    ended = project.run("-", "--check", "--output-format", "json", stdin=b"Neuron__hard\n")
    assert ended.status == 4
    assert json.loads(ended.text)["files"][0]["path"] == "<stdin>"
    refused = project.run("-", "--output-format", "json", stdin=b"Neuron__hard\n")
    assert refused.status == 2
    assert "add --check or --diff" in refused.err


def test_json_of_nothing(project: Project) -> None:
    told = document(project.write({"a.py": "x = 1\n"}), "--output-format", "json")
    assert (told["files"], told["summary"]["exit_status"]) == ([], 0)


def test_sarif_follows_its_schema(project: Project) -> None:
    told = document(project.write(FILES), "--output-format", "sarif", "--check", schema=SARIF)
    run = told["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert [result["level"] for result in run["results"]] == [*["note"] * 4, "warning", "error", "error"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    place = run["results"][-1]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "sub/b%2C%20c.py", "uriBaseId": "SRCROOT"}
    assert place["region"] == {"startLine": 5, "startColumn": 1, "endLine": 5, "endColumn": 13}
    assert run["invocations"][0]["exitCode"] == 13
    assert [note["level"] for note in run["invocations"][0]["toolExecutionNotifications"]] == ["error"]


def test_fingerprints_of_sarif_tell_equal_findings_apart_and_survive_moved_lines(project: Project) -> None:
    def prints() -> list[str]:
        told = document(project, "--output-format", "sarif", "--check", schema=SARIF)
        return [result["partialFingerprints"]["neuronMigrate/v1"] for result in told["runs"][0]["results"]]

    project.write({"a.py": "Neuron__hard\nNeuron__hard\n"})
    first = prints()
    assert len(set(first)) == 2
    project.write({"a.py": "\n\nNeuron__hard\n\nNeuron__hard\n"})
    assert prints() == first


def test_annotations_of_github(project: Project) -> None:
    ended = project.write(FILES).run(".", "--output-format", "github")
    lines = ended.lines
    assert ended.err == ""
    assert lines[0].startswith("::error file=d.py,line=1,col=9,title=neuron-migrate::")
    assert lines[1:] == [
        "::warning file=sub/b%2C c.py,line=3,endLine=3,title=NM102 other,col=1,endColumn=14::"
        "Neuron__other became native_other; mind the memory.",
        "::error file=sub/b%2C c.py,line=5,endLine=5,title=NM201 hard,col=1,endColumn=13::Write this by hand.",
        "::error file=sub/b%2C c.py,line=6,endLine=6,title=NM201 hard,col=1,endColumn=13::Write this by hand.",
    ]


def test_annotations_are_as_detailed_as_asked(project: Project) -> None:
    project.write({"a.py": "Neuron__old\nNeuron__other\nNeuron__hard\n"})
    for option, levels in (
        ("--quiet", ["error"]),
        ("--verbose", ["notice", "warning", "error"]),
        ("--statistics", []),
    ):
        lines = project.run(".", "--check", "--output-format", "github", option).lines
        assert [line.split()[0].strip(":") for line in lines] == levels


def test_statistics_are_the_counts_alone(project: Project) -> None:
    ended = project.write(FILES).run(".", "--check", "--statistics")
    assert ended.lines[:2] == [
        "",
        "Files: 5 scanned, 3 with findings, 3 would be rewritten, 1 could not be processed.",
    ]
    assert "NM101  old-word" in ended.text
    assert ended.err.startswith("d.py:1:9: ")


def test_the_ways_to_tell_less_or_more_exclude_each_other(project: Project) -> None:
    ended = project.run(".", "--quiet", "--statistics")
    assert (ended.status, ended.out) == (2, b"")
    assert "--quiet and --statistics exclude each other" in ended.err


class Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.said = ""
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said += data


def test_a_page_of_html(project: Project) -> None:
    ended = project.write({**FILES, "<b>.py": "Neuron__hard\n"}).run(".", "--report", "out.html")
    assert "NM201 manual Write this by hand." in ended.text
    page = Text()
    page.feed((project.root / "out.html").read_text(encoding="utf-8"))
    assert page.open == []
    for said in ("To do by hand", "To review", "Not processed", "<b>.py", "Write this by hand.", "+native_other"):
        assert said in page.said
    assert "TP_SIZE=2 torchrun" in page.said


def test_a_page_of_markdown(project: Project) -> None:
    project.write({**FILES, "a`|*.py": "Neuron__hard\n"}).run(".", "--check", "--report", "out.md")
    page = (project.root / "out.md").read_text(encoding="utf-8")
    assert "3 files of 6 would be rewritten, 1 could not be processed. 8 references to Optimum Neuron: 4 re" in page
    assert "- [ ] line 4, [NM201](https://example.org/) Write" not in page
    assert "- [ ] line 4, NM201: Write this by hand.\n" in page
    assert "### ``a`\\|*.py``\n" in page
    assert "| `a.py` | 2 | - | - |\n" in page
    assert "## Launch\n\n```sh\nTP_SIZE=2 torchrun --nproc_per_node=<cores> 'sub/b, c.py'\n```\n" in page


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("out.pdf", "'out.pdf' must end in .md, .markdown, .html, .htm."),
        ("none/out.md", "'none/out.md' cannot be written: there is no directory 'none'."),
        ("folder.md", "'folder.md' is a directory."),
        ("locked.md", "'locked.md' cannot be written: permission denied."),
    ],
)
def test_a_page_that_cannot_be_written_is_refused_before_anything_is_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], path: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli.interrupts, "install", lambda: None)
    monkeypatch.setattr(cli.os, "access", lambda path, mode, **more: path != "locked.md")
    old = "from optimum.neuron import NeuronTrainer\n"
    for name in ("a.py", "locked.md"):
        (tmp_path / name).write_text(old)
    (tmp_path / "folder.md").mkdir()
    assert cli.main(["a.py", "--report", path]) == 2
    assert f"Error: Invalid value for --report: {said}\n" in capsys.readouterr().err
    assert (tmp_path / "a.py").read_text() == old
    assert cli.main(["a.py", "--report", "locked.html"]) == 0


def test_a_page_that_fails_at_the_end_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*given: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli.interrupts, "install", lambda: None)
    monkeypatch.setattr(Path, "write_text", full)
    assert cli.main([".", "--report", "out.md"]) == 8
    assert capsys.readouterr().err.endswith("out.md: the report is not whole: No space left on device\n")


def test_only_the_module_of_the_format_is_imported(project: Project) -> None:
    ended = project.write({"a.py": "x = 1\n"}).run(".", env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert "neuron_migrate.reports.text" in ended.err
    for other in ("json", "sarif", "github", "page", "html"):
        assert f"neuron_migrate.reports.{other}" not in ended.err
