"""Five scripts of 2021 to 2024 are migrated and run on tiny models.

They are here as people wrote them then; what each becomes is read off its run, and by eye with
``neuron-migrate --select NM7 --diff tests/codemods/renames/scripts``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from neuron_codemods import Outcome, Settings, migrate
from tests.training.assets import VOCABULARY, Assets, build_assets, build_tokenizer

SCRIPTS = Path(__file__).parent / "scripts"
NAMES = sorted(path.stem for path in SCRIPTS.glob("*.py"))
EVERYWHERE = Settings(select=("NM7",))


def text_of(name: str) -> str:
    return (SCRIPTS / f"{name}.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_all_of_a_script_is_migrated_at_once(name: str) -> None:
    migration = migrate(text_of(name), settings=EVERYWHERE)
    assert migration.changed
    assert all(finding.outcome is not Outcome.MANUAL for finding in migration.findings)
    assert not migrate(migration.text, settings=EVERYWHERE).changed


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_touched_unless_it_is_asked_for(name: str) -> None:
    migration = migrate(text_of(name))
    assert not migration.changed
    assert not migration.findings


def test_old_defaults_are_told_of_once() -> None:
    text = text_of("run_glue")
    first = migrate(text, settings=Settings(select=("NM711",)))
    assert [finding.code for finding in first.findings] == ["NM711", "NM711"]
    assert '"adamw_torch" (before transformers 5)' in first.findings[0].message
    again = migrate(migrate(text, settings=EVERYWHERE).text, settings=EVERYWHERE)
    assert not again.findings


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> Assets:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("trl")
    folder = tmp_path_factory.mktemp("assets")
    build_assets(folder)
    torch.manual_seed(0)
    config = transformers.BartConfig(
        vocab_size=VOCABULARY,
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=64,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
        decoder_start_token_id=3,
        forced_eos_token_id=3,
    )
    transformers.BartForConditionalGeneration(config).save_pretrained(folder / "seq2seq")
    build_tokenizer(ends_with="</s>").save_pretrained(folder / "seq2seq")
    return Assets(folder)


@pytest.mark.slow
@pytest.mark.libraries
@pytest.mark.parametrize("name", NAMES)
def test_the_migrated_script_trains(name: str, assets: Assets, tmp_path: Path) -> None:
    out = tmp_path / "out"
    given: dict[str, list[object]] = {
        "dpo": ["--model_name_or_path", assets.decoder, "--output_dir", out],
        "no_trainer": ["--model", assets.decoder, "--train_file", assets.texts, "--output_dir", out],
        "run_glue": [
            *("--model_name_or_path", assets.encoder, "--output_dir", out, "--do_train", "--do_eval", "--use_cpu"),
            *("--train_file", assets.sentences, "--validation_file", assets.more_sentences, "--max_steps", 2),
            *("--overwrite_output_dir", "--report_to", "none"),
        ],
        "seq2seq": [assets.folder / "seq2seq", out],
        "sft_lora": [assets.decoder, assets.texts, out],
    }
    script = tmp_path / f"{name}.py"
    script.write_text(migrate(text_of(name), settings=EVERYWHERE).text, encoding="utf-8")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    ended = subprocess.run(
        [sys.executable, str(script), *map(str, given[name])],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    saved = {path.name for path in out.iterdir()}
    assert {"model.safetensors", "adapter_model.safetensors"} & saved
