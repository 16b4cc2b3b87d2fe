"""Makes each kind of damage, and with ``python -m tests.shards.damage`` the page of what the command says of it."""

from __future__ import annotations

import contextlib
import errno
import io
import pickle
import shutil
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import torch

from neuron_shim.command import main

from . import generator, models
from .files import Attack, change_json, cut, hostile, snapshot
from .generator import Case

PAGE = Path(__file__).parents[2] / "docs" / "damaged-checkpoints.md"
BEGINNING = """\
# What `neuron-shim export` says of a damaged checkpoint

`SRC` is the folder that was given, `DST` the one to write; lines are broken here. Whatever is wrong, the export ends
with status 1 (130 if it was interrupted, 2 for wrong usage), `SRC` stays as it was, `DST` does not appear, and nothing
is left beside it. All but the last four is found before a byte is written, with `--dry-run` too.

This page is made of real runs on tiny models by `python -m tests.shards.damage`, and a test compares them.
"""

RANK = "shards/model/dp_rank_00_tp_rank_{:02}_pp_rank_00.pt"
METADATA = "shards/mp_metadata_pp_rank_0.json"
TREES = {
    "plain": Case("json", tp=2, xser=False),
    "xser": Case("json", tp=2),
    "stages": Case("json", tp=2, pp=2, xser=False),
    "multiplied": Case("json", tp=4, xser=False),
}


class Damage(NamedTuple):
    kind: str
    tree: str
    make: Callable[[Path], Any] = id
    """Given the source, beside which the destination will be; by default nothing."""

    options: tuple[str, ...] = ()
    around: Any = contextlib.nullcontext()
    """What fails while the export runs."""


def _stage_lost(source: Path) -> None:
    for path in (*source.glob("shards/model/*pp_rank_01.pt"), source / "shards" / "mp_metadata_pp_rank_1.json"):
        path.unlink()


def _norms(*values: float) -> Callable[[Path], None]:
    """Another value of the last norm on each rank."""

    def change(source: Path) -> None:
        for rank, value in enumerate(values):
            content = torch.load(source / RANK.format(rank), weights_only=True)
            content["model.norm.weight"].fill_(value)
            torch.save(content, source / RANK.format(rank))

    return change


def _drifted(source: Path) -> None:
    content = torch.load(source / RANK.format(0), weights_only=True)
    content["model.layers.0.self_attn.qkv_proj.weight_k"].fill_(1)
    torch.save(content, source / RANK.format(0))


def _wrong_multiplier(metadata: Any) -> None:
    for entry in metadata["model_weight_transformation_specs"][::2]:
        entry["specs"][0][1] |= {"kv_size_multiplier": 4, "kv_output_size_per_partition": 8}


def _another_tool(source: Path) -> None:
    shutil.rmtree(source)
    source.mkdir()
    (source / "model.gguf").touch()


def _occupied(source: Path) -> None:
    source.with_name("destination").mkdir()
    (source.with_name("destination") / "notes.txt").touch()


def _write_that_raises(error: BaseException) -> Any:
    return mock.patch("neuron_shim.checkpoint.safetensors_file._write", side_effect=error)


DAMAGES = (
    Damage("The file of a rank is missing", "plain", lambda source: (source / RANK.format(1)).unlink()),
    Damage("The files of a pipeline stage are missing", "stages", _stage_lost),
    Damage("The metadata of a stage are missing", "stages", lambda source: (source / METADATA).unlink()),
    Damage(
        "A tensor that xser keeps in a file of its own is missing",
        "xser",
        lambda source: (source / f"{RANK.format(1)}.tensors" / "tensor_3.pt").unlink(),
    ),
    Damage("Saving did not come to its end", "xser", lambda source: (source / "shards" / "done").unlink()),
    Damage("A shard is cut short", "plain", lambda source: cut(source / RANK.format(1), 5000)),
    Damage("A shard is empty", "plain", lambda source: cut(source / RANK.format(1), 0)),
    Damage(
        "A file was cloned without Git LFS",
        "plain",
        lambda source: (source / RANK.format(1)).write_text("version https://git-lfs.github.com/spec/v1\n"),
    ),
    Damage("The metadata are cut short", "plain", lambda source: (source / METADATA).write_text('{"parameters": {')),
    Damage("The ranks are of two runs or steps", "plain", _norms(1, 2)),
    Damage(
        "The file of one rank is there twice",
        "plain",
        lambda source: shutil.copy(source / RANK.format(0), source / RANK.format(1)),
    ),
    Damage("Two checkpoints are in one folder", "plain", lambda source: (source / "tensor_parallel_shards").mkdir()),
    Damage(
        "The metadata do not fit the shapes",
        "plain",
        lambda source: change_json(
            source / METADATA,
            lambda told: told["model_weight_transformation_specs"][1]["specs"][0][1].update(original_dims=[64, 64]),
        ),
    ),
    Damage(
        "The multiplier of the key/value heads is wrong",
        "multiplied",
        lambda source: change_json(source / METADATA, _wrong_multiplier),
    ),
    Damage("Copies of a key/value head have drifted apart", "multiplied", _drifted),
    Damage("There is no config", "plain", lambda source: (source / "config.json").unlink()),
    Damage(
        "The config is of another model",
        "plain",
        lambda source: change_json(source / "config.json", lambda config: config.update(intermediate_size=96)),
    ),
    Damage(
        "A file would run code",
        "plain",
        lambda source: hostile(source / RANK.format(1), pickle.dumps(Attack(exec, "raise SystemExit"), protocol=2)),
    ),
    Damage("The folder is of another tool", "plain", _another_tool),
    Damage("The destination exists", "plain", _occupied),
    Damage(
        "The disk is too small",
        "plain",
        around=mock.patch("shutil.disk_usage", return_value=mock.Mock(free=10_000_000)),
    ),
    Damage("A number is too large for the dtype", "plain", _norms(1e6, 1e6), ("--dtype", "fp16")),
    Damage("The disk is full", "plain", around=_write_that_raises(OSError(errno.ENOSPC, "No space left on device"))),
    Damage("The disk fails", "plain", around=mock.patch("os.fsync", side_effect=OSError(errno.EIO, "I/O error"))),
    Damage("It is interrupted", "plain", around=_write_that_raises(KeyboardInterrupt())),
)


def messages(folder: Path) -> Iterator[tuple[Damage, str]]:
    """What the command says of each, in a folder that is still empty; nothing else in it may change by that."""
    for name, case in TREES.items():
        generator.write_json_model(models.described("llama", 2), case, folder / name)
    for number, damage in enumerate(DAMAGES):
        source, destination = folder / str(number) / "source", folder / str(number) / "destination"
        shutil.copytree(folder / damage.tree, source)
        damage.make(source)
        before = snapshot(source.parent)
        with damage.around, contextlib.redirect_stderr(io.StringIO()) as said:
            status = main(["export", str(source), str(destination), *damage.options])
        told = said.getvalue().replace(str(source), "SRC").replace(str(destination), "DST")
        assert status == (130 if told == "neuron-shim: interrupted.\n" else 1), damage.kind
        assert snapshot(source.parent) == before, damage.kind
        yield damage, told


def page(folder: Path) -> str:
    """The text of the page, made in a folder that is still empty."""
    parts = [BEGINNING]
    for damage, told in messages(folder):
        lines = textwrap.fill(told, 118, break_long_words=False, break_on_hyphens=False)
        parts.append(f"## {damage.kind}\n\n```text\n{lines}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        PAGE.write_text(page(Path(name)), encoding="utf-8")
