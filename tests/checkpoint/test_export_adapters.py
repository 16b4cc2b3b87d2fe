"""Adapters come out as PEFT reads them; merged ones as PEFT would have merged them, to the bit."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest

from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.export import export_checkpoint

from .models import adapted, contents, decoder, differing, save_distributed, state_of, tokenizer

# PEFT 0.21 asks transformers 5.24 for something by its old name, and warns of tied embeddings that come apart.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning"),
    pytest.mark.filterwarnings(
        "ignore:.*tie_word_embeddings=True. and a tied layer is part of the adapter:UserWarning"
    ),
]


class Adapter:
    """A base model and an adapter, saved."""

    def __init__(self, folder: Path, *, tied: bool = False, base_dtype: str = "float32", **settings: Any) -> None:
        self.base, self.folder = folder / "base", folder / "adapter"
        decoder(tied=tied, dtype=base_dtype).save_pretrained(self.base)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PEFT warns of tied embeddings that come apart
            model = adapted(decoder(tied=tied, dtype=base_dtype), **settings)
            model.save_pretrained(self.folder)

    def merged_by_peft(self) -> Any:
        from peft import PeftModel
        from transformers import AutoModelForCausalLM

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(self.base), self.folder)
            return model.merge_and_unload()


def test_adapter_as_it_is(tmp_path: Path, destination: Path) -> None:
    from peft import PeftModel

    adapter = Adapter(tmp_path)
    tokenizer().save_pretrained(adapter.folder)

    report = export_checkpoint(adapter.folder, destination, max_shard_size="1KB")

    assert report is not None
    assert list(report.files) == ["adapter_model.safetensors"]
    assert differing(contents(destination), contents(adapter.folder)) == []
    assert json.loads((destination / "adapter_config.json").read_text(encoding="utf-8")) == json.loads(
        (adapter.folder / "adapter_config.json").read_text(encoding="utf-8")
    )
    assert (destination / "tokenizer.json").exists()
    loaded = PeftModel.from_pretrained(decoder(tied=False), destination)
    assert loaded.active_adapters == ["default"]


def test_adapter_in_another_dtype(tmp_path: Path, destination: Path) -> None:
    import torch

    adapter = Adapter(tmp_path)
    export_checkpoint(adapter.folder, destination, dtype="bf16")
    expected = {name: value.to(torch.bfloat16) for name, value in contents(adapter.folder).items()}
    assert differing(contents(destination), expected) == []


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="lora"),
        pytest.param({"base_dtype": "bfloat16"}, id="bf16-base"),
        pytest.param(
            {"use_rslora": True, "alpha_pattern": {"q_proj": 3}, "rank_pattern": {"q_proj": 2}}, id="patterns"
        ),
        pytest.param({"use_dora": True, "base_dtype": "bfloat16"}, id="dora"),
        pytest.param({"target_modules": "all-linear", "tied": True}, id="all-linear-tied"),
        pytest.param({"target_modules": ["embed_tokens", "v_proj"]}, id="embedding"),
        pytest.param({"target_modules": ["embed_tokens"], "tied": True}, id="tied-embedding"),
        pytest.param({"modules_to_save": ["lm_head"]}, id="whole-head"),
        pytest.param({"modules_to_save": ["lm_head"], "tied": True}, id="head-comes-apart"),
        pytest.param({"modules_to_save": ["embed_tokens"], "tied": True}, id="embedding-comes-apart"),
        pytest.param({"modules_to_save": ["norm"], "base_dtype": "bfloat16"}, id="whole-norms"),
    ],
)
def test_merged_as_peft_merges(settings: dict[str, Any], tmp_path: Path, destination: Path) -> None:
    from transformers import AutoModelForCausalLM

    adapter = Adapter(tmp_path, **settings)

    report = export_checkpoint(adapter.folder, destination, merge_adapter=adapter.base, max_shard_size="20KB")

    assert report is not None
    theirs = adapter.merged_by_peft()
    loaded = AutoModelForCausalLM.from_pretrained(destination, dtype=None)
    assert loaded.config.tie_word_embeddings == theirs.config.tie_word_embeddings
    assert differing(dict(loaded.state_dict()), dict(theirs.state_dict())) == []
    assert differing(contents(destination), contents(adapter.base)) != []  # the comparison could fail


def test_merged_into_the_folder_that_the_adapter_names(tmp_path: Path, destination: Path) -> None:
    adapter = Adapter(tmp_path)
    config = json.loads((adapter.folder / "adapter_config.json").read_text(encoding="utf-8"))
    for named, works in ((str(adapter.base), True), ("org/model", False)):
        text = json.dumps({**config, "base_model_name_or_path": named})
        (adapter.folder / "adapter_config.json").write_text(text, encoding="utf-8")
        if works:
            export_checkpoint(adapter.folder, destination, merge_adapter=True)
            assert differing(contents(destination), state_of(adapter.merged_by_peft())) == []
            shutil.rmtree(destination)
        else:
            with pytest.raises(ExportError, match="trained on org/model, which is no folder here"):
                export_checkpoint(adapter.folder, destination, merge_adapter=True)


def test_merged_into_a_distributed_checkpoint_in_bf16(tmp_path: Path, destination: Path) -> None:
    import torch

    adapter = Adapter(tmp_path)
    save_distributed(decoder(tied=False), tmp_path / "distributed", ranks=2, columns=("down_proj.weight",))
    export_checkpoint(adapter.folder, destination, merge_adapter=tmp_path / "distributed", dtype="bf16")
    expected = {name: value.to(torch.bfloat16) for name, value in state_of(adapter.merged_by_peft()).items()}
    assert differing(contents(destination), expected) == []


@pytest.mark.parametrize("tied", [False, True])
def test_live_adapter(tied: bool, tmp_path: Path, destination: Path) -> None:
    model = adapted(decoder(tied=tied))
    model.save_pretrained(tmp_path / "theirs")

    export_checkpoint(model, destination, tokenizer=tokenizer())

    assert differing(contents(destination), contents(tmp_path / "theirs")) == []
    ours, theirs = (
        json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
        for folder in (destination, tmp_path / "theirs")
    )
    assert {**ours, "target_modules": sorted(ours["target_modules"])} == {
        **theirs,
        "target_modules": sorted(theirs["target_modules"]),
    }
    assert (destination / "tokenizer.json").exists()


@pytest.mark.parametrize("tied", [False, True])
def test_live_adapter_merged_leaves_the_model_as_it_was(tied: bool, destination: Path) -> None:
    model = adapted(decoder(tied=tied))
    before = {name: value.clone() for name, value in model.state_dict().items()}

    export_checkpoint(model, destination, merge_adapter=True)

    assert differing(dict(model.state_dict()), before) == []
    assert differing(contents(destination), state_of(model.merge_and_unload())) == []


# --- what cannot be merged


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param({"init_lora_weights": "pissa"}, "initialised with pissa, which changes the base", id="pissa"),
        pytest.param(
            {"target_modules": ["lm_head"], "tied": True}, "tied to model.embed_tokens.weight", id="tied-head"
        ),
        pytest.param({"trainable_token_indices": [1]}, "trainable_token_indices", id="tokens"),
    ],
)
def test_refused(settings: dict[str, Any], message: str, tmp_path: Path, destination: Path) -> None:
    adapter = Adapter(tmp_path, **settings)
    with pytest.raises(ExportError, match=message):
        export_checkpoint(adapter.folder, destination, merge_adapter=adapter.base)
    assert not destination.exists()


def test_prompt_tuning_cannot_be_merged(tmp_path: Path, destination: Path) -> None:
    from peft import PromptTuningConfig, get_peft_model

    decoder(tied=False).save_pretrained(tmp_path / "base")
    get_peft_model(
        decoder(tied=False), PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3)
    ).save_pretrained(tmp_path / "adapter")
    with pytest.raises(ExportError, match="PROMPT_TUNING adapter has no weights that could be merged"):
        export_checkpoint(tmp_path / "adapter", destination, merge_adapter=tmp_path / "base")
    export_checkpoint(tmp_path / "adapter", destination)


def test_adapter_of_another_model(tmp_path: Path, destination: Path) -> None:
    adapter = Adapter(tmp_path)
    config = json.loads((adapter.base / "config.json").read_text(encoding="utf-8"))
    del config["layer_types"]
    (adapter.base / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 1}), encoding="utf-8")
    with pytest.raises(ExportError, match="have no place in Qwen3ForCausalLM: it was trained on another model"):
        export_checkpoint(adapter.folder, destination, merge_adapter=adapter.base)


def test_adapter_that_lacks_tensors(tmp_path: Path, destination: Path) -> None:
    from safetensors.torch import save_file

    adapter = Adapter(tmp_path)
    tensors = contents(adapter.folder)
    tensors.popitem()
    save_file(tensors, adapter.folder / "adapter_model.safetensors")
    with pytest.raises(ExportError, match="The adapter lacks"):
        export_checkpoint(adapter.folder, destination, merge_adapter=adapter.base)


def test_only_adapters_are_merged(tmp_path: Path, destination: Path) -> None:
    adapter = Adapter(tmp_path)
    with pytest.raises(ExportError, match="Only an adapter can be merged"):
        export_checkpoint(adapter.base, destination, merge_adapter=adapter.base)
    with pytest.raises(ExportError, match="is an adapter itself"):
        export_checkpoint(adapter.folder, destination, merge_adapter=adapter.folder)


def test_adapter_without_weights(tmp_path: Path, destination: Path) -> None:
    adapter = Adapter(tmp_path)
    (adapter.folder / "adapter_model.safetensors").rename(adapter.folder / "adapter_model.bin")
    with pytest.raises(ExportError, match=r"is missing \(adapter_model.bin is a pickle and is not read\)"):
        export_checkpoint(adapter.folder, destination)
