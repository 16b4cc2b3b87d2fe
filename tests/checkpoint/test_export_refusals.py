"""What is wrong is said in one sentence, with the file and the numbers, before anything is written."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from neuron_shim.checkpoint import destination as destination_module
from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.export import export_checkpoint

from .models import save_distributed


def refused(source: Path, destination: Path, **settings: Any) -> str:
    with pytest.raises(ExportError) as caught:
        export_checkpoint(source, destination, **settings)
    assert not destination.parent.exists() or not destination.exists()
    return str(caught.value)


def shard(folder: Path, number: int) -> Path:
    return sorted(folder.glob("*.safetensors"))[number]


def cut(path: Path, size: int) -> None:
    with open(path, "rb+") as file:
        file.truncate(size)


# --- files that are not whole


@pytest.mark.parametrize("source", ["trainer_folder", "sharded_folder", "distributed_folder"])
def test_truncated_file(source: str, copy_of: Any, destination: Path, request: pytest.FixtureRequest) -> None:
    folder = copy_of(request.getfixturevalue(source))
    path = shard(folder, -1)
    size = path.stat().st_size
    cut(path, size - 5)
    assert refused(folder, destination) == (
        f"{path} is cut short: its header announces {size} bytes, the file has {size - 5}. "
        "Copy it again, or take another checkpoint."
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it has 0 bytes and no valid header"),
        (b"\0" * 4096, "it has 4096 bytes and no valid header"),
        (b"version https://git-lfs.github.com/spec/v1\n", "is a pointer of Git LFS: run git lfs pull"),
        (struct.pack("<Q", 900) + b"{}", "its header alone should have 900 bytes, the file has 10"),
        (struct.pack("<Q", 4) + b"nope", "its header cannot be read"),
        (struct.pack("<Q", 2) + b"{}" + b"more", "has 14 bytes, but its header announces only 10"),
    ],
)
def test_not_a_safetensors_file(
    content: bytes, message: str, copy_of: Any, trainer_folder: Path, destination: Path
) -> None:
    folder = copy_of(trainer_folder)
    (folder / "model.safetensors").write_bytes(content)
    told = refused(folder, destination)
    assert message in told
    assert str(folder / "model.safetensors") in told


def test_offsets_that_cannot_be(copy_of: Any, trainer_folder: Path, destination: Path) -> None:
    folder = copy_of(trainer_folder)
    header = json.dumps({"w": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * 8)
    assert "w (F32 [3]) is said to lie in bytes" in refused(folder, destination)


@pytest.mark.parametrize(
    "told", [{"shape": [-1, -2]}, {"shape": [2.0]}, {"shape": [True, 2]}, {"data_offsets": [-8, 0]}], ids=str
)
def test_shapes_that_cannot_be(told: Any, copy_of: Any, trainer_folder: Path, destination: Path) -> None:
    folder = copy_of(trainer_folder)
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **told}}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * 8)
    assert "its header cannot be read (w is {" in refused(folder, destination)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_nested_without_end(name: str, copy_of: Any, trainer_folder: Path, destination: Path) -> None:
    folder = copy_of(trainer_folder)
    text = b'{"a":' + b"[" * 100_000
    (folder / name).write_bytes(text if name == "config.json" else struct.pack("<Q", len(text)) + text)
    told = refused(folder, destination)
    assert told.startswith(str(folder / name))
    assert "maximum recursion depth" in told


def test_index_that_leads_out_of_the_folder(copy_of: Any, sharded_folder: Path, destination: Path) -> None:
    folder = copy_of(sharded_folder)
    shutil.copy(shard(folder, 0), folder.parent / "outside.safetensors")
    path = folder / "model.safetensors.index.json"
    index = json.loads(path.read_text(encoding="utf-8"))
    index["weight_map"] = dict.fromkeys(index["weight_map"], "../outside.safetensors")
    path.write_text(json.dumps(index), encoding="utf-8")
    assert f"../outside.safetensors is missing from {folder}" in refused(folder, destination)


def test_missing_shard(copy_of: Any, sharded_folder: Path, destination: Path) -> None:
    folder = copy_of(sharded_folder)
    count = len(list(folder.glob("*.safetensors")))
    path = shard(folder, 1)
    path.unlink()
    assert refused(folder, destination) == f"{path.name} is missing from {folder}: 1 of {count} shards are not there."


def test_missing_index(copy_of: Any, sharded_folder: Path, destination: Path) -> None:
    folder = copy_of(sharded_folder)
    (folder / "model.safetensors.index.json").unlink()
    assert "the checkpoint was interrupted while it was saved" in refused(folder, destination)


@pytest.mark.parametrize("number", [0, 1, 3])
def test_missing_rank(number: int, copy_of: Any, distributed_folder: Path, destination: Path) -> None:
    """No file says how many there were. Without the last one, each tensor would merely look shorter."""
    folder = copy_of(distributed_folder)
    shard(folder, number).unlink()
    told = refused(folder, destination)
    assert "a shard is missing" in told or "are missing" in told
    assert "[96, 32], 3072 values" in told or "tensors of Qwen3ForCausalLM" in told


def test_missing_rank_of_unknown_architecture_is_a_remark(
    copy_of: Any, distributed_folder: Path, destination: Path
) -> None:
    folder = copy_of(distributed_folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["Mine"]}), encoding="utf-8")
    report = export_checkpoint(folder, destination)
    assert report is not None
    assert any("no shard is missing could not be checked" in note for note in report.notes)


# --- two runs in one folder


def test_index_of_one_run_and_file_of_another(
    copy_of: Any, sharded_folder: Path, trainer_folder: Path, destination: Path
) -> None:
    folder = copy_of(sharded_folder)
    shutil.copy(trainer_folder / "model.safetensors", folder)
    assert "holds model.safetensors, which model.safetensors.index.json does not name" in refused(folder, destination)


def test_shards_of_two_runs(copy_of: Any, sharded_folder: Path, destination: Path) -> None:
    folder = copy_of(sharded_folder)
    shutil.copy(shard(folder, 0), folder / "model-00001-of-00099.safetensors")
    assert "model-00001-of-00099.safetensors" in refused(folder, destination)


def test_shards_swapped(copy_of: Any, sharded_folder: Path, destination: Path) -> None:
    folder = copy_of(sharded_folder)
    shutil.copy(shard(folder, 0), shard(folder, 1))
    assert "the files of two runs are mixed" in refused(folder, destination)


def test_shards_without_index_beside_a_whole_file(
    copy_of: Any, sharded_folder: Path, trainer_folder: Path, destination: Path
) -> None:
    folder = copy_of(trainer_folder)
    shutil.copy(shard(sharded_folder, 0), folder)
    assert "without an index: the files of two runs are mixed" in refused(folder, destination)


def test_ranks_of_two_runs(untied: Any, copy_of: Any, distributed_folder: Path, destination: Path) -> None:
    """A run on 2 ranks was saved over one on 4: shards 3 and 4 are older."""
    from .models import write_shards

    folder = copy_of(distributed_folder)
    write_shards(dict(untied.state_dict()), folder, ranks=2)
    told = refused(folder, destination)
    assert "at the same place: the files of two runs are mixed" in told
    assert "shard-0000" in told


def test_ranks_in_two_dtypes(untied: Any, copy_of: Any, distributed_folder: Path, destination: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    folder = copy_of(distributed_folder)
    path = shard(folder, 1)
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    save_file({name: value.to(torch.bfloat16) for name, value in load_file(path).items()}, path, metadata=metadata)
    assert "F32 in shard-00001-model-00001-of-00001.safetensors and BF16 in" in refused(folder, destination)


def test_two_layouts(copy_of: Any, distributed_folder: Path, trainer_folder: Path, destination: Path) -> None:
    folder = copy_of(distributed_folder)
    shutil.copy(trainer_folder / "model.safetensors", folder)
    told = refused(folder, destination)
    assert "two checkpoints are mixed in one folder" in told
    assert "model.safetensors" in told
    assert "shard-00001" in told


# --- other sources


def test_unknown_layout(tmp_path: Path, destination: Path) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "weights.gguf").write_bytes(b"")
    told = refused(folder, destination)
    assert told.startswith(f"{folder} holds no checkpoint of transformers, PEFT, ")
    assert told.endswith("found: weights.gguf.")


def test_pickled_weights_are_not_opened(tmp_path: Path, destination: Path) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "pytorch_model.bin").write_bytes(b"")
    assert "has its weights in pytorch_model.bin, a pickle" in refused(folder, destination)


class Case(NamedTuple):
    name: str
    make: Callable[[Path], None]
    message: str


@pytest.mark.parametrize(
    "case",
    [
        Case("absent", lambda path: None, "does not exist."),
        Case("file", lambda path: path.touch(), "is not a folder."),
        Case("empty", lambda path: path.mkdir(), "found: nothing."),
    ],
    ids=lambda case: case.name,
)
def test_no_source(case: Case, tmp_path: Path, destination: Path) -> None:
    case.make(tmp_path / "source")
    assert refused(tmp_path / "source", destination).endswith(case.message)


def test_no_config(copy_of: Any, trainer_folder: Path, destination: Path) -> None:
    folder = copy_of(trainer_folder)
    (folder / "config.json").unlink()
    assert refused(folder, destination).startswith(f"{folder / 'config.json'} is missing. Name the folder")


def test_quantized_weights_keep_their_dtype(copy_of: Any, trainer_folder: Path, destination: Path) -> None:
    folder = copy_of(trainer_folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["quantization_config"] = {"quant_method": "fp8"}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert "its dtype cannot be changed" in refused(folder, destination, dtype="bf16")
    export_checkpoint(folder, destination)


class Opened:
    def __reduce__(self) -> tuple[Any, ...]:
        return (print, ("the pickle ran",))


def test_metadata_that_would_run_code(
    untied: Any, tmp_path: Path, destination: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import pickle

    folder = tmp_path / "source"
    untied.config.save_pretrained(folder)
    (folder / "__0_0.distcp").write_bytes(b"")
    (folder / ".metadata").write_bytes(pickle.dumps(Opened()))
    assert "names builtins.print, which is not let in" in refused(folder, destination)
    assert capsys.readouterr().out == ""


def test_torch_distributed_checkpoint_that_leads_out_of_its_folder(
    untied: Any, tmp_path: Path, destination: Path
) -> None:
    import torch.distributed.checkpoint as dcp

    folder = tmp_path / "source"
    untied.config.save_pretrained(folder)
    with pytest.warns(UserWarning, match="torch.distributed is"):
        dcp.save(untied.state_dict(), checkpoint_id=folder)
    metadata = (folder / ".metadata").read_bytes()
    (folder / ".metadata").write_bytes(metadata.replace(b"__0_0.distcp", b"../0_0.distc"))
    (folder / "__0_0.distcp").rename(tmp_path / "0_0.distc")
    assert "names ../0_0.distc, which is not a file beside it" in refused(folder, destination)


def test_torch_distributed_checkpoint_that_is_not_whole(untied: Any, tmp_path: Path, destination: Path) -> None:
    import torch.distributed.checkpoint as dcp

    folder = tmp_path / "source"
    untied.config.save_pretrained(folder)
    with pytest.warns(UserWarning, match="torch.distributed is"):
        dcp.save(untied.state_dict(), checkpoint_id=folder)
    data = folder / "__0_0.distcp"
    cut(data, 1000)
    assert f"{data} is cut short" in refused(folder, destination)
    data.unlink()
    assert f"{data} is missing" in refused(folder, destination)
    data.touch()
    (folder / ".metadata").unlink()
    assert "the checkpoint was interrupted while it was saved" in refused(folder, destination)


# --- destinations


def test_destination_not_empty(trainer_folder: Path, destination: Path) -> None:
    destination.mkdir(parents=True)
    (destination / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ExportError, match=r"exists and is not empty \(notes.txt is in it\)"):
        export_checkpoint(trainer_folder, destination)
    assert (destination / "notes.txt").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("inside", ["photos", "notes.txt"])
def test_overwrite_takes_only_a_checkpoint(inside: str, trainer_folder: Path, destination: Path) -> None:
    destination.mkdir(parents=True)
    if inside == "photos":
        (destination / "config.json").touch()
        (destination / inside).mkdir()
    else:
        (destination / inside).touch()
    with pytest.raises(ExportError, match="more than an exported checkpoint"):
        export_checkpoint(trainer_folder, destination, overwrite=True)
    assert (destination / inside).exists()


def test_destination_is_a_file(trainer_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(ExportError, match="must be a folder"):
        export_checkpoint(trainer_folder, path)
    assert path.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("up", [0, 1])
def test_destination_holds_the_source(up: int, copy_of: Any, trainer_folder: Path) -> None:
    source = copy_of(trainer_folder)
    with pytest.raises(ExportError, match="holds the source"):
        export_checkpoint(source, [source, source.parent][up], overwrite=True)
    assert (source / "model.safetensors").exists()


def test_not_enough_disk(trainer_folder: Path, destination: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(trainer_folder)._replace(free=20_000_000)
    monkeypatch.setattr(destination_module.shutil, "disk_usage", lambda _: usage)
    export_checkpoint(trainer_folder, destination, dry_run=True)  # 100 kB and a margin fit
    monkeypatch.setattr(destination_module.shutil, "disk_usage", lambda _: usage._replace(free=10_000_000))
    assert refused(trainer_folder, destination).endswith("but only 0.01 GB are free there.")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dtype": "int8"}, "dtype is 'int8', but must be one of bf16, fp16, fp32"),
        ({"max_shard_size": "0GB"}, "The shard size is '0GB'"),
        ({"max_shard_size": "many"}, "The shard size is 'many'"),
    ],
)
def test_wrong_arguments(settings: dict[str, Any], message: str, trainer_folder: Path, destination: Path) -> None:
    with pytest.raises(ValueError, match=message):
        export_checkpoint(trainer_folder, destination, **settings)


def test_names_that_the_model_does_not_have(untied: Any, tmp_path: Path, destination: Path) -> None:
    """The config of another model: fewer layers in the files than it says."""
    save_distributed(untied, tmp_path / "source", ranks=2)
    config = json.loads((tmp_path / "source" / "config.json").read_text(encoding="utf-8"))
    del config["layer_types"]
    (tmp_path / "source" / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}), encoding="utf-8")
    assert "11 of the 36 tensors of Qwen3ForCausalLM are missing" in refused(tmp_path / "source", destination)
