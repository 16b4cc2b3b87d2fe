"""Folders of each layout come out as the plain checkpoint that ``save_pretrained`` would have written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from neuron_shim.checkpoint.export import export_checkpoint

from .models import contents, decoder, differing, mixture, save_distributed, state_of, tokenizer


@pytest.mark.parametrize("source", ["trainer_folder", "sharded_folder", "distributed_folder"])
@pytest.mark.parametrize("size", ["5GB", "20KB"])
def test_same_tensors_and_loadable(
    source: str, size: str, untied: Any, destination: Path, request: pytest.FixtureRequest
) -> None:
    from transformers import AutoModelForCausalLM

    report = export_checkpoint(request.getfixturevalue(source), destination, max_shard_size=size)

    assert report is not None
    assert differing(contents(destination), state_of(untied)) == []
    loaded, info = AutoModelForCausalLM.from_pretrained(destination, output_loading_info=True)
    assert not any(info[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert differing(dict(loaded.state_dict()), dict(untied.state_dict())) == []
    files = sorted(path.name for path in destination.glob("*.safetensors"))
    assert files == sorted(report.files)
    assert (len(files) > 1) == (size == "20KB")
    assert (destination / "model.safetensors.index.json").exists() == (size == "20KB")


def test_index_as_save_pretrained_writes_it(trainer_folder: Path, sharded_folder: Path, destination: Path) -> None:
    export_checkpoint(trainer_folder, destination, max_shard_size="20KB")
    index, theirs = (
        json.loads((folder / "model.safetensors.index.json").read_text(encoding="utf-8"))
        for folder in (destination, sharded_folder)
    )
    assert index["weight_map"].keys() == theirs["weight_map"].keys()
    assert index["metadata"]["total_size"] == theirs["metadata"]["total_size"]
    for name, file in index["weight_map"].items():
        from safetensors import safe_open

        with safe_open(destination / file, framework="pt") as opened:
            assert name in opened.keys()  # noqa: SIM118  # it is no mapping


def test_tokenizer_goes_along_and_the_run_stays_behind(trainer_folder: Path, destination: Path) -> None:
    from transformers import AutoTokenizer

    report = export_checkpoint(trainer_folder, destination)

    assert report is not None
    loaded = AutoTokenizer.from_pretrained(destination)
    assert loaded.get_vocab() == tokenizer().get_vocab()
    assert loaded.chat_template == tokenizer().chat_template
    assert {path.name for path in destination.iterdir()} == {
        *("config.json", "generation_config.json", "model.safetensors"),
        *("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"),
    }
    assert set(report.left_behind) == {
        *("optimizer.pt", "scheduler.pt", "rng_state.pth", "training_args.bin", "trainer_state.json"),
        "optimizer_distributed/",
    }
    assert report.notes == ()


def test_tokenizer_of_another_folder(distributed_folder: Path, trainer_folder: Path, destination: Path) -> None:
    from transformers import AutoTokenizer

    report = export_checkpoint(distributed_folder, destination, tokenizer=trainer_folder)
    assert report is not None
    assert AutoTokenizer.from_pretrained(destination).get_vocab() == tokenizer().get_vocab()
    assert report.notes == ()
    assert not (destination / "trainer_state.json").exists()


def test_missing_tokenizer_is_said(distributed_folder: Path, destination: Path) -> None:
    report = export_checkpoint(distributed_folder, destination)
    assert report is not None
    assert report.notes == (
        f"{distributed_folder} has no tokenizer files; a folder that has them can lend them (--files-from FOLDER).",
    )


@pytest.mark.parametrize(("short", "full"), [("bf16", "bfloat16"), ("fp16", "float16"), ("fp32", "float32")])
@pytest.mark.parametrize("source", ["trainer_folder", "distributed_folder"])
def test_dtype(
    source: str, short: str, full: str, untied: Any, destination: Path, request: pytest.FixtureRequest
) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    export_checkpoint(request.getfixturevalue(source), destination, dtype=short)

    dtype = getattr(torch, full)
    assert differing(contents(destination), {name: value.to(dtype) for name, value in state_of(untied).items()}) == []
    assert json.loads((destination / "config.json").read_text(encoding="utf-8"))["dtype"] == full
    assert AutoModelForCausalLM.from_pretrained(destination).dtype == dtype


def test_integers_keep_their_dtype_and_every_tensor_is_aligned(tmp_path: Path, destination: Path) -> None:
    import torch
    from safetensors.torch import save_file

    source = tmp_path / "source"
    source.mkdir()
    tensors = {
        "a.count": torch.arange(3, dtype=torch.uint8),
        "b.weight": torch.randn(5, 3),
        "c.ids": torch.arange(7),
        "d.none": torch.zeros(0, 4),
        "e.scalar": torch.tensor(1.5),
        "f.flags": torch.tensor([True, False, True]),
    }
    save_file(tensors, source / "model.safetensors")
    (source / "config.json").write_text('{"model_type": "mine", "auto_map": {}}', encoding="utf-8")

    export_checkpoint(source, destination, dtype=torch.bfloat16)

    expected = {name: value.bfloat16() if value.is_floating_point() else value for name, value in tensors.items()}
    assert differing(contents(destination), expected) == []


def test_too_large_for_float16_is_refused(tmp_path: Path, destination: Path) -> None:
    from neuron_shim.checkpoint.errors import ExportError

    model = decoder(tied=False)
    model.model.norm.weight.data[3] = -70000.0
    model.model.norm.weight.data[4] = float("inf")  # was lost before
    model.save_pretrained(tmp_path / "source")
    with pytest.raises(ExportError, match=r"model\.norm\.weight holds 70000, which torch.float16 cannot \(65504"):
        export_checkpoint(tmp_path / "source", destination, dtype="fp16")
    assert not destination.exists()
    export_checkpoint(tmp_path / "source", destination, dtype="bf16")


def test_config_names_the_dtype_of_the_weights(copy_of: Any, trainer_folder: Path, destination: Path) -> None:
    """transformers 5 loads a model in the dtype of its config: a wrong one there would round the weights."""
    source = copy_of(trainer_folder)
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    (source / "config.json").write_text(json.dumps({**config, "dtype": "bfloat16"}), encoding="utf-8")

    report = export_checkpoint(source, destination)

    assert report is not None
    assert json.loads((destination / "config.json").read_text(encoding="utf-8"))["dtype"] == "float32"
    assert report.notes == ("config.json says float32 now, as the weights are; it said bfloat16.",)


# --- tied embeddings


@pytest.mark.parametrize("layout", ["folder", "distributed"])
def test_tied_embeddings_are_one_tensor(layout: str, tied: Any, tmp_path: Path, destination: Path) -> None:
    """As a sharded model saves them: twice."""
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM

    source = tmp_path / "source"
    if layout == "folder":
        tied.save_pretrained(source)
        both = {name: value.clone() for name, value in tied.state_dict().items()}
        assert "lm_head.weight" in both
        save_file(both, source / "model.safetensors", metadata={"format": "pt"})
    else:
        save_distributed(tied, source, ranks=2)

    report = export_checkpoint(source, destination)

    assert report is not None
    assert report.dropped == ("lm_head.weight",)
    assert differing(contents(destination), state_of(tied)) == []
    loaded = AutoModelForCausalLM.from_pretrained(destination)
    assert loaded.lm_head.weight is loaded.model.embed_tokens.weight
    assert differing(dict(loaded.state_dict()), dict(tied.state_dict())) == []


def test_equal_but_not_tied_stay_two(tmp_path: Path, destination: Path) -> None:
    model = decoder(tied=False)
    model.lm_head.weight.data.copy_(model.model.embed_tokens.weight.data)
    model.save_pretrained(tmp_path / "source")
    report = export_checkpoint(tmp_path / "source", destination)
    assert report is not None
    assert report.dropped == ()
    assert "lm_head.weight" in contents(destination)


def test_tied_by_the_config_but_different_are_kept_and_said(tied: Any, tmp_path: Path, destination: Path) -> None:
    from safetensors.torch import save_file

    tied.save_pretrained(tmp_path / "source")
    both = {name: value.clone() for name, value in tied.state_dict().items()}
    both["lm_head.weight"][1, 1] += 1
    save_file(both, tmp_path / "source" / "model.safetensors", metadata={"format": "pt"})
    report = export_checkpoint(tmp_path / "source", destination)
    assert report is not None
    assert report.dropped == ()
    assert differing(contents(destination), both) == []
    assert any("lm_head.weight is kept" in note for note in report.notes)


# --- other forms


def test_experts_leave_in_the_form_of_a_file(tmp_path: Path, destination: Path) -> None:
    """A distributed checkpoint holds them stacked, as the model does; every other tool wants them apart."""
    model = mixture()
    model.save_pretrained(tmp_path / "theirs")
    save_distributed(model, tmp_path / "source", ranks=2)
    assert differing(contents(tmp_path / "theirs"), dict(model.state_dict())) != []

    export_checkpoint(tmp_path / "source", destination, max_shard_size="10KB")

    assert differing(contents(destination), contents(tmp_path / "theirs")) == []


@pytest.mark.parametrize("name", ["checkpoint", "pytorch_model_fsdp_0"])
def test_torch_distributed_checkpoint(name: str, untied: Any, tmp_path: Path, destination: Path) -> None:
    """What torch writes by itself, and accelerate below a folder of that name."""
    import torch.distributed.checkpoint as dcp

    source = tmp_path / "source"
    folder = source / name if name.startswith("pytorch") else source
    untied.config.save_pretrained(source)
    with pytest.warns(UserWarning, match="torch.distributed is"):
        dcp.save({"model": untied.state_dict()}, checkpoint_id=folder)
    if folder != source:
        config = json.loads((source / "config.json").read_text(encoding="utf-8"))
        config["architectures"] = ["Qwen3ForCausalLM"]
        (source / "config.json").write_text(json.dumps(config), encoding="utf-8")

    export_checkpoint(source, destination)

    assert differing(contents(destination), state_of(untied)) == []


@pytest.mark.parametrize("cut", ["grid", "bricks"])
def test_blocks_cut_in_two_directions(cut: str, tmp_path: Path, destination: Path) -> None:
    """TP x FSDP cuts a matrix into a grid; where the rows of blocks do not line up, it is put together whole."""
    import torch
    from safetensors.torch import save_file

    model = decoder(tied=False)
    save_distributed(model, tmp_path / "source", ranks=1)
    state = dict(model.state_dict())
    name = "model.layers.1.mlp.down_proj.weight"
    matrix = state.pop(name)
    rows = (slice(0, 12), slice(12, 32)), (slice(0, 20), slice(20, 32))
    blocks = [(0, 16, rows[0]), (16, 48, rows[0] if cut == "grid" else rows[1])]
    files = [state]
    offsets = [{key: [0] * value.dim() for key, value in state.items()}]
    for first, last, sides in blocks:
        for side in sides:
            files.append({name: matrix[side, first:last].contiguous()})
            offsets.append({name: [side.start, first]})
    for number, (tensors, offset) in enumerate(zip(files, offsets, strict=True), 1):
        told = json.dumps({key: {"saved_offsets": value} for key, value in offset.items()})
        path = tmp_path / "source" / f"shard-{number:05}-model-00001-of-00001.safetensors"
        save_file(tensors, path, metadata={"DCP_SHARDING_INFO": told})

    export_checkpoint(tmp_path / "source", destination, dtype="bf16")

    expected = {key: value.to(torch.bfloat16) for key, value in model.state_dict().items()}
    assert differing(contents(destination), expected) == []


def test_dry_run_writes_nothing(trainer_folder: Path, destination: Path) -> None:
    report = export_checkpoint(trainer_folder, destination, dtype="bf16", max_shard_size="20KB", dry_run=True)
    assert report is not None
    assert not destination.parent.exists()
    real = export_checkpoint(trainer_folder, destination, dtype="bf16", max_shard_size="20KB")
    assert real is not None
    assert (report.files, report.bytes, report.companions) == (real.files, real.bytes, real.companions)


def test_overwrite_replaces_an_export(trainer_folder: Path, destination: Path) -> None:
    import torch

    export_checkpoint(trainer_folder, destination, max_shard_size="20KB")
    export_checkpoint(trainer_folder, destination, dtype="bf16", overwrite=True)
    assert [path.name for path in destination.glob("*.safetensors*")] == ["model.safetensors"]
    assert {value.dtype for value in contents(destination).values()} == {torch.bfloat16}


def test_empty_destination_and_relative_paths(
    trainer_folder: Path, destination: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    destination.mkdir(parents=True)
    monkeypatch.chdir(destination.parent)
    export_checkpoint(trainer_folder, "model")
    assert (destination / "config.json").exists()


def test_split_as_transformers_does() -> None:
    import torch
    from huggingface_hub import split_torch_state_dict_into_shards

    from neuron_shim.checkpoint.sharding import split
    from neuron_shim.checkpoint.tensors import Tensor

    for limit in (40, 100, 360, 1000, 10**6):
        sizes = [10, 30, 7, 90, 1, 1, 60, 25, 25, 25]
        state = {f"t{number}": torch.zeros(size) for number, size in enumerate(sizes)}
        tensors = [Tensor(name, "F32", tuple(value.shape), "", iter) for name, value in state.items()]
        theirs = split_torch_state_dict_into_shards(
            state, filename_pattern="model{suffix}.safetensors", max_shard_size=limit
        ).filename_to_tensors
        ours = {name: [tensor.name for tensor in some] for name, some in split(tensors, limit, stem="model").items()}
        # Theirs may begin with an empty shard when the first tensor is too large; ours has no empty file.
        assert list(ours.values()) == [names for names in theirs.values() if names]
