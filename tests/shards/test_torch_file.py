"""Files of torch.save are understood without torch, and what is wrong with one is said."""

from __future__ import annotations

import collections
import os
import pickle
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.safetensors_file import read_header
from neuron_shim.checkpoint.source import read_json
from neuron_shim.checkpoint.stored import Stored
from neuron_shim.checkpoint.torch_file import Reference, read_torch_file

from . import generator


def test_what_checkpoints_hold(tmp_path: Path) -> None:
    values = {
        "size": torch.Size([2, 3]),
        "dtype": torch.bfloat16,
        "bytes": b"\xff\x00",
        "set": {"a"},
        "ordered": collections.OrderedDict(a=1),
        "numbers": [1, 2.5, None, True, (3,)],
    }
    tensors = {
        "plain": torch.ones(2, 3, dtype=torch.bfloat16),
        "unsigned": torch.ones(2, dtype=torch.uint16),  # which torch has no storage class for
        "parameter": torch.nn.Parameter(torch.ones(4)),
        "view": torch.arange(12).reshape(3, 4)[1:, ::2],
        "empty": torch.ones(0, 5),
    }
    torch.save({**values, **tensors}, tmp_path / "file")
    found = read_torch_file(tmp_path / "file")
    assert {name: found[name] for name in values} == {**values, "size": (2, 3), "dtype": "BF16"}
    told = {name: (found[name].dtype, found[name].shape, found[name].strides) for name in tensors}
    assert told == {
        "plain": ("BF16", (2, 3), (3, 1)),
        "unsigned": ("U16", (2,), (1,)),
        "parameter": ("F32", (4,), (1,)),
        "view": ("I64", (2, 2), (4, 2)),
        "empty": ("F32", (0, 5), (5, 1)),
    }
    assert all(isinstance(found[name], Stored) for name in tensors)


def test_reference(tmp_path: Path) -> None:
    with generator.torch_xla():
        torch.save(generator.TensorReference(7), tmp_path / "file")
    found = read_torch_file(tmp_path / "file")
    assert isinstance(found, Reference)
    assert found.tid == 7


def rewritten(path: Path, changes: Mapping[str, bytes | None], compression: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in {**parts, **changes}.items():
            if content is not None:
                archive.writestr(f"archive/{name}", content)


def reduced(call: str, *arguments: Any) -> bytes:
    """A pickle that calls what has such a name, in two lines."""
    given = pickle.dumps(arguments, protocol=2)[2:-1]
    return b"\x80\x02c" + call.encode() + b"\n" + given + b"R."


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"data.pkl": None}, "was not written by torch.save: it has no data.pkl."),
        ({"byteorder": b"big"}, "was written on a machine with another byte order."),
        ({"data/0": b"1234567"}, "is damaged: data/0 should have 16 bytes, but has 7."),
        ({"data/0": None}, "is damaged: its description of the tensors cannot be read ("),
        (
            {"data.pkl": b"\x80\x02U\x01aQ."},
            "is damaged: its description of the tensors cannot be read (a tensor with",
        ),
        ({"data.pkl": reduced("_codecs\nencode", "a", "rot13")}, "cannot be read (bytes in rot13)."),
        (
            {"data.pkl": reduced("torch._utils\n_rebuild_tensor", 1)},
            "names torch._utils._rebuild_tensor in its pickle",
        ),
        ({"data.pkl": reduced("torch._utils\n_rebuild_tensor_v2", 1, 0, (1,), (1,))}, "has no attribute 'dtype'"),
        ({"data.pkl": reduced("torch\nload", "x")}, "names torch.load in its pickle"),
    ],
    ids=range(9),
)
def test_damaged(changes: dict[str, bytes | None], told: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    torch.save({"weight": torch.ones(4)}, path)
    rewritten(path, changes)
    with pytest.raises(ExportError) as caught:
        read_torch_file(path)
    assert str(caught.value).startswith(str(path))
    assert told in str(caught.value)


def test_bomb(tmp_path: Path) -> None:
    path = tmp_path / "file"
    torch.save({"weight": torch.ones(4)}, path)
    rewritten(path, {"data.pkl": b"\0" * 10_000_000}, zipfile.ZIP_DEFLATED)
    with pytest.raises(ExportError, match=r"file is compressed, which torch\.save never does\.$"):
        read_torch_file(path)


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        (24, 1 << 24, "is cut short: archive/data.pkl ends at byte 167"),  # the size
        (42, 5, "is damaged: archive/data.pkl is not where the table of contents says."),  # the place
        (42, 1 << 31, "is damaged: archive/data.pkl is not where the table of contents says."),
    ],
)
def test_table_of_contents_that_lies(field: int, value: int, told: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    torch.save({"weight": torch.ones(4)}, path)
    rewritten(path, {})
    content = bytearray(path.read_bytes())
    entry = content.index(b"PK\x01\x02")
    content[entry + field : entry + field + 4] = value.to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(ExportError) as caught:
        read_torch_file(path)
    assert told in str(caught.value)


def test_missing_and_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"nothing is missing\.$"):
        read_torch_file(tmp_path / "nothing")
    with pytest.raises(ExportError, match=r" is not a file\.$"):
        read_torch_file(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("read", [read_torch_file, read_header, read_json])
def test_pipe(read: Callable[[Path], Any], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "file")
    with pytest.raises(ExportError, match=r"file is not a file\.$"):
        read(tmp_path / "file")
