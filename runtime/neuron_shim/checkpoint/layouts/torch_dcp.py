"""What torch.distributed.checkpoint writes by itself: .metadata and __N_M.distcp.

accelerate saves a model sharded by its FSDP plugin so, in a folder pytorch_model_fsdp_0
(accelerate/utils/fsdp_utils.py, ``save_fsdp_model``). The names in memory are the last part of each path that the
metadata records.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from neuron_shim.checkpoint.dtypes import code_of
from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.layouts import Request, config_of, small_files
from neuron_shim.checkpoint.layouts._in_memory_names import Expected
from neuron_shim.checkpoint.source import Checkpoint
from neuron_shim.checkpoint.tensors import Tensor, buffers_of
from neuron_shim.checkpoint.torch_file import DAMAGED, bounded

NAME = "a torch distributed checkpoint"
METADATA = ".metadata"
ACCELERATE = "pytorch_model_fsdp_0"
_CONTAINERS = ("", "model", "state_dict")


def evidence(source: Any) -> tuple[str, ...]:
    if not isinstance(source, Path):
        return ()
    folder = _folder(source)
    return tuple(path.name for path in sorted(folder.iterdir()) if path.suffix == ".distcp" or path.name == METADATA)


def _folder(source: Path) -> Path:
    return source / ACCELERATE if (source / ACCELERATE).is_dir() else source


def open_checkpoint(source: Path, request: Request) -> Checkpoint:
    folder = _folder(source)
    metadata = _metadata(folder)
    config = config_of(source, request)
    expected = Expected(config)
    tensors = _tensors(folder, metadata)
    expected.check_names((tensor.name for tensor in tensors), folder)
    for tensor in tensors:
        shape = expected.shape(tensor.name)
        if shape is not None and shape != tensor.shape:
            raise ExportError(f"{tensor.name} is {list(tensor.shape)} in {folder}, but the config says {list(shape)}.")
    companions, left, notes = small_files(source, config, request)
    return Checkpoint(
        NAME,
        expected.as_in_files(tensors),
        config,
        companions,
        left_behind=tuple(name for name in left if not name.endswith(".distcp") and name != f"{ACCELERATE}/"),
        notes=(*expected.notes, *notes),
    )


def _tensors(folder: Path, metadata: Any) -> tuple[Tensor, ...]:
    from torch.distributed.checkpoint.metadata import TensorStorageMetadata

    _check_files(folder, metadata)
    paths = metadata.planner_data or {}
    tensors = []
    for key, stored in metadata.state_dict_metadata.items():
        path = paths.get(key, (key,))
        if len(path) > 1 and path[0] not in _CONTAINERS:
            continue  # an optimizer saved along
        if not isinstance(stored, TensorStorageMetadata):
            continue
        size = tuple(stored.size)
        tensors.append(
            Tensor(str(path[-1]), code_of(stored.properties.dtype), size, folder.name, _reader(folder, metadata, key))
        )
    if not tensors:
        raise ExportError(
            f"{folder} holds no model: its entries begin with {next(iter(paths.values()), ('nothing',))[0]}."
        )
    return tuple(tensors)


def _check_files(folder: Path, metadata: Any) -> None:
    ends: dict[str, int] = {}
    for place in metadata.storage_data.values():
        ends[place.relative_path] = max(ends.get(place.relative_path, 0), place.offset + place.length)
    for name, end in sorted(ends.items()):
        path = folder / name
        if path.name != name:
            raise ExportError(f"{folder / METADATA} names {name}, which is not a file beside it.")
        if not path.is_file():
            raise ExportError(f"{path} is missing: {METADATA} names {len(ends)} files.")
        if (length := path.stat().st_size) < end:
            raise ExportError(f"{path} is cut short: {METADATA} counts {end} bytes, the file has {length}.")
    if strangers := sorted(path.name for path in folder.glob("*.distcp") if path.name not in ends):
        raise ExportError(f"{folder} holds {strangers[0]}, which {METADATA} does not name: two runs are mixed.")


def _reader(folder: Path, metadata: Any, key: str) -> Any:
    """Reads one tensor, by torch's own reader: it knows how the blocks were cut and encoded."""

    def pieces() -> Any:
        import warnings

        import torch
        from torch.distributed import checkpoint
        from torch.distributed.checkpoint import FileSystemReader

        class Reader(FileSystemReader):  # type: ignore[misc]  # torch is not typed here
            def read_metadata(self, *_: Any, **__: Any) -> Any:
                return metadata

        stored = metadata.state_dict_metadata[key]
        value = torch.empty(stored.size, dtype=stored.properties.dtype)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="torch.distributed is", category=UserWarning)
            checkpoint.load({key: value}, storage_reader=Reader(str(folder)), no_dist=True)
        yield from buffers_of(value)

    return pieces


class _Unpickler(pickle.Unpickler):
    """The metadata is a pickle of dataclasses: these are let in, and nothing that could run code."""

    ALLOWED = (
        *("torch.distributed.checkpoint.metadata", "torch.distributed.checkpoint.filesystem"),
        *("torch.distributed._shard.sharding_spec.chunk_sharding_spec",),
    )
    NAMES = frozenset(
        {
            *(("torch", "Size"), ("torch.serialization", "_get_layout"), ("collections", "OrderedDict")),
            *(("builtins", "set"), ("pathlib", "PosixPath"), ("pathlib", "PurePosixPath"), ("pathlib", "Path")),
            *(("pathlib._local", "PosixPath"), ("pathlib._local", "PurePosixPath")),
        }
    )

    def find_class(self, module: str, name: str) -> Any:
        import torch

        if module == "torch" and isinstance(getattr(torch, name, None), (torch.dtype, torch.layout)):
            return getattr(torch, name)
        if (module, name) in self.NAMES or (module in self.ALLOWED and name[:1] in "_ABCDEFGHIJKLMNOPQRSTUVWXYZ"):
            found = super().find_class(module, name)
            if (module, name) in self.NAMES or (isinstance(found, type) and found.__module__ == module):
                return found
        raise ExportError(f"The metadata of the checkpoint names {module}.{name}, which is not let in.")


def _metadata(folder: Path) -> Any:
    path = folder / METADATA
    if not path.is_file():
        raise ExportError(f"{path} is missing: the checkpoint was interrupted while it was saved.")
    try:
        return _Unpickler(bounded(path.read_bytes())).load()
    except (OSError, *DAMAGED) as error:
        raise ExportError(f"{path} cannot be read: {error}.") from error
