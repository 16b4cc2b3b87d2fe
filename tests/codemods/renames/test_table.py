"""Every row of the table of renames has an outcome that a script shows, and says what is true of the libraries."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from neuron_codemods import Outcome, Settings, migrate
from neuron_codemods.data.renames import Rename, all_renames, renames

TOOL = Path(__file__).resolve().parents[3] / "tools" / "build_renames.py"
EVERYWHERE = Settings(select=("NM7",))
SEQ2SEQ = "transformers.Seq2SeqTrainingArguments"
ACTIONS = {"rename", "drop", "value", "key", "object", "move", "default", "manual", "rule", "keep"}
ROWS = all_renames()


def row_id(row: Rename) -> str:
    return f"{row.kind}-{row.owner}-{row.old}"


def imported(dotted: str) -> str:
    module, _, name = dotted.rpartition(".")
    return f"from {module} import {name}\n"


def script(row: Rename) -> str:
    """A script that uses what a row is about."""
    name = row.owner.rpartition(".")[2]
    if row.kind == "keyword":
        return f"{imported(row.owner)}\nconfig = {name}('out', {row.old}=value)\n"
    if row.kind == "parameter":
        given = "args=TrainingArguments('out')" if "=" in row.old else f"{row.old}=value"
        return f"from transformers import TrainingArguments\n{imported(row.owner)}\ntrainer = {name}(model, {given})\n"
    if row.kind == "name":
        dotted = f"{row.owner}.{row.old}"
        last = dotted.rpartition(".")[2]
        return f"{imported(dotted)}\nvalue = {last}(model)\n"
    if row.kind == "loading":
        return f"from transformers import AutoModel\n\nmodel = AutoModel.from_pretrained('m', {row.old}=value)\n"
    if row.kind == "tokenizer":
        head = "from transformers import AutoTokenizer\n\ntokenizer = AutoTokenizer.from_pretrained('m', mirror=m)\n"
        attribute = "apply_chat_template" if " " in row.old or "chat" in row.old else row.old
        return f"{head}value = tokenizer.{row.old if row.old == 'default_chat_template' else attribute}(text)\n"
    if row.kind == "task":
        return f"from transformers import pipeline\n\npipe = pipeline({row.old!r})\n"
    if row.kind == "call":
        return f"{imported(row.owner)}\nvalue = {name}({row.old}=value)\n"
    if row.kind == "variable":
        return f"import os\n\nos.environ[{row.old!r}] = 'value'\n"
    if row.kind == "default":
        head = f"from transformers import Trainer\n{imported(row.owner)}"
        return f"{head}\nTrainer(model, {name}('out'), tokenizer=tokenizer)\n"
    if row.kind == "saving":
        return "from transformers import AutoModel\n\nmodel.save_pretrained('out', safe_serialization=False)\n"
    assert row.kind == "attribute"
    return "from transformers import Trainer\n\ntrainer = Trainer(model)\nprint(trainer.tokenizer)\n"


def outcomes(row: Rename) -> list[Outcome]:
    old = row.old.partition("=")[0].partition(" ")[0].rpartition(".")[2]
    findings = migrate(script(row), settings=EVERYWHERE).findings
    about = [item for item in findings if old in item.message or row.new.partition("=")[0] in item.message]
    return [item.outcome for item in about or findings]


def test_every_row_is_one_of_its_kind() -> None:
    keys = [(row.kind, row.owner, row.old) for row in ROWS]
    assert len(set(keys)) == len(keys)
    assert {row.action for row in ROWS} <= ACTIONS
    assert all(row.message or row.action not in ("drop", "manual") for row in ROWS)
    assert all(not row.message or row.action == "default" or row.message[-1] in ".:" for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=row_id)
def test_a_script_shows_what_becomes_of_each_row(row: Rename) -> None:
    found = outcomes(row)
    if row.action == "keep":
        assert Outcome.MANUAL not in found
    else:
        assert found, script(row)
    if row.action == "manual":
        assert Outcome.MANUAL in found
    once = migrate(script(row), settings=EVERYWHERE).text
    assert migrate(once, settings=EVERYWHERE).text == once


def test_coverage(capsys: pytest.CaptureFixture[str]) -> None:
    """Print how many rows there are of each kind, and what becomes of them."""
    table: dict[str, Counter[str]] = {}
    passed_over = []
    for row in ROWS:
        found = outcomes(row)
        result = "unchanged" if row.action == "keep" else max(found, key=list(Outcome).index).value if found else ""
        if not result:
            passed_over.append(row)
        table.setdefault(f"{row.origin}: {row.kind}", Counter())[result] += 1
    with capsys.disabled():
        print(f"\n{'rows':24}{'all':>6}{'rewritten':>11}{'review':>8}{'manual':>8}{'unchanged':>11}")
        for kind, counts in sorted(table.items()):
            cells = f"{counts['rewritten']:>11}{counts['review']:>8}{counts['manual']:>8}{counts['unchanged']:>11}"
            print(f"{kind:24}{sum(counts.values()):>6}{cells}")
        print(f"{'passed over':24}{len(passed_over):>6}")
    assert not passed_over


# What the libraries say ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def find() -> Callable[[str], Any]:
    """The installed object of a dotted name; raises ``LookupError`` when there is none."""
    for name in ("transformers", "trl", "datasets", "huggingface_hub", "accelerate", "peft"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")

    def found(dotted: str) -> Any:
        parts = dotted.split(".")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for cut in range(len(parts), 0, -1):
                try:
                    item: Any = importlib.import_module(".".join(parts[:cut]))
                except ModuleNotFoundError:
                    continue
                try:
                    return functools.reduce(getattr, parts[cut:], item)
                except AttributeError:
                    break
        raise LookupError(dotted)

    return found


def fields(kind: object) -> set[str]:
    return set(kind.__dataclass_fields__)  # type: ignore[attr-defined]


@pytest.mark.libraries
def test_keywords_are_as_the_table_says(find: Callable[[str], Any]) -> None:
    still_taken = {"gradient_checkpointing", "gradient_checkpointing_kwargs", "truncation_mode"}
    still_taken |= {"use_transformers_paged", "vllm_importance_sampling_cap"}
    for owner, rows in renames("keyword").items():
        known = fields(find(owner))
        for row in rows.values():
            if row.action == "keep":
                assert row.old in known, row
            elif row.old not in still_taken:
                assert row.old not in known, row
            if row.action == "rename":
                assert row.new in known, row
            elif row.action in ("value", "key"):
                assert row.new.partition("=")[0].partition(":")[0] in known, row


@pytest.mark.libraries
def test_parameters_are_as_the_table_says(find: Callable[[str], Any]) -> None:
    for owner, rows in renames("parameter").items():
        known = set(inspect.signature(find(owner)).parameters)
        for row in rows.values():
            assert (row.old.partition("=")[0] in known) == (row.action == "keep"), row
            if row.action == "rename":
                assert row.new in known, row
            elif row.action == "move":
                config = find(owner.replace("Trainer", "Config"))
                assert row.new in fields(config), row


@pytest.mark.libraries
def test_names_are_as_the_table_says(find: Callable[[str], Any]) -> None:
    still_there = {"transformers.utils.is_torch_tpu_available"}
    for owner, rows in renames("name").items():
        for row in rows.values():
            old = f"{owner}.{row.old}"
            if old not in still_there:
                with pytest.raises(LookupError):
                    find(old)
            if row.action == "rename" and not row.new.startswith("evaluate."):
                assert find(row.new) is not None


@pytest.mark.libraries
def test_functions_are_as_the_table_says(find: Callable[[str], Any]) -> None:
    ignored = {"trust_remote_code"}  # datasets looks for it among the others, to say that it is no longer supported
    for owner, rows in renames("call").items():
        known = set(inspect.signature(find(owner)).parameters)
        for row in rows.values():
            assert row.old not in known | ignored or row.old in ignored, row
            if row.action in ("rename", "value", "object"):
                assert row.new.partition("=")[0].partition(":")[0] in known, row


@pytest.mark.libraries
def test_defaults_are_as_the_table_says(find: Callable[[str], Any]) -> None:
    for owner, rows in renames("default").items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = find(owner)("unused", use_cpu=True)
        for row in rows.values():
            if row.action == "default" and row.old != "report_to":  # an empty list once it is resolved
                value = getattr(made, row.old)
                assert str(getattr(value, "value", value)) == row.new.strip('"'), row


@pytest.mark.libraries
def test_tokenizers_and_tasks_are_as_the_table_says(find: Callable[[str], Any]) -> None:
    from tokenizers import Tokenizer, models

    fast = find("transformers.PreTrainedTokenizerFast")
    tokenizer = fast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, unk_token="a")))
    for row in renames("tokenizer")["PreTrainedTokenizer"].values():
        assert not hasattr(tokenizer, row.old), row
        assert row.new in ("NM731", "extra_special_tokens_ids", "") or hasattr(tokenizer, row.new), row
    known = set(find("transformers.pipelines.SUPPORTED_TASKS"))
    assert not known & set(renames("task")["transformers.pipeline"])


# The program that writes the table ----------------------------------------------------------------------------------


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_renames", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "TABLE", tmp_path / "renames.tsv")
    return module


def survey(folder: Path, *rows: str) -> Path:
    header = "class|old kwarg|status|since version|new form|evidence"
    text = "".join("\t".join(line.split("|")) + "\n" for line in (header, *rows))
    (folder / "hf_renames.tsv").write_text(text, encoding="utf-8")
    return folder


def test_the_table_is_written_from_the_survey(tool: ModuleType, tmp_path: Path) -> None:
    folder = survey(tmp_path, "TrainingArguments|evaluation_strategy|renamed|4.46|eval_strategy|live")
    assert tool.main([str(folder), "--check"]) == 1
    assert tool.main([str(folder)]) == 0
    assert tool.main([str(folder), "--check"]) == 0
    lines = tool.TABLE.read_text(encoding="utf-8").splitlines()
    assert lines[0].split("\t") == list(tool.COLUMNS)
    wanted = "keyword\ttransformers.TrainingArguments\tevaluation_strategy\trename\teval_strategy\t\t\tsurvey"
    assert wanted in lines


def test_a_row_without_a_decision_is_an_error(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = survey(tmp_path, "TrainingArguments|brand_new|removed|6|delete|live")
    assert tool.main([str(folder)]) == 2
    assert "a row without a decision here: 'brand_new'" in capsys.readouterr().err
    assert not tool.TABLE.exists()
