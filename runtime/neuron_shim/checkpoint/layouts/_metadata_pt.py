"""How releases up to 0.1.0 noted what was cut: ``sharded_metadata`` and, from 0.0.21 on, ``gqa_qkv_metadata``.

"tied" there means that all ranks have all of it, and is also said of what lost its note when it was initialised anew
(up to 0.0.26); the shapes of the model decide. A second name of a tied tensor is not in the metadata.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.layouts._consolidation import GroupedQueries, Stage
from neuron_shim.checkpoint.layouts._names import in_files
from neuron_shim.checkpoint.layouts._rank_files import ranks_of, stale, stale_note

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from neuron_shim.checkpoint.layouts._rank_files import RankFile

_PROJECTION = re.compile(r"(?P<module>.+)\.(?P<fused>[^.]+)\.(?:weight|bias)_(?P<part>qkv|q|k|v)")


def stages_of(
    files: Mapping[tuple[int, int], Path],
    load: Callable[[Path], RankFile],
    metadata_of: Callable[[int, RankFile], tuple[Path, Any]],
    shapes: Mapping[str, tuple[int, ...]],
) -> tuple[list[Stage], list[str]]:
    """The stages of a run, and remarks.

    Args:
        load: reads the file of a rank.
        metadata_of: where the metadata of a stage are, and what they are; given the number and the file of rank 0.
        shapes: of the model, as far as they are known; they tell how many ranks there were.

    Raises:
        ExportError: a rank is missing, a file is damaged, or the metadata are of another kind.
    """
    stages: list[Stage] = []
    names: set[str] = set()
    used: list[Path] = []
    count = max(stage for _, stage in files) + 1
    for number in range(count):
        [path] = ranks_of(files, number, 1, why=f"{count} stages")
        first = load(path)
        if number and names.issuperset(first.names):
            break  # a run with fewer stages was saved over one with more
        names.update(first.names)
        where, content = metadata_of(number, first)
        try:
            cut = _cut(content["sharded_metadata"])
            size = _size(files, number, first, cut, shapes)
            attention = _attention(content.get("gqa_qkv_metadata") or {}, size)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ExportError(f"{where} holds no metadata as releases up to 0.1.0 wrote them ({error!r}).") from error
        paths = ranks_of(files, number, size, why="as the shapes tell" if shapes else "as the other files tell")
        used += paths
        ranks = [first, *(load(path) for path in paths[1:])]
        stages.append(Stage(ranks, [in_files(name) for name in first.names], cut, where, attention))
    return stages, list(stale_note(stale(files, used)))


def _cut(told: Mapping[str, Any]) -> dict[str, int | None]:
    cut: dict[str, int | None] = {}
    for full, fields in told.items():
        name = in_files(full)
        dim = int(fields["partition_dim"]) if fields["kind"] == "sharded" else None
        if cut.get(name) is None:
            cut[name] = dim
    return cut


def _size(
    files: Mapping[tuple[int, int], Path],
    stage: int,
    first: RankFile,
    cut: Mapping[str, int | None],
    shapes: Mapping[str, tuple[int, ...]],
) -> int:
    """Tensor-parallel ranks: what most of the cut tensors need to become whole; without a model, as many as are there.

    The vocabulary is left to the others, since the config may be wrong about it.
    """
    votes: Counter[int] = Counter()
    for name, dim in cut.items():
        if dim is not None and name in shapes and name in first:
            local = first.tensor(name).shape
            if dim < len(local) and local[dim]:
                size, rest = divmod(shapes[name][dim], local[dim])
                if not rest and size:
                    votes[size] += 1
    if votes:
        return votes.most_common(1)[0][0]
    return max(rank for rank, number in files if number == stage) + 1


def _attention(told: Mapping[str, Any], size: int) -> tuple[GroupedQueries, ...]:
    """The attention modules whose key/value heads were multiplied."""
    outputs: dict[str, str] = {}
    for full in told.get("output_projections_names") or ():
        module, _, name = re.sub(r"\.(weight|bias)$", "", in_files(full)).rpartition(".")
        outputs[module] = name
    found: dict[tuple[str, str], dict[str, str]] = {}
    for original, replaced in dict(told.get("original_names_to_gqa_qkv_names") or {}).items():
        match = _PROJECTION.fullmatch(in_files(replaced))
        if match is None:
            raise ValueError(f"{replaced} is no name of a projection")
        projection = in_files(original).rsplit(".", 2)[-2]
        part = match["part"] if match["part"] != "qkv" else projection[0]
        found.setdefault((match["module"], match["fused"]), {})[part] = projection
    heads, kv_heads, multiplier = (
        told.get(name) for name in ("num_attention_heads", "num_key_value_heads", "kv_size_multiplier")
    )
    rows = told.get("q_output_size_per_partition")
    return tuple(
        GroupedQueries(
            module,
            fused,
            query=names["q"],
            key=names["k"],
            value=names["v"],
            output=outputs.get(module, "o_proj"),
            heads=int(heads or 0),
            kv_heads=int(kv_heads or 0),
            multiplier=int(multiplier or 0),
            head_rows=int(rows) * size // int(heads) if rows and heads else None,
        )
        for (module, fused), names in found.items()
    )
