"""JSON files of training arguments: keys go or are called otherwise, and every other byte stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_codemods import ModuleFacts, Outcome, Project, SourceError, migrate_text
from neuron_codemods.scripts import Script
from neuron_migrate.api import migrate_paths

GONE = ("zero_1", "use_xser", "tensor_parallel_size", "async_save")
KEPT = ("output_dir", "bf16", "learning_rate", "é")


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    st.lists(st.sampled_from((*GONE, *KEPT)), unique=True, max_size=8),
    st.sampled_from((None, 1, 4, "\t")),
    st.booleans(),
)
def test_keys_go_wherever_they_stand(keys: list[str], indent: int | str | None, ascii_only: bool) -> None:
    before = {key: [1, {"x": "zero_1"}] if key == "é" else True for key in keys}
    text = json.dumps(before, indent=indent, ensure_ascii=ascii_only)
    after = migrate_text("json", text).text
    if "output_dir" in keys and {"zero_1", "use_xser"} & set(keys):
        assert json.loads(after) == {key: value for key, value in before.items() if key in KEPT}
        assert after.count("\n") == text.count("\n") - (0 if indent is None else len(set(keys) & set(GONE)))
    else:
        assert after == text
    assert migrate_text("json", after).text == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"zero_1": 1, "zero_1": 0, "output_dir": "x"}', '{"output_dir": "x"}'),
        ('[{"hyperparameters": {"zero-1": "1", "async-save": "1"}}]', '[{"hyperparameters": {}}]'),
        (
            '{"output_dir": "x", "zero_1": 1, "pipeline_parallel_size": 1, "save_safetensors": null}',
            '{"output_dir": "x"}',
        ),
        (
            '{"output_dir": "x", "zero_1": 1, "no_zero_1": 1, "seed": 2}',
            '{"output_dir": "x", "no_zero_1": 1, "seed": 2}',
        ),
        ('{"output_dir": "x", "zero_1": 1, "adafactor": false}', '{"output_dir": "x"}'),
    ],
)
def test_objects(before: str, after: str) -> None:
    assert migrate_text("json", before).text == after


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ('"pipeline_parallel_size": 2', "pipeline_parallel_size has no native form."),
        ('"adafactor": true, "optim": "lion"', "Write adafactor into optim instead of it."),
        ('"include_inputs_for_metrics": true', "Write inputs into include_for_metrics instead of it."),
    ],
)
def test_what_is_for_a_person_is_told_and_left(key: str, said: str) -> None:
    migration = migrate_text("json", f'{{"output_dir": "x", "zero_1": 1, {key}}}')
    assert [said in item.message for item in migration.findings if item.outcome is Outcome.MANUAL] == [True]
    assert migration.text == f'{{"output_dir": "x", {key}}}'


def test_sizes_of_a_job_go_to_its_environment() -> None:
    text = '{"HyperParameters": {"zero_1": "1", "tensor_parallel_size": "8", "x": "1"}}'
    told = [item.message for item in migrate_text("json", text).findings]
    assert "tensor_parallel_size goes: set TP_SIZE=8 in the environment of the job." in told


def test_a_flag_of_the_script_itself_stays() -> None:
    project = Project((ModuleFacts("a.py", script=Script(True, frozenset({"zero_1"}))),))
    text = '{"output_dir": "x", "zero_1": 1, "use_xser": 1}'
    assert migrate_text("json", text, project=project).text == '{"output_dir": "x", "zero_1": 1}'


def test_files(tmp_path: Path) -> None:
    (tmp_path / "args.json").write_text('{"output_dir": "x", "zero_1": true}\n')
    (tmp_path / "tokenizer.json").write_text('{"vocab": {"zero": 1, \n')
    assert [(result.path[-9:], result.after) for result in migrate_paths([tmp_path])] == [
        ("args.json", b'{"output_dir": "x"}\n')
    ]
    with pytest.raises(SourceError, match="not JSON"):
        migrate_text("json", '{"output_dir": "x", // zero\n"zero_1": 1}')


def test_a_text_that_looks_like_a_comment_is_none() -> None:
    text = '{"output_dir": "# neuron-migrate: ignore-file", "zero_1": true}'
    assert migrate_text("json", text).text == '{"output_dir": "# neuron-migrate: ignore-file"}'
