"""Older versions of the libraries: what is written for them, and what they lack."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from neuron_codemods import Outcome, Settings, migrate, migrate_text
from neuron_codemods.requirements import stack
from neuron_codemods.targets import OLDEST, TargetError, checked
from neuron_migrate.results import FileResult
from neuron_migrate.verify.verifier import Verifier

from .test_rules import CASES, all_rules

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
OLD = Settings(targets=checked(OLDEST))


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        ({"torch": "2.13"}, "'torch' is no library whose version matters; there are transformers, trl"),
        ({"trl": "newest"}, "'newest' is no version of trl; write one like '1.0'"),
        ({"trl": "1"}, "'1' is no version of trl"),
        ({"transformers": "5.19.3"}, "transformers 5.19.3 is too old for migrated code, which needs 5.20 or later"),
        ({"transformers": "5.20", "trl": "0.29.1"}, "trl 0.29.1 is too old for migrated code"),
    ],
)
def test_versions_that_nothing_can_be_written_for(versions: dict[str, str], said: str) -> None:
    with pytest.raises(TargetError, match=re.escape(said)):
        checked(versions)


def test_versions_are_numbers_and_not_texts() -> None:
    assert checked({"trl": "1.10.0", "transformers": "5.100"}) == (("transformers", "5.100"), ("trl", "1.10.0"))


NEW = "from transformers import TrainingArguments\n\nTrainingArguments('x', {}=True)\n"


@pytest.mark.parametrize(
    ("version", "written"),
    [
        (None, "activation_checkpointing"),
        ("5.23", "activation_checkpointing"),
        ("5.24.1", "activation_checkpointing"),
        ("5.22.2", "gradient_checkpointing"),
        ("5.20", "gradient_checkpointing"),
    ],
)
def test_a_new_name_is_written_where_it_is_known(version: str | None, written: str) -> None:
    settings = Settings(targets=(("transformers", version),) if version else ())
    old = NEW.format("gradient_checkpointing").replace("'x'", "'x', no_cuda=True")
    renamed = migrate(old, settings=replace(settings, select=("NM7",)))
    assert f"{written}=True" in renamed.text
    assert "use_cpu=True" in renamed.text
    moved = migrate(
        "from optimum.neuron import NeuronTrainingArguments\n\n"
        'args = NeuronTrainingArguments("out", gradient_checkpointing=True, gradient_checkpointing_kwargs={})\n',
        settings=settings,
    )
    assert f"{written}=True" in moved.text
    assert f"{written}_kwargs={{}}" in moved.text
    told = [finding for finding in (*renamed.findings, *moved.findings) if "gradient_checkpointing" in finding.message]
    assert bool(told) is (written == "activation_checkpointing")
    # A second run says nothing new.
    for migration in (renamed, moved):
        assert migrate(migration.text, settings=settings) == replace(migration, changed=False, findings=(), launch=())


def test_defaults_are_spelled_as_the_version_knows_them() -> None:
    text = "from optimum.neuron import NeuronSFTConfig\n\nargs = NeuronSFTConfig('out')\n"
    assert "activation_checkpointing=False" in migrate(text).text
    assert "gradient_checkpointing=False" in migrate(text, settings=OLD).text
    preferences = (
        "from transformers import TrainingArguments\nfrom trl import DPOTrainer\n\n"
        "DPOTrainer(model, ref, beta=0.2, args=TrainingArguments('out'))\n"
    )
    assert "gradient_checkpointing=False" in migrate(preferences, settings=replace(OLD, select=("NM7",))).text
    without = preferences.replace(", args=TrainingArguments('out')", "")
    assert "gradient_checkpointing=False" in migrate(without, settings=replace(OLD, select=("NM7",))).text


def test_what_an_older_trl_does_not_do_by_itself_is_told() -> None:
    text = "from optimum.neuron import NeuronSFTTrainer\n\nNeuronSFTTrainer(model)\n"
    for settings, advice in ((None, "<max_length>"), (OLD, "128, or <max_length>")):
        told = [finding.message for finding in migrate(text, settings=settings).findings]
        assert any(f"pad_to_multiple_of={advice}" in message for message in told)


def test_requirements_ask_for_the_version_that_is_written_for() -> None:
    text = "optimum-neuron[training]\ntransformers==4.57.1\n"
    assert "transformers>=5.20\n" in migrate_text("requirements", text, settings=OLD).text
    assert f"trl>={stack.LIBRARIES['trl']}\n" in migrate_text("requirements", text).text


def test_what_is_declared_is_what_is_true() -> None:
    """The extra that migrated code is installed with must let the oldest versions in."""
    declared = dict(re.findall(r'"(transformers|trl)>=([\d.]+)"', PYPROJECT.read_text()))
    assert declared == OLDEST


def texts(settings: Settings) -> list[tuple[str, str]]:
    """What the rules write for all their cases, where nothing is left for a person."""
    found = []
    for module, case in CASES:
        if module.rule.kind != "python":
            continue
        migration = migrate(case.before, settings=replace(all_rules(module), targets=settings.targets))
        outcomes = {finding.outcome for finding in migration.findings}
        if outcomes and Outcome.MANUAL not in outcomes:
            found.append((f"{module.rule.code} {case.name}", migration.text))
    return found


def lacking(settings: Settings) -> list[str]:
    """What the libraries that a new process finds lack, of all that the rules write."""
    told = []
    with Verifier(sys.executable) as verifier:
        for name, text in texts(settings):
            checked = verifier.checked(FileResult(f"{name}.py", text.encode()), written=True)
            told += [f"{name}: {finding.message}" for finding in checked.findings]
    return told


@pytest.fixture(scope="module")
def oldest_libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The oldest supported versions, without what they need: that is installed."""
    folder = tmp_path_factory.mktemp("libraries")
    wanted = [f"{library}=={version}.*" for library, version in OLDEST.items()]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--target", folder, *wanted],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"{', '.join(wanted)} cannot be downloaded: {done.stderr.strip().splitlines()[-1]}")
    return folder


@pytest.mark.libraries
@pytest.mark.slow
def test_all_that_is_written_fits_the_oldest_libraries(
    oldest_libraries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("trl")
    monkeypatch.setenv("PYTHONPATH", str(oldest_libraries), prepend=":")
    with Verifier(sys.executable) as verifier:
        for library, version in OLDEST.items():
            asked = FileResult("a.py", f"from {library} import Nothing\n".encode())
            (finding,) = verifier.checked(asked, written=True).findings
            assert finding.message.startswith(f"{library} has no Nothing in its version {version}.")
    assert lacking(OLD) == []
    # Without a target the newest is written, and the verifier sees what the older one lacks.
    assert {message.partition(": ")[2].partition(":")[0] for message in lacking(Settings())} == {
        "DPOConfig",
        "SFTConfig",
        "TrainingArguments",
    }


@pytest.mark.libraries
@pytest.mark.slow
def test_all_that_is_written_fits_the_installed_libraries() -> None:
    for library in ("transformers", "trl", "diffusers", "sentence_transformers"):
        pytest.importorskip(library)
    assert lacking(Settings()) == []
