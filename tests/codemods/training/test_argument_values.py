"""What becomes of a keyword depends on its value, and on what else is given."""

from __future__ import annotations

import pytest

from neuron_codemods import Settings, migrate

HEAD = "from optimum.neuron import NeuronTrainer, NeuronTrainingArguments\n\n"


@pytest.mark.parametrize(
    ("given", "becomes"),
    [
        ("evaluation_strategy='no', eval_strategy='no'", "eval_strategy='no'"),
        ("warmup_ratio=0.1, warmup_steps=0", "warmup_steps=0.1"),
        ("warmup_ratio=0.1, warmup_steps=5", "warmup_steps=5"),
        ("warmup_ratio=0", "warmup_steps=0.0"),
        ("warmup_ratio=2.0", "warmup_steps=2.0"),
        ("logging_steps=1, warmup_ratio=None", "logging_steps=1"),
        ("logging_steps=1, logging_dir=None", "logging_steps=1"),
        ("logging_dir='l', report_to='none'", "report_to='none'"),
        ("logging_dir='l', report_to=['wandb']", "report_to=['wandb']"),
        ("logging_steps=1, group_by_length=False", "logging_steps=1"),
        ("logging_steps=1, split_batches=None", "logging_steps=1"),
        ("report_to=None", 'report_to="all"'),
        ("report_to=None or x", "report_to=None or x"),
        ("log_level_replica='silent'", 'log_level_replica="critical"'),
        ("log_level_replica='error'", "log_level_replica='error'"),
        ("truncation_mode='keep_end'", "truncation_mode='keep_end'"),  # of ORPO only
        ("group_by_length=x", "group_by_length=x"),
        ("split_batches=True, accelerator_config=c", "split_batches=True, accelerator_config=c"),
    ],
)
def test_given(given: str, becomes: str) -> None:
    result = migrate(f"{HEAD}NeuronTrainingArguments('o', {given})\n", settings=Settings(select=("NM110",))).text
    assert result.splitlines()[-1] == f"NeuronTrainingArguments('o', {becomes})"
    by_hand = any(line.startswith("# TODO(neuron-migrate NM110)") for line in result.splitlines())
    assert by_hand == (given in ("group_by_length=x", "split_batches=True, accelerator_config=c"))


@pytest.mark.parametrize(
    ("report_to", "read"),
    [("x", ""), ("'all'", ""), ("['wandb', 'tensorboard']", ""), ("'none'", "print(a.logging_dir)\n")],
)
def test_a_folder_for_logs_that_something_reads_is_in_the_environment(report_to: str, read: str) -> None:
    given = f"a = NeuronTrainingArguments('o', logging_dir='l', report_to={report_to})\n"
    result = migrate(HEAD + given + read, settings=Settings(select=("NM110",))).text

    assert "os.environ.setdefault(\"TENSORBOARD_LOGGING_DIR\", 'l')\n" in result


def test_a_folder_for_logs_that_is_told_where_a_function_returns_goes_and_is_shown() -> None:
    result = migrate(f"{HEAD}def made(x):\n    return NeuronTrainingArguments('o', logging_dir=x)\n")
    assert "logging_dir" not in result.text
    assert any(finding.message.endswith("Set it before the trainer is made; it was x.") for finding in result.findings)
