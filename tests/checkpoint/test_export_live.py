"""A model in memory, in one process; ``test_export_sharded`` has those that several share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.export import export_checkpoint

from .models import contents, decoder, differing, mixture, randomised, state_of, tokenizer


@pytest.mark.parametrize("kind", ["tied", "untied", "experts", "encoder"])
def test_as_save_pretrained_writes_it(kind: str, tmp_path: Path, destination: Path) -> None:
    from transformers import BertConfig, BertForMaskedLM

    if kind == "experts":
        model = mixture()
    elif kind == "encoder":
        sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 48}
        model = randomised(BertForMaskedLM(BertConfig(vocab_size=96, max_position_embeddings=16, **sizes)))
    else:
        model = decoder(tied=kind == "tied")
    model.save_pretrained(tmp_path / "theirs")

    report = export_checkpoint(model, destination, tokenizer=tokenizer())

    assert report is not None
    assert differing(contents(destination), contents(tmp_path / "theirs")) == []
    ours, theirs = (
        json.loads((folder / "config.json").read_text(encoding="utf-8"))
        for folder in (destination, tmp_path / "theirs")
    )
    assert ours == theirs
    assert (destination / "generation_config.json").exists() == model.can_generate()
    assert (destination / "chat_template.jinja").exists()
    assert report.notes == ()


def test_in_bf16_leaves_the_model_as_it_was(untied: Any, destination: Path) -> None:
    import torch

    report = export_checkpoint(untied, destination, dtype=torch.bfloat16, max_shard_size="20KB")
    assert report is not None
    assert {value.dtype for value in untied.state_dict().values()} == {torch.float32}
    expected = {name: value.to(torch.bfloat16) for name, value in state_of(untied).items()}
    assert differing(contents(destination), expected) == []
    assert json.loads((destination / "config.json").read_text(encoding="utf-8"))["dtype"] == "bfloat16"
    assert report.notes == ("No tokenizer was given, so none was written.",)


def test_compiled_model(tmp_path: Path, destination: Path) -> None:
    import torch

    model = decoder(tied=False)
    export_checkpoint(torch.compile(model, backend="eager"), destination)
    assert differing(contents(destination), state_of(model)) == []


def test_only_the_main_process_of_a_run_writes(
    trainer_folder: Path, untied: Any, destination: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert export_checkpoint(trainer_folder, destination) is None
    assert export_checkpoint(untied, destination) is None
    assert not destination.exists()


def test_not_a_model(destination: Path) -> None:
    import torch

    with pytest.raises(ExportError, match="Linear is neither a transformers nor a PEFT model"):
        export_checkpoint(torch.nn.Linear(2, 2), destination)
    with pytest.raises(ExportError, match="A list cannot be exported"):
        export_checkpoint([1], destination)


def test_logits_on_a_gpu(untied: Any, destination: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    if not torch.cuda.is_available():
        pytest.skip("no GPU to load the exported checkpoint on")
    export_checkpoint(untied, destination)
    ids = torch.arange(12).reshape(1, 12)
    loaded = AutoModelForCausalLM.from_pretrained(destination).to("cuda")
    with torch.no_grad():
        torch.testing.assert_close(loaded(ids.to("cuda")).logits.cpu(), untied(ids).logits, rtol=1e-4, atol=1e-4)
