"""The arguments of a migrated script, as the native libraries resolve them, against what the old releases used.

``old_defaults.tsv`` holds the effective defaults of NeuronTrainingArguments and NeuronSFTConfig, read off objects that
were constructed with five releases (origin: a survey of Optimum Neuron 0.0.22 to 0.4.5). Whatever the migrated script
resolves to otherwise must be in a finding, by the name of the field.
"""

from __future__ import annotations

import csv
from enum import Enum
from pathlib import Path

import pytest

from neuron_codemods import Migration, migrate

transformers = pytest.importorskip("transformers")
pytest.importorskip("trl")

RELEASES = {
    # A release, and imports and keywords that only its generation had, so that the tool can tell.
    "0.4.5": ("from optimum.neuron import NeuronTrainer", "use_autocast=False"),
    "0.3.0": ("from optimum.neuron import NeuronTrainer, Seq2SeqNeuronTrainer", ""),
    "0.1.0": ("from optimum.neuron.distributed import lazy_load_for_parallelism", ""),
    "0.0.28": ("from optimum.neuron.distributed import lazy_load_for_parallelism", ""),
    "0.0.22": ("from optimum.neuron.distributed import lazy_load_for_parallelism", ""),
}

DIRECT = """\
from optimum.neuron import {cls}
{imports}

args = {cls}(output_dir="out", {keywords})
"""

COPIED = """\
from optimum.neuron import NeuronSFTConfig, NeuronSFTTrainer, NeuronTrainingArguments
{imports}

training_args = NeuronTrainingArguments(output_dir="out", {keywords})
args = NeuronSFTConfig(**training_args.to_dict())
"""

WITHOUT_EFFECT = {
    "fsdp": "unset in both, spelled '' or None",
    "hub_private_repo": "only when pushing; None takes the organisation's choice",
    "include_num_input_tokens_seen": "False is spelled 'no'",
    "lr_scheduler_kwargs": "an empty mapping is spelled None",
    "accelerator_config": "None is filled in with the defaults of accelerate",
    "debug": "an empty text is spelled as an empty list",
    "run_name": "a label: None is filled in by the integrations",
    "trackio_space_id": "only for trackio, which no release used",
    "pad_to_multiple_of": "None natively resolves to the same off a Neuron device",
    "dataset_text_field": "None meant a formatting function, which does not look at it",
    "log_level_replica": "'silent' is no level natively, 'critical' says as little",
}


def old_values(cls: str, release: str) -> dict[str, str]:
    with Path(__file__).with_name("old_defaults.tsv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["class"] == cls]
    return {row["field"]: row[release] for row in rows if row[release] != "-" and not row[release].startswith("n/a")}


def script(template: str, cls: str, release: str) -> str:
    imports, keywords = RELEASES[release]
    return template.format(cls=cls, imports=imports, keywords=keywords)


def resolve(migration: Migration, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setenv("HF_DEACTIVATE_ASYNC_LOAD", "1")  # configure() sets it; monkeypatch takes it back
    names: dict[str, object] = {}
    exec(compile(migration.text, "migrated", "exec"), names)
    return names["args"]


def shown(value: object) -> str:
    value = value.value if isinstance(value, Enum) else value
    return str(value)


def differences(args: object, cls: str, release: str) -> dict[str, tuple[str, str]]:
    """Fields that resolve to another value than the old one, with both."""
    found = {}
    for field, old in old_values(cls, release).items():
        if not hasattr(args, field) or field in WITHOUT_EFFECT:
            continue
        native = shown(getattr(args, field))
        if field == "report_to" and old == "None=all":
            old = str(transformers.integrations.get_available_reporting_integrations())
        if field == "output_dir" or old.strip("'\"") == native.strip("'\""):
            continue
        found[field] = (old, native)
    return found


@pytest.mark.libraries
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    ("template", "cls"),
    [
        pytest.param(DIRECT, "NeuronTrainingArguments", id="TrainingArguments"),
        pytest.param(DIRECT, "NeuronSFTConfig", id="SFTConfig"),
        pytest.param(COPIED, "NeuronSFTConfig", id="SFTConfig-from-TrainingArguments"),
    ],
)
@pytest.mark.filterwarnings("ignore::FutureWarning")  # to_dict carries names that transformers deprecates
def test_every_difference_is_in_a_finding(
    template: str, cls: str, release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not old_values(cls, release):
        pytest.skip(f"{release} had no {cls}")
    migration = migrate(script(template, cls, release))
    args = resolve(migration, monkeypatch)
    messages = " ".join(finding.message for finding in migration.findings)

    found = differences(args, cls, release)
    unreported = {field: values for field, values in found.items() if field not in messages}

    assert not unreported
    print(f"{cls} {release}: {len(old_values(cls, release))} fields, differing with a finding: {found}")


def test_a_default_that_is_not_restored_is_seen() -> None:
    """The comparison can fail: the native defaults themselves differ."""
    args = transformers.TrainingArguments(output_dir="out")

    found = differences(args, "NeuronTrainingArguments", "0.4.5")

    assert found["optim"] == ("adamw_torch", "adamw_torch_fused")
    assert found["per_device_train_batch_size"] == ("1", "8")
    assert "average_tokens_across_devices" in found
