"""shards/mp_metadata_pp_rank_N.json of releases 0.2 to 0.4.5.

``parameters`` says how each parameter of the stage was cut, ``model_weight_transformation_specs`` which were fused or
multiplied (models/training/transformations_utils.py). 0.2.0 has no ``peft_type``; it is not needed. What was
transformed is told by the names in the files, never by the metadata alone: they also name what an adapter left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.layouts._consolidation import FusedLinears, GroupedQueries, Stage
from neuron_shim.checkpoint.layouts._names import in_files
from neuron_shim.checkpoint.source import read_json

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from pathlib import Path

    from neuron_shim.checkpoint.layouts._shards_folder import RanksFolder

METADATA = re.compile(r"mp_metadata_pp_rank_(?P<pp>\d+)\.json")


@dataclass(frozen=True)
class Metadata:
    path: Path
    cut: Mapping[str, int | None]
    """By name in the files, in the order of the model."""

    size: int | None
    """Tensor-parallel ranks, if anything was cut."""

    attention: tuple[GroupedQueries, ...]
    fused: tuple[FusedLinears, ...]


def read_metadata(path: Path) -> Metadata:
    """What one stage was made of.

    Raises:
        ExportError: it is not of this kind, or contradicts itself.
    """
    content = read_json(path)
    try:
        return _metadata(path, content)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise ExportError(
            f"{path} is not the metadata of a stage as releases 0.2 to 0.4.5 wrote it ({error!r})."
        ) from error


def _metadata(path: Path, content: Mapping[str, Any]) -> Metadata:
    cut: dict[str, int | None] = {}
    sizes: dict[int, str] = {}
    for full, told in content["parameters"].items():
        name = in_files(full)
        dim = int(told["partition_dim"]) if told["tensor_model_parallel"] else None
        if dim is not None:
            sizes.setdefault(int(told["num_partitions"]), name)
        if cut.get(name) is None:
            cut[name] = dim
    attention: list[GroupedQueries] = []
    fused: list[FusedLinears] = []
    for entry in content["model_weight_transformation_specs"]:
        module = in_files(entry["module_fully_qualified_name"])
        for kind, fields in entry["specs"]:
            if fields.get("tp_size") is not None:
                sizes.setdefault(int(fields["tp_size"]), module)
            if kind == "FusedLinearsSpec":
                fused.append(_fused(path, module, fields))
            elif kind == "GQAQKVColumnParallelLinearSpec":
                attention.append(_attention(path, module, fields))
            else:
                raise ExportError(f"{path} transforms {module} by a {kind}, which is not known here.")
    if len(sizes) > 1:
        (one, first), (other, second) = list(sizes.items())[:2]
        raise ExportError(
            f"{path} says that {first} was on {one} ranks and {second} on {other}: it contradicts itself."
        )
    return Metadata(path, cut, next(iter(sizes), None), tuple(attention), tuple(fused))


def _fused(path: Path, module: str, fields: Mapping[str, Any]) -> FusedLinears:
    if fields["fuse_axis"] not in (0, "column"):
        raise ExportError(
            f"{path} fuses {module}.{fields['fused_linear_name']} by columns, which no release could save."
        )
    return FusedLinears(
        module,
        _name(fields["fused_linear_name"]),
        tuple(map(_name, fields["linear_names"])),
        tuple(map(int, fields["original_dims"])),
    )


def _attention(path: Path, module: str, fields: Mapping[str, Any]) -> GroupedQueries:
    heads, kv_heads, multiplier, size = (
        int(fields[name]) for name in ("num_attention_heads", "num_key_value_heads", "kv_size_multiplier", "tp_size")
    )
    rows, rest = divmod(int(fields["q_output_size_per_partition"]) * size, heads)
    if rest or int(fields["kv_output_size_per_partition"]) * size != kv_heads * multiplier * rows:
        raise ExportError(
            f"{path} contradicts itself: {module} has {heads} query heads in {fields['q_output_size_per_partition']} "
            f"rows on each of {size} ranks, so {kv_heads} key/value heads with kv_size_multiplier {multiplier} have "
            f"{kv_heads * multiplier * rows / size:g} rows there, not {fields['kv_output_size_per_partition']}."
        )
    return GroupedQueries(
        module,
        fused=_name(fields["gqa_qkv_projection_name"]),
        query=_name(fields["query_projection_name"]),
        key=_name(fields["key_projection_name"]),
        value=_name(fields["value_projection_name"]),
        output=_name(fields["output_projection_name"]),
        heads=heads,
        kv_heads=kv_heads,
        multiplier=multiplier,
        head_rows=rows,
    )


def _name(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no name")
    return value


def metadata_in(folder: Path) -> tuple[str, ...]:
    """The names of the metadata files in a folder."""
    if not folder.is_dir():
        return ()
    return tuple(path.name for path in sorted(folder.iterdir()) if METADATA.fullmatch(path.name))


def stages_of(ranks: RanksFolder, *, partial: bool = False) -> tuple[list[Stage], list[str]]:
    """The stages, and remarks.

    Args:
        partial: the files hold some of the parameters only, as those of an adapter do.

    Raises:
        ExportError: a stage or a rank is missing, or a file is damaged.
    """
    metadata, notes = _by_stage(ranks)
    sizes = {some.size for some in metadata if some.size is not None}
    stages = []
    for number, some in enumerate(metadata):
        size = some.size or max(sizes, default=ranks.size)
        files = ranks.of_stage(number, size, why=f"says {some.path}")
        held = {in_files(name): name for name in files[0].names}
        names = [held[name] for name in some.cut if name in held]
        if not partial and len(names) < len(some.cut):
            missing = next(name for name in some.cut if name not in held)
            raise ExportError(
                f"{missing} is in {some.path}, but not in {files[0].path}: the files of two runs are mixed."
            )
        stages.append(Stage(files, names, some.cut, some.path, some.attention, some.fused))
    return stages, [*notes, *ranks.notes()]


def tensors_without_metadata(stages: Sequence[Stage], known: Container[str]) -> list[str]:
    """Tensors in the files that no stage names: a person put them there. Those of other stages are in every file."""
    named = {name for stage in stages for name in stage.cut}
    held = {in_files(name) for stage in stages for name in stage.ranks[0].names}
    return sorted(name for name in held - named if name not in known)


def _by_stage(ranks: RanksFolder) -> tuple[list[Metadata], list[str]]:
    """The metadata of each stage; a run over an earlier one with more stages leaves those of the latter behind."""
    paths = {int(match["pp"]): path for path in ranks.folder.iterdir() if (match := METADATA.fullmatch(path.name))}
    found: list[Metadata] = []
    names: set[str] = set()
    for number in range(len(paths)):
        if number not in paths:
            missing = ranks.folder / f"mp_metadata_pp_rank_{number}.json"
            raise ExportError(
                f"{missing} is missing, though there is that of stage {max(paths)}. Copy it from where it was written."
            )
        metadata = read_metadata(paths[number])
        if number and names.issuperset(metadata.cut):
            return found, [f"{metadata.path} was left over from an earlier run with more stages, and not used."]
        names.update(metadata.cut)
        found.append(metadata)
    return found, []
