"""What is wrong is said with the file and the reason; the source stays, the destination never looks finished."""

from __future__ import annotations

import errno
import json
import os
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from neuron_shim.checkpoint import export, safetensors_file, stored, tensors
from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.export import export_checkpoint

from . import generator, models
from .files import Attack, change_json, cut, hostile, snapshot
from .generator import Case
from .tensors import contents, differing

MODEL = "shards/model/dp_rank_00_tp_rank_0{}_pp_rank_00.pt"


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs that tests copy before they damage them."""
    folder = tmp_path_factory.mktemp("trees")
    llama = models.described("llama", 2)
    for name, case in {
        "xser": Case("json", tp=2),
        "plain": Case("json", tp=2, xser=False),
        "multiplied": Case("json", tp=4, fuse_qkv=True, xser=False),
        "apart": Case("json", tp=4, xser=False),
        "stages": Case("json", tp=2, pp=2, xser=False),
    }.items():
        generator.write_json_model(llama, case, folder / name)
    generator.write_before_0_2(llama, Case("tpxser", tp=4), folder / "old")
    generator.write_before_0_2(llama, Case("pt", tp=2, xser=False), folder / "pickled")
    generator.write_before_0_2(llama, Case("pt", tp=2, pp=2, xser=False), folder / "no_config")
    return folder


@pytest.fixture
def tree(trees: Path, tmp_path: Path) -> Callable[[str], Path]:
    return lambda name: Path(shutil.copytree(trees / name, tmp_path / "source"))


def refused(source: Path, **settings: Any) -> str:
    destination = source.with_name("destination")
    before = snapshot(source)
    with pytest.raises(ExportError) as caught:
        export_checkpoint(source, destination, **settings)
    assert snapshot(source) == before
    assert not destination.exists()
    assert [path.name for path in source.parent.iterdir() if "neuron-shim" in path.name] == []
    print(caught.value)
    return str(caught.value)


# --- files that are missing or damaged


def test_missing_rank(tree: Any) -> None:
    source = tree("plain")
    (source / MODEL.format(1)).unlink()
    told = refused(source)
    assert "The file of tensor-parallel rank 1, stage 0, is missing" in told
    assert "there were 2 ranks (says " in told


def test_missing_rank_of_old_shards(tree: Any) -> None:
    source = tree("old")
    (source / "tensor_parallel_shards" / "tp_rank_03_pp_rank_00").unlink()
    assert "The file of tensor-parallel rank 3, stage 0, is missing" in refused(source)


def test_missing_stage(tree: Any) -> None:
    source = tree("stages")
    (source / "shards" / "mp_metadata_pp_rank_0.json").unlink()
    assert "mp_metadata_pp_rank_0.json is missing, though there is that of stage 1. Copy it" in refused(source)


@pytest.mark.parametrize("name", ["plain", "pickled"])
def test_metadata_missing(name: str, tree: Any) -> None:
    source = tree(name)
    for path in (source / "shards").glob("mp_metadata*"):
        path.unlink()
    assert refused(source).startswith(f"{source / 'shards'} has no mp_metadata_pp_rank_0.json (or .pt, up to 0.1.0)")


def test_last_stage_missing(tree: Any) -> None:
    source = tree("stages")
    (source / "shards" / "mp_metadata_pp_rank_1.json").unlink()
    assert "11 of the 21 tensors of LlamaForCausalLM are missing. The files of a pipeline stage" in refused(source)


def test_missing_tensor_of_xser(tree: Any) -> None:
    source = tree("xser")
    path = source / f"{MODEL.format(1)}.tensors" / "tensor_3.pt"
    path.unlink()
    told = refused(source)
    assert told.startswith(f"{path} is missing, which holds model.layers.0.self_attn.v_proj.weight.")
    assert "copy them from all nodes" in told


def test_not_done(tree: Any) -> None:
    source = tree("xser")
    (source / "shards" / "done").unlink()
    assert refused(source).startswith(f"{source / 'shards' / 'done'} is missing: saving was interrupted")


@pytest.mark.parametrize("size", [0, 10, 5000])
def test_truncated_shard(size: int, tree: Any) -> None:
    source = tree("plain")
    path = source / MODEL.format(1)
    cut(path, size)
    told = refused(source)
    assert str(path) in told
    assert (
        "is empty: it was not written to its end, or the disk was full" if not size else f"it has {size} bytes"
    ) in told


def test_truncated_tensor(tree: Any) -> None:
    source = tree("xser")
    path = source / f"{MODEL.format(0)}.tensors" / "tensor_5.pt"
    cut(path, path.stat().st_size - 700)
    assert refused(source).startswith(f"{path} is cut short or damaged")


def test_not_a_torch_file(tree: Any) -> None:
    source = tree("plain")
    (source / MODEL.format(0)).write_bytes(b"<html>")
    assert "was not written by torch.save: it has 6 bytes" in refused(source)


def test_pointer_of_git_lfs(tree: Any) -> None:
    source = tree("plain")
    (source / MODEL.format(1)).write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    assert refused(source).startswith(f"{source / MODEL.format(1)} is a pointer of Git LFS: run git lfs pull where ")


# --- files that do not belong together


def test_ranks_of_two_runs_by_shape(tree: Any, trees: Path) -> None:
    source = tree("apart")
    shutil.copy(trees / "plain" / MODEL.format(1), source / MODEL.format(1))
    told = refused(source)
    assert str(source / MODEL.format(1)) in told
    assert "the files of two runs are mixed" in told


def test_ranks_of_two_runs_by_value(tree: Any) -> None:
    import torch

    source = tree("plain")
    path = source / MODEL.format(1)
    content = torch.load(path, weights_only=True)
    content["model.norm.weight"] += 1
    torch.save(content, path)
    told = refused(source)
    assert told.startswith("1 tensor has copies that should be equal and differ, most of all model.norm.weight")
    assert "the files are of two runs or steps" in told


@pytest.mark.parametrize("name", ["plain", "xser"])
def test_rank_under_the_name_of_another(name: str, tree: Any) -> None:
    source = tree(name)
    for path in sorted((source / "shards" / "model").glob("*tp_rank_00*")):
        other = path.with_name(path.name.replace("tp_rank_00", "tp_rank_01"))
        if path.is_dir():
            shutil.copytree(path, other, dirs_exist_ok=True)
        else:
            shutil.copy(path, other)
    assert refused(source).startswith(
        f"{source / MODEL.format(1)} holds the same parts as {source / MODEL.format(0)}: the file of one rank is "
    )


def test_adapter_that_was_never_trained(tmp_path: Path) -> None:
    """Its B is zero on all ranks."""
    model, case = models.described("llama"), Case("json", tp=2, xser=False, adapter="all")
    state = generator.adapter_state(model, case, ("q_proj",))
    state = {name: value * (".lora_A." in name) for name, value in state.items()}
    generator.write_adapter(model, case, state, tmp_path / "source")
    generator.write_json(tmp_path / "source" / "adapter_config.json", generator.adapter_config(("q_proj",), "base"))
    export_checkpoint(tmp_path / "source", tmp_path / "adapter")
    assert differing(contents(tmp_path / "adapter"), state) == []


def test_copies_that_are_not_numbers(tree: Any) -> None:
    import torch

    source = tree("plain")
    content = torch.load(source / MODEL.format(1), weights_only=True)
    content["model.norm.weight"][0] = float("nan")
    torch.save(content, source / MODEL.format(1))
    assert "_pp_rank_00.pt) because some values are NaN or infinite." in refused(source)


def test_two_files_of_one_rank(tree: Any) -> None:
    source = tree("plain")
    other = source / MODEL.format(1).replace("tp_rank_01", "tp_rank_1")
    shutil.copy(source / MODEL.format(1), other)
    assert refused(source) == (
        f"{source / MODEL.format(1)} and {other} are both of one rank: the files of two runs are mixed."
    )


def test_two_forms_in_one_folder(tree: Any) -> None:
    import torch

    source = tree("old")
    torch.save({"model": {}}, source / "tensor_parallel_shards" / "tp_rank_00")
    assert "are of releases that saved differently: two runs are mixed" in refused(source)


def test_two_layouts_in_one_folder(tree: Any, trees: Path) -> None:
    source = tree("plain")
    shutil.copytree(trees / "old" / "tensor_parallel_shards", source / "tensor_parallel_shards")
    assert "two checkpoints are mixed in one folder" in refused(source)


def test_tensor_that_nothing_names(tree: Any) -> None:
    import torch

    source = tree("stages")
    for path in sorted((source / "shards" / "model").glob("*.pt")):
        torch.save({**torch.load(path, weights_only=True), "value_head.weight": torch.ones(1, 32)}, path)
    report = export_checkpoint(source, source.with_name("destination"))
    assert report is not None
    assert report.notes[1] == (
        "Left out, because neither mp_metadata_pp_rank_0.json nor the model has them: value_head.weight."
    )


def test_metadata_against_shapes(tree: Any) -> None:
    source = tree("plain")

    def change(told: Any) -> None:
        told["parameters"]["model.layers.1.mlp.down_proj.weight"] |= {"partition_dim": 0}
        told["parameters"]["model.layers.1.mlp.gate_up_proj.weight"] |= {"num_partitions": 4}

    change_json(source / "shards" / "mp_metadata_pp_rank_0.json", change)
    assert "it contradicts itself" in refused(source)


def test_fused_sizes_against_shapes(tree: Any) -> None:
    source = tree("plain")

    def change(told: Any) -> None:
        told["model_weight_transformation_specs"][1]["specs"][0][1]["original_dims"] = [64, 64]

    change_json(source / "shards" / "mp_metadata_pp_rank_0.json", change)
    assert "makes it 128 rows (64 + 64) over 2 ranks, 64 in each" in refused(source)


def test_config_of_another_model(tree: Any) -> None:
    source = tree("plain")
    change_json(source / "config.json", lambda config: config.update(intermediate_size=96))
    assert "the shards do not belong to this config" in refused(source)


def test_config_with_fewer_layers(tree: Any) -> None:
    source = tree("plain")
    change_json(source / "config.json", lambda config: config.update(num_hidden_layers=1))
    assert "has no place in LlamaForCausalLM" in refused(source)


@pytest.mark.parametrize("name", ["multiplied", "apart"])
def test_wrong_multiplier(name: str, tree: Any) -> None:
    source = tree(name)

    def change(told: Any) -> None:
        for entry in told["model_weight_transformation_specs"][::2]:
            entry["specs"][0][1] |= {"kv_size_multiplier": 4, "kv_output_size_per_partition": 8}

    change_json(source / "shards" / "mp_metadata_pp_rank_0.json", change)
    assert "kv_size_multiplier 4, on 4 ranks" in refused(source)


def test_multiplier_that_contradicts_itself(tree: Any) -> None:
    source = tree("multiplied")

    def change(told: Any) -> None:
        told["model_weight_transformation_specs"][0]["specs"][0][1]["kv_size_multiplier"] = 4

    change_json(source / "shards" / "mp_metadata_pp_rank_0.json", change)
    assert "contradicts itself: model.layers.0.self_attn has 8 query heads" in refused(source)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"num_attention_heads": 0}, "(ZeroDivisionError("),
        ({"query_projection_name": ["q_proj"]}, """(TypeError("['q_proj'] is no name"))."""),
        ({"num_key_value_heads": 0, "kv_output_size_per_partition": 0}, "kv_size_multiplier 2, which is impossible."),
    ],
    ids=str,
)
def test_metadata_that_make_no_sense(settings: dict[str, Any], told: str, tree: Any) -> None:
    source = tree("multiplied")

    def change(metadata: Any) -> None:
        metadata["model_weight_transformation_specs"][0]["specs"][0][1] |= settings

    path = source / "shards" / "mp_metadata_pp_rank_0.json"
    change_json(path, change)
    message = refused(source)
    assert message.startswith(str(path))
    assert told in message


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"architectures": [5], "model_type": None}, "names neither an architecture nor a model_type, so it is of no"),
        ({"num_attention_heads": "eight"}, "makes no LlamaForCausalLM of it (Validation error for field"),
        ({"rope_scaling": {"type": "nope"}}, "makes no LlamaForCausalLM of it ("),
        ({"nested": json.loads("[" * 900 + "]" * 900)}, "makes no LlamaForCausalLM of it (maximum recursion depth"),
    ],
    ids=["names", "type", "value", "depth"],
)
def test_config_that_makes_no_model(settings: dict[str, Any], told: str, tree: Any) -> None:
    source = tree("plain")
    change_json(source / "config.json", lambda config: config.update(settings))
    assert told in refused(source)


def test_architectures_that_are_no_list(tree: Any) -> None:
    """Then its type says what loads it, and nothing is compared with it."""
    source = tree("plain")
    change_json(source / "config.json", lambda config: config.update(architectures="LlamaForCausalLM"))
    report = export_checkpoint(source, source.with_name("destination"))
    assert report is not None
    assert "The architecture (none) is not one of transformers' own" in report.notes[0]


def test_adapter_config_of_nothing(tmp_path: Path) -> None:
    model, case = models.described("llama"), Case("json", tp=2, xser=False, adapter="all")
    source = tmp_path / "source"
    generator.write_adapter(model, case, generator.adapter_state(model, case, ("q_proj",)), source)
    generator.write_json(source / "adapter_config.json", {})
    assert refused(source) == f"{source / 'adapter_config.json'} has no peft_type, so it is of no adapter."


def test_json_of_gigabytes(tree: Any) -> None:
    """The file is a hole, so that it takes no space."""
    source = tree("plain")
    os.truncate(source / "config.json", 3_000_000_000)
    assert refused(source) == f"{source / 'config.json'} has 3000000000 bytes, which no checkpoint needs."


def test_json_that_is_cut_short(tree: Any) -> None:
    source = tree("plain")
    cut(source / "shards" / "mp_metadata_pp_rank_0.json", 700)
    assert "mp_metadata_pp_rank_0.json is no JSON, or was not written to its end: " in refused(source)


def test_no_config(tree: Any) -> None:
    source = tree("no_config")
    assert refused(source).startswith(f"{source / 'config.json'} is missing. Name the folder of the model")


# --- hostile files


@pytest.mark.parametrize(
    ("attack", "named"),
    [
        (Attack(os.system, "touch /tmp/owned"), "posix.system"),
        (Attack(eval, "1"), "builtins.eval"),
        (Attack(getattr, "", "join"), "builtins.getattr"),
        (Attack(os.remove, "x"), "posix.remove"),
    ],
)
def test_hostile_pickle(attack: Attack, named: str, tree: Any) -> None:
    source = tree("plain")
    path = source / MODEL.format(1)
    hostile(path, pickle.dumps({"model": attack}, protocol=2))
    told = refused(source)
    if os.name == "posix":
        assert told.replace("__builtin__", "builtins").startswith(f"{path} names {named} in its pickle")


def test_hostile_metadata(tree: Any) -> None:
    source = tree("pickled")
    path = source / "shards" / "mp_metadata_pp_rank_0.pt"
    hostile(path, pickle.dumps(Attack(exec, "raise SystemExit"), protocol=2))
    assert refused(source).startswith(f"{path} names ")


@pytest.mark.parametrize("place", ["tensor of xser", "optimizer", "rank of old shards", "adapter"])
def test_hostile_pickle_elsewhere(place: str, tree: Any, tmp_path: Path) -> None:
    source, told = tmp_path / "source", {}
    if place == "tensor of xser":
        path = tree("xser") / f"{MODEL.format(1)}.tensors" / "tensor_3.pt"
    elif place == "rank of old shards":
        path = tree("old") / "tensor_parallel_shards" / "tp_rank_02_pp_rank_00"
    elif place == "optimizer":
        path, told = tree("plain") / MODEL.format(0).replace("/model/", "/optim/"), {"optimizer": True}
        path.parent.mkdir()
        shutil.copy(source / MODEL.format(0), path)
    else:
        targets = ("q_proj",)
        model, case = models.described("llama"), Case("json", tp=2, xser=False, adapter="all")
        folder = source / "adapter_default"
        generator.write_adapter(model, case, generator.adapter_state(model, case, targets), folder)
        generator.write_json(folder / "adapter_config.json", generator.adapter_config(targets, "base"))
        path = folder / "adapter_shards" / "model" / Path(MODEL.format(1)).name
    hostile(path, pickle.dumps({"state": Attack(exec, "raise SystemExit")}, protocol=2))
    assert refused(source, **told).startswith(
        f"{path} names builtins.exec in its pickle".replace("builtins", "__builtin__")
    )


def test_what_is_never_opened(tree: Any) -> None:
    source = tree("xser")
    hostile(source / f"{MODEL.format(0)}.info.pt", pickle.dumps(Attack(exec, "raise SystemExit"), protocol=2))
    assert export_checkpoint(source, source.with_name("destination")) is not None


@pytest.mark.parametrize(
    ("payload", "told"),
    [
        (b"\x80\x02Nr\xff\xff\xff\x7f.", "it counts 2147483647 parts in 9 bytes"),
        (b"\x80\x02cbuiltins\nbytearray\nI3000000000\n\x85R.", "names builtins.bytearray in its pickle"),
        (b"\x80\x02]" + b"]" * 200_000 + b"a" * 200_000 + b".", "holds no tensors by name"),
        (b"\x80\x02\xff.", "its description of the tensors cannot be read"),
        (b"\x80\x02" + b"I" + b"9" * 5000 + b"\n.", "its description of the tensors cannot be read"),
    ],
    ids=["memo", "array", "depth", "opcode", "number"],
)
def test_pickle_that_wants_memory(payload: bytes, told: str, tree: Any) -> None:
    source = tree("plain")
    hostile(source / MODEL.format(0), payload)
    message = refused(source)
    assert message.startswith(str(source / MODEL.format(0)))
    assert told in message


def test_zip_of_an_unknown_kind(tree: Any) -> None:
    source = tree("plain")
    path = source / MODEL.format(0)
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 6] = 99  # the version that is needed to read it
    path.write_bytes(content)
    assert refused(source).startswith(f"{path} is damaged: its description of the tensors cannot be read")


def test_description_of_gigabytes(tree: Any) -> None:
    """The file has a hole, so that it takes no space."""
    source = tree("plain")
    path = source / MODEL.format(0)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", b"")
    content = bytearray(path.read_bytes())
    size = (200_000_000).to_bytes(4, "little")
    table = content.index(b"PK\x01\x02")
    content[table + 20 : table + 28] = size * 2
    content[-6:-2] = (table + 200_000_000).to_bytes(4, "little")
    with open(path, "wb") as file:
        file.write(content[:table])
        file.seek(table + 200_000_000)
        file.write(content[table:])
    assert refused(source) == f"{path} is damaged: data.pkl in it has 200000000 bytes, which no checkpoint needs."


@pytest.mark.parametrize(
    ("shape", "strides", "offset", "told"),
    [
        ((4, 4), (0, 0), 0, "a tensor of [4, 4] has more values than its data"),
        ((2, 2), (-1, 1), 0, "a tensor of [2, 2] reaches beyond its data"),
        ((2,), (1,), -1, "a tensor of [2] reaches beyond its data"),
        ((-2, -2), (1, 1), 0, "a tensor of [-2, -2] reaches beyond its data"),
        ((2,), (1,), 1 << 70, "a tensor of [2] reaches beyond its data"),
    ],
    ids=str,
)
def test_tensor_that_lies(shape: Any, strides: Any, offset: int, told: str, tree: Any) -> None:
    import torch

    class Lie:
        def __reduce__(self) -> Any:
            return torch._utils._rebuild_tensor_v2, (
                torch.ones(4)._typed_storage(),
                offset,
                shape,
                strides,
                False,
                {},
            )

    source = tree("plain")
    torch.save({"weight": Lie()}, source / MODEL.format(0))
    assert refused(source) == f"{source / MODEL.format(0)} is damaged: {told}."


def test_bare_pickle(tree: Any) -> None:
    source = tree("plain")
    path = source / MODEL.format(0)
    path.write_bytes(pickle.dumps(Attack(exec, "raise SystemExit"), protocol=2))
    assert refused(source).startswith(f"{path} is a bare pickle, which may run code")


@pytest.mark.parametrize("tid", ["../../../etc/passwd", -1, None, 1.5, 1 << 70, True])
def test_reference_to_somewhere_else(tid: Any, tree: Any) -> None:
    source = tree("xser")
    path = source / MODEL.format(0)
    with generator.torch_xla():
        payload = pickle.dumps({"model.embed_tokens.weight": generator.TensorReference(tid)}, protocol=2)
    hostile(path, payload)
    told = refused(source)
    assert str(path) in told


def test_tensor_beyond_its_data(tree: Any) -> None:
    import torch

    source = tree("plain")
    path = source / MODEL.format(0)
    content = torch.load(path, weights_only=True)
    with zipfile.ZipFile(path) as archive:
        name = next(name for name in archive.namelist() if name.endswith("data.pkl"))
        data = archive.read(name)
    embedding = content["model.embed_tokens.weight"]
    assert tuple(embedding.shape) == (32, 32)
    hostile(path, data.replace(b"K K \x86", b"M\x00\x10K \x86", 1))
    assert "reaches beyond its data" in refused(source)


def test_training_arguments_are_not_opened(tree: Any) -> None:
    source = tree("plain")
    (source / "training_args.bin").write_bytes(pickle.dumps(Attack(exec, "raise SystemExit"), protocol=2))
    os.chmod(source / "training_args.bin", 0)
    report = export_checkpoint(source, source.with_name("destination"))
    assert report is not None
    assert "training_args.bin" in report.left_behind
    assert not (source.with_name("destination") / "training_args.bin").exists()


# --- while it is written


def test_full_disk(tree: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tree("plain")
    write = safetensors_file._write
    calls = iter(range(1000))

    def failing(file: Any, data: Any) -> None:
        if next(calls) == 12:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(file, data)

    monkeypatch.setattr(safetensors_file, "_write", failing)
    assert refused(source).endswith("could not be written: No space left on device.")


def test_disk_that_fails_at_the_end(tree: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", failing)
    assert refused(tree("plain")).endswith("destination could not be written: Input/output error.")


@pytest.mark.parametrize("begun", [False, True])
def test_source_that_cannot_be_read(begun: bool, tree: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message is about the source, not the destination, also while that is written."""
    source = tree("plain")
    carry_out = export._carry_out

    def failing(*_: Any) -> Any:
        raise OSError(errno.EIO, "Input/output error")

    def carried_out(*arguments: Any) -> Any:
        monkeypatch.setattr(tensors, "read_range", failing)
        monkeypatch.setattr(stored, "read_range", failing)
        return carry_out(*arguments)

    if begun:
        monkeypatch.setattr(export, "_carry_out", carried_out)
        assert refused(source).startswith("dp_rank_00_tp_rank_00_pp_rank_00.pt")
    else:
        monkeypatch.setattr(stored, "read_range", failing)
        assert refused(source) == f"{source} cannot be read: Input/output error."


def test_file_beside_the_weights_that_cannot_be_read(tree: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told before anything is written. Permissions mean nothing to root, who may run this."""
    source = tree("plain")
    (source / "tokenizer.json").touch()
    opened = open

    def failing(path: Any, *arguments: Any, **settings: Any) -> Any:
        if str(path).endswith("tokenizer.json"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, *arguments, **settings)

    monkeypatch.setattr("builtins.open", failing)
    assert refused(source) == f"{source / 'tokenizer.json'} cannot be read: Permission denied."


@pytest.mark.parametrize("jobs", [1, 3])
def test_interrupt(jobs: int, tree: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tree("plain")
    write = safetensors_file._write
    calls = iter(range(1000))

    def failing(file: Any, data: Any) -> None:
        if next(calls) == 12:
            raise KeyboardInterrupt
        write(file, data)

    monkeypatch.setattr(safetensors_file, "_write", failing)
    destination = source.with_name("destination")
    with pytest.raises(KeyboardInterrupt):
        export_checkpoint(source, destination, jobs=jobs, max_shard_size="10KB")
    assert [path.name for path in source.parent.iterdir()] == ["source"]


def test_destination_exists(tree: Any) -> None:
    source = tree("plain")
    destination = source.with_name("destination")
    destination.mkdir()
    (destination / "note").write_text("mine", encoding="utf-8")
    with pytest.raises(ExportError, match=r"exists and is not empty \(note is in it\)"):
        export_checkpoint(source, destination)
    assert [path.name for path in destination.iterdir()] == ["note"]


def test_destination_inside_a_file(tree: Any) -> None:
    source = tree("plain")
    (source.parent / "file").touch()
    with pytest.raises(ExportError, match=r"file is a file, so the destination .*model cannot be inside it"):
        export_checkpoint(source, source.parent / "file" / "model")


def test_several_files_at_once(tree: Any) -> None:
    source = tree("plain")
    report = export_checkpoint(source, source.with_name("destination"), jobs=3, max_shard_size="10KB")
    assert report is not None
    assert len(report.files) > 4
    assert differing(contents(source.with_name("destination")), models.described("llama", 2).state) == []


def test_destination_inside_the_source(tmp_path: Path) -> None:
    """The source is never touched."""
    generator.write_json_model(models.described("llama"), Case("json", tp=2), tmp_path / "source")
    before = sorted(tmp_path.rglob("*"))
    (tmp_path / "link").symlink_to(tmp_path / "source")
    for destination in (tmp_path / "source" / "model", tmp_path / "link" / "deep" / "model"):
        with pytest.raises(ExportError, match=r"is inside the source .*, which is never changed; choose another"):
            export_checkpoint(tmp_path / "source", destination)
    (tmp_path / "link").unlink()
    assert sorted(tmp_path.rglob("*")) == before


def test_link_that_leads_to_itself(tmp_path: Path) -> None:
    (tmp_path / "source").symlink_to(tmp_path / "source")
    with pytest.raises(ExportError, match=r"source does not exist\.$"):
        export_checkpoint(tmp_path / "source", tmp_path / "model")


def test_description_with_another_checksum(tmp_path: Path) -> None:
    generator.write_json_model(models.described("llama"), Case("json", tp=2, xser=False), tmp_path / "source")
    path = tmp_path / "source" / "shards" / "model" / "dp_rank_00_tp_rank_01_pp_rank_00.pt"
    content = path.read_bytes()
    path.write_bytes(content.replace(b"lm_head", b"lm_tail", 1))
    with pytest.raises(ExportError) as caught:
        export_checkpoint(tmp_path / "source", tmp_path / "model")
    assert str(caught.value) == f"{path} is damaged: data.pkl in it does not have its checksum."


def test_names_that_are_not_text(tmp_path: Path) -> None:
    source = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    generator.write_json_model(models.described("llama"), Case("json", tp=2), source)
    destination = Path(os.fsdecode(os.fsencode(tmp_path) + b"/mod\xe8le"))
    report = export_checkpoint(source, destination)
    assert report is not None
    assert (destination / "config.json").is_file()
