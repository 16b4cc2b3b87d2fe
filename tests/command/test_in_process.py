"""What seldom happens, in the tests' own process: odd platforms, lost permissions."""

from __future__ import annotations

import importlib
import io
import json
import os
import signal
import stat
import sys
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import click
import pytest

import neuron_migrate
from neuron_codemods import Project, Settings, registry
from neuron_codemods.kinds import KINDS
from neuron_codemods.model import Finding, Outcome, Position
from neuron_migrate import catalog, interrupts, pages, positions, write
from neuron_migrate.cli import command
from neuron_migrate.discover import Found
from neuron_migrate.documents import PYTHON, DocumentError, document, python
from neuron_migrate.ignores import excluding
from neuron_migrate.interactive import Chooser
from neuron_migrate.output import Output
from neuron_migrate.reports import Mode
from neuron_migrate.reports.choice import make
from neuron_migrate.reports.text import Detail
from neuron_migrate.results import FileResult, Problem, Totals
from neuron_migrate.scan import LIMIT, scan, standard_input

OLD = "from optimum.neuron import NeuronTrainer\n\nNeuronTrainer(tokenizer=t)\n"


def finding(line: int, last: int | None = None, **more: Any) -> Finding:
    return Finding("NM101", Outcome.REWRITTEN, "Told.", Position(line, 1), Position(last or line, 2), **more)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(*given: str | Path) -> int:
    status = command.main(list(map(str, given)), standalone_mode=False)
    assert isinstance(status, int)
    return status


def test_a_file_that_may_not_be_written_is_a_problem_in_every_report(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = here / "a.py"
    path.write_text(OLD)
    path.chmod(0o444)
    (here / "elsewhere").mkdir()
    os.chdir("elsewhere")
    assert ran(path, "--output-format", "sarif") == 8
    os.chdir(here)
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert "read-only" in told["message"]["text"]
    assert told["locations"] == [{"physicalLocation": {"artifactLocation": {"uri": path.as_uri()}}}]
    assert ran("a.py", "--report", "all.html") == 8
    assert "Not processed" in (here / "all.html").read_text()
    assert path.read_text() == OLD


def test_a_migration_without_the_shim_is_asked_for_on_the_command_line(here: Path) -> None:
    (here / "a.py").write_text(OLD + "NeuronTrainer(AutoModel.from_pretrained('m'))\n")
    ran("a.py", "--no-shim")
    assert "neuron_shim" not in (here / "a.py").read_text()


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs a file that nobody can read")
def test_patterns_and_tables_that_cannot_be_read_are_passed_over(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (".gitignore", "pyproject.toml"):
        os.symlink("/proc/self/mem", name)
    (here / ".git").mkdir()
    (here / "a.py").write_text(OLD)
    assert ran(".") == 0
    assert capsys.readouterr().err == ""
    assert "Neuron" not in (here / "a.py").read_text()


def test_a_project_without_anything_to_migrate_has_a_page_that_says_so(here: Path) -> None:
    (here / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (here / "a.py").write_text("import optimum\n")
    assert ran(".", "--report", "all.html") == 0
    page = (here / "all.html").read_text()
    assert "Nothing to migrate" in page
    assert "<h2>" not in page


def test_findings_of_a_notebook_are_told_with_their_cells(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cell = {"cell_type": "code", "source": OLD, "metadata": {}, "outputs": [], "execution_count": None}
    (here / "a.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    ran("a.ipynb", "--check", "--output-format", "json")
    (file,) = json.loads(capsys.readouterr().out)["files"]
    assert {told["cell"]["line"] for told in file["findings"]} == {1, 3}
    old = json.dumps({"cells": [cell]}).encode()
    result = FileResult("a.ipynb", old, old, (finding(1), finding(1, cell=1, within=Position(2, 1))))
    assert positions.in_new_text(result).findings == result.findings


def test_github_is_told_no_columns_of_several_lines(capsys: pytest.CaptureFixture[str]) -> None:
    report = make("github", Mode.CHECK, Output(sys.stdout), Output(sys.stderr), Detail.VERBOSE)
    report.file(FileResult("a.py", findings=(finding(1, 3),)))
    report.end(Totals())
    assert capsys.readouterr().out.startswith("::notice file=a.py,line=1,endLine=3,title=NM101 ")


def test_a_directory_that_cannot_be_listed_is_named(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def scandir(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert ran(".") == 8
    assert ".: this directory cannot be listed: Permission denied" in capsys.readouterr().err


def test_nothing_is_asked_of_a_file_that_does_not_change_and_a_finding_beyond_its_end_is_told() -> None:
    chooser = Chooser(Output(io.TextIOWrapper(io.BytesIO())), lambda: "n")
    same = FileResult("a.py", b"x\n")
    assert chooser.chosen(same) is same
    left = chooser.chosen(FileResult("a.py", b"x\n", b"y\n", (finding(1), finding(9))))
    assert (left.after, left.findings) == (None, (finding(9),))


def test_a_signal_that_is_ignored_stays_so() -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        interrupts.install()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_stream_that_is_closed_takes_nothing_and_a_terminal_without_a_size_has_80_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("COLUMNS", raising=False)
    closed = Output(None)
    closed.line("x")
    closed.data(b"x")
    closed.flush()
    assert closed.columns is None
    assert Output(Terminal()).columns == 80


def test_a_rule_is_explained_on_a_terminal_and_summed_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    catalog.explain("nm101", Output(Terminal(), color="never"))
    assert "NM101" in capsys.readouterr().out
    rules = registry.rules()
    table = pages.summary(rules).splitlines()
    assert len(table) == len(rules) + 4
    assert any("## Left alone" in pages.page(module) for module in rules)
    assert all("## References" in pages.page(module) for module in rules)


def test_the_command_is_a_module_that_runs_only_as_a_program() -> None:
    assert importlib.import_module("neuron_migrate.__main__").__doc__


@pytest.mark.parametrize("installed", [True, False])
def test_the_version_is_that_of_the_installed_package(monkeypatch: pytest.MonkeyPatch, installed: bool) -> None:
    def version(name: str) -> str:
        if not installed:
            raise metadata.PackageNotFoundError(name)
        return "1.2.3"

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.delitem(neuron_migrate.__dict__, "__version__", raising=False)
    assert neuron_migrate.__version__ == ("1.2.3" if installed else "0+unknown")
    monkeypatch.delitem(neuron_migrate.__dict__, "__version__")


def test_the_server_says_what_it_lacks(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "neuron_migrate.lsp", raising=False)
    monkeypatch.delattr(neuron_migrate, "lsp", raising=False)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    with pytest.raises(click.UsageError, match=r"needs lsprotocol: pip install 'neuron-migrate\[lsp\]'"):
        ran("lsp")


def test_an_excluded_comment_excludes_nothing() -> None:
    assert not excluding(["# nothing"])


# Reading ----------------------------------------------------------------------------------------------------------


def test_what_is_read_is_a_whole_regular_file_of_some_size(here: Path) -> None:
    (large,) = standard_input(b"import optimum.neuron\n" + b"#" * LIMIT, "a.py").entries
    assert isinstance(large, FileResult)
    assert large.problem is not None
    os.mkfifo(here / "pipe.py")
    (pipe,) = scan([Found("pipe.py", PYTHON, named=False)]).entries
    assert pipe == FileResult("pipe.py", problem=Problem("this is not a regular file"))
    growing = "/proc/self/status"  # of which the system says that it is empty
    if os.path.exists(growing):
        assert scan([Found(growing, PYTHON, named=False)]).files == 1


def test_an_encoding_that_cannot_write_what_it_reads_is_refused() -> None:
    with pytest.raises(DocumentError, match="byte for byte"):
        python.decode(b"# coding: idna\n" + b"x" * 70 + b" = 1\n")
    with pytest.raises(DocumentError, match="idna"):
        python.encode("x" * 70, python.Source("", "idna", b""))


def test_texts_that_are_no_utf_8_or_need_a_parser_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {kind.name: document(kind) for kind in KINDS}
    with pytest.raises(DocumentError, match="byte 0xe9 cannot be read") as caught:
        kinds["shell"].collect("neuron\n# \xe9".encode("latin-1"), "a.sh")
    assert (caught.value.line, caught.value.column) == (2, 3)
    text = b"#!/bin/sh\nneuron_parallel_compile torchrun a.py\n"
    if importlib.util.find_spec("tree_sitter_bash"):
        assert b"neuron" not in kinds["shell"].migrate(text, "a.sh", Settings(), Project()).data
        assert kinds["shell"].migrate(b"neuron\n", "a.sh", Settings(), Project()).data == b"neuron\n"
    monkeypatch.setitem(sys.modules, "tree_sitter_bash", None)
    monkeypatch.setitem(sys.modules, "tree_sitter_yaml", None)
    with pytest.raises(DocumentError, match="pip install"):
        kinds["yaml"].collect(b"run: optimum-cli neuron\n", "a.yaml")
    monkeypatch.setattr("neuron_codemods.kinds.collect", lambda *given: None)
    with pytest.raises(DocumentError, match="pip install"):
        kinds["shell"].migrate(text, "a.sh", Settings(), Project())


# Writing ----------------------------------------------------------------------------------------------------------


def denied(*given: Any, **named: Any) -> Any:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("module", "name", "stand_in", "said"),
    [
        (os, "access", lambda *given, **named: False, "Permission denied"),
        (tempfile, "mkstemp", denied, "No space left"),
    ],
)
def test_a_file_that_cannot_be_written_is_left(
    here: Path, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, stand_in: Callable[..., Any], said: str
) -> None:
    path = here / "a.py"
    path.write_bytes(b"old")
    with monkeypatch.context() as patched:
        patched.setattr(module, name, stand_in)
        if name == "access":
            patched.setattr(os, "supports_effective_ids", set())
        with pytest.raises(write.WriteError, match=said):
            write.replace(str(path), b"old", b"new")
    assert path.read_bytes() == b"old"


def test_where_files_have_no_owners_or_cannot_be_given_away_they_are_written(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = here / "a.py"
    path.write_bytes(b"old")
    path.chmod(0o640)
    if os.getuid() == 0:
        os.chown(path, 65534, 65534)
    monkeypatch.setattr(os, "chown", denied)
    write.replace(str(path), b"old", b"new")
    monkeypatch.delattr(os, "chown")
    write.replace(str(path), b"new", b"newer")
    assert path.read_bytes() == b"newer"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_copy_that_cannot_be_kept_is_taken_away(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "a.py").write_bytes(b"old")
    os.link("a.py", "b.py")
    monkeypatch.setattr(os, "fsync", denied)
    with pytest.raises(write.WriteError, match="No space left"):
        write.replace("a.py", b"old", b"new")
    assert sorted(os.listdir()) == ["a.py", "b.py"]
    assert (here / "b.py").read_bytes() == b"old"


# Workers ----------------------------------------------------------------------------------------------------------


def test_where_nobody_says_which_processors_may_be_used_all_are(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    for number in range(9):
        (here / f"{number}.py").write_text("import optimum.neuron\n")
    ran(".", "--check")
    assert "Files: 9 scanned" in capsys.readouterr().out
