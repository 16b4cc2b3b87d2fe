"""Adapters that were trained with Optimum Neuron: adapter_shards/ beside an adapter_config.json.

Releases 0.0.24 to 0.1.0 keep the default adapter in the folder itself and others in folders of their name, with
pickled metadata. From 0.2.1 on every adapter is in adapter_NAME/, with metadata in JSON, which list what the model has
rather than what the adapter has: only tensors that are in the files count.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.companions import has_tokenizer, tokenizer_in
from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.layouts import Request, _metadata_json, _metadata_pt, adapter_config_of, small_files
from neuron_shim.checkpoint.layouts._assembly import consolidated_adapter
from neuron_shim.checkpoint.layouts._shards_folder import (
    ADAPTER_SHARDS,
    opened,
    pickled_metadata,
    pickled_metadata_in,
    rank_file,
    root_of,
)
from neuron_shim.checkpoint.layouts._target import target_of
from neuron_shim.checkpoint.source import CONFIG, Checkpoint, read_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_shim.checkpoint.layouts._consolidation import Stage

NAME = "a model-parallel adapter of Optimum Neuron"
IS_ADAPTER = True
PREFIX = "adapter_"
DEFAULT = "default"


def evidence(source: Any) -> tuple[str, ...]:
    if not isinstance(source, Path):
        return ()
    return tuple(f"{folder.name}/{ADAPTER_SHARDS}/" for folder in adapters_in(source).values())


def adapters_in(source: Path) -> dict[str, Path]:
    """The folder of each adapter, by its name."""
    source = root_of(source, ADAPTER_SHARDS)
    found: dict[str, Path] = {}
    if (source / ADAPTER_SHARDS).is_dir():
        own = source.name.removeprefix(PREFIX) if source.name.startswith(PREFIX) else DEFAULT
        found[own or DEFAULT] = source
    for folder in sorted(source.iterdir()) if source.is_dir() else []:
        if (folder / ADAPTER_SHARDS).is_dir():
            found.setdefault(folder.name.removeprefix(PREFIX), folder)
    return found


def open_checkpoint(source: Path, request: Request) -> Checkpoint:
    folder = _chosen(source, request.adapter)
    config = adapter_config_of(folder)
    shapes = _shapes_of_base(config, request)
    stages, notes = _stages(folder / ADAPTER_SHARDS)
    checkpoint = consolidated_adapter(NAME, stages, config, shapes)
    companions, left, remarks = small_files(folder, config, request)
    if not has_tokenizer(companions) and (found := tokenizer_in(folder.parent)):
        companions, remarks = {**found, **companions}, ()
    extra = [tensor.name for tensor in checkpoint.tensors if ".lora_" not in tensor.name]
    if extra:
        notes.append(
            f"{', '.join(extra[:3])}{f' and {len(extra) - 3} more' if len(extra) > 3 else ''} are whole weights that "
            f"were saved with the adapter, and are kept in it."
        )
    return Checkpoint(
        NAME,
        checkpoint.tensors,
        config,
        companions,
        is_adapter=True,
        independent=True,
        left_behind=tuple(name for name in left if name != f"{ADAPTER_SHARDS}/"),
        notes=(*notes, *remarks),
        replicas=checkpoint.replicas,
        plan=checkpoint.plan,
    )


def _chosen(source: Path, name: str | None) -> Path:
    found = adapters_in(source)
    if name is None and len(found) > 1:
        raise ExportError(f"{source} holds the adapters {', '.join(found)}: choose one (--adapter NAME).")
    if name is not None and name not in found:
        raise ExportError(f"{source} holds no adapter {name}, but {', '.join(found)}.")
    return found[name] if name is not None else next(iter(found.values()))


def _stages(folder: Path) -> tuple[list[Stage], list[str]]:
    ranks = opened(folder)
    in_json, pickled = _metadata_json.metadata_in(folder), pickled_metadata_in(folder)
    if in_json and pickled:
        raise ExportError(f"{folder} holds {in_json[0]} and {pickled[0]}: the files of two runs are mixed.")
    if in_json:
        return _metadata_json.stages_of(ranks, partial=True)
    if not pickled:
        raise ExportError(f"{folder / 'mp_metadata_pp_rank_0.json'} is missing, which says how the adapter was cut.")
    return _metadata_pt.stages_of(ranks.files, rank_file, pickled_metadata(folder), {})


def _shapes_of_base(config: Mapping[str, Any], request: Request) -> dict[str, tuple[int, ...]]:
    """Shapes of the model that the adapter was trained on, if it is at hand."""
    named = config.get("base_model_name_or_path")
    for lender in (request.config_from, Path(named) if named else None, request.files_from):
        path = lender / CONFIG if lender is not None and lender.is_dir() else lender
        if path is not None and path.is_file():
            return target_of(read_json(path)).shapes
    return {}
