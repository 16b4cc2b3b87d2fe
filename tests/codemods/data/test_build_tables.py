from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[3] / "tools" / "build_tables.py"

SYMBOLS = (
    "module symbol kind first_version last_version category users_likely native action notes "
    "evidence_files defined_in still_on_main",
    "optimum.neuron|NeuronTrainer|class|0.0.8|0.4.5|trainer|yes|transformers.Trainer|rename|Unused.|||yes",
    "optimum.neuron.cache|anything|function|0.0.5|0.4.5|cache|no|drop|drop|Hub NEFF cache; gone.|||yes",
    "optimum.neuron.peft|PeftConfig|class|0.0.24|0.4.5|peft|no|peft.PeftConfig|rename|Alias/fallback stub.|||no",
)
KEYWORDS = (
    "owner entry_type member keyword version_range default meaning native action reason evidence",
    "NeuronTrainer|kwarg|__init__|tokenizer|0.0.1-0.4.5||tokenizer|processing_class|rename||",
    "NeuronTrainer|method|a/b||0.0.19-0.3.0;0.4.2-0.4.5||||drop||",
    "NeuronSFTConfig|kwarg|__init__|new_one|0.0.28|None|||drop||",
)


def write(path: Path, header: str, *rows: str) -> None:
    lines = ["\t".join(header.split()), *("\t".join(row.split("|")) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    write(tmp_path / "api_symbols.tsv", *SYMBOLS)
    write(tmp_path / "api_kwargs.tsv", *KEYWORDS)
    return tmp_path


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_tables", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setattr(module, "DATA", folder)
    return module


def rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


def test_symbols_are_written_sorted_in_our_words(tool: ModuleType, survey: Path) -> None:
    assert tool.main([str(survey)]) == 0
    header, *lines = rows(tool.DATA / "symbols.tsv")
    assert tuple(header) == tool.SYMBOL_COLUMNS
    assert [line[:2] for line in lines] == [
        ["optimum.neuron", "NeuronTrainer"],
        ["optimum.neuron.cache", "anything"],
        ["optimum.neuron.peft", "PeftConfig"],
    ]
    assert [line[6:8] for line in lines] == [
        ["rewritten", "transformers.Trainer"],
        ["manual", "drop"],
        ["rewritten", "peft.PeftConfig"],
    ]
    assert lines[1][8].startswith("Delete the uses of anything: there is no compile cache on the Hub.")
    assert lines[2][8] == "Import PeftConfig from peft: Optimum Neuron only re-exported it."


def test_keywords_are_written_sorted_in_our_words(tool: ModuleType, survey: Path) -> None:
    tool.main([str(survey)])
    header, *lines = rows(tool.DATA / "keywords.tsv")
    assert tuple(header) == tool.KEYWORD_COLUMNS
    assert [line[:6] for line in lines] == [
        ["sft_config", "__init__", "new_one", "0.0.28", "0.0.28", ""],
        ["trainer", "__init__", "tokenizer", "0.0.1", "0.4.5", ""],
        ["trainer", "a|b", "", "0.0.19", "0.4.5", "0.0.19-0.3.0;0.4.2-0.4.5"],
    ]
    assert [line[7:9] for line in lines] == [["", "drop"], ["processing_class", "rename"], ["", "drop"]]
    assert lines[0][9] == "Delete it: there is no native counterpart."


def test_lines_end_as_on_unix(tool: ModuleType, survey: Path) -> None:
    tool.main([str(survey)])
    content = (tool.DATA / "symbols.tsv").read_bytes()
    assert b"\r" not in content
    assert content.endswith(b".\n")


def test_check_tells_whether_the_files_are_fresh(
    tool: ModuleType, survey: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool.main([str(survey), "--check"]) == 1
    assert not list(tool.DATA.iterdir())
    tool.main([str(survey)])
    assert tool.main([str(survey), "--check"]) == 0
    (tool.DATA / "keywords.tsv").write_text("stale\n")
    capsys.readouterr()
    assert tool.main([str(survey), "--check"]) == 1
    assert capsys.readouterr().out == "keywords.tsv differs\n"
    assert (tool.DATA / "keywords.tsv").read_text() == "stale\n"


def test_a_second_run_writes_nothing(tool: ModuleType, survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tool.main([str(survey)])
    capsys.readouterr()
    assert tool.main([str(survey)]) == 0
    assert capsys.readouterr().out == ""


def test_a_name_without_words_is_an_error(tool: ModuleType, survey: Path) -> None:
    write(
        survey / "api_symbols.tsv",
        SYMBOLS[0],
        "m|new|class|0.4.5|0.4.5|utils|no|manual|manual|A note of its own.|||yes",
    )
    with pytest.raises(ValueError, match=r"no words for m\.new: 'A note of its own\.'"):
        tool.main([str(survey)])


def test_a_keyword_without_reason_is_an_error(tool: ModuleType, survey: Path) -> None:
    write(survey / "api_kwargs.tsv", KEYWORDS[0], "NeuronTrainer|kwarg|__init__|new|0.4.5||||manual|Why.|")
    with pytest.raises(ValueError, match=r"no reason for 'trainer __init__\.new=' \(manual\): 'Why\.'"):
        tool.main([str(survey)])


def test_a_field_that_would_break_the_table_is_an_error(tool: ModuleType) -> None:
    with pytest.raises(ValueError, match="holds a tab or a newline"):
        tool.table(["column"], [{"column": "one\ttwo"}])
