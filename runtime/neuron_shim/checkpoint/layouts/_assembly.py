"""From the stages of a model-parallel run to a checkpoint: consolidated, fitted to the model, and complete."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.companions import has_tokenizer, tokenizer_in
from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.layouts import Request, small_files
from neuron_shim.checkpoint.layouts._consolidation import Stage, Whole, consolidated
from neuron_shim.checkpoint.layouts._target import GENERATION, Target
from neuron_shim.checkpoint.replicas import Replicas
from neuron_shim.checkpoint.source import Checkpoint
from neuron_shim.checkpoint.tensors import PIECE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from neuron_shim.checkpoint.stored import Stored

READ = ("shards/", "tensor_parallel_shards/", "adapter_shards/", "checkpoint/", "model.neuron")


@dataclass(frozen=True)
class Wholes:
    """The tensors of a checkpoint, each with the ways it can be made."""

    all: Sequence[Whole]

    def plan(self) -> tuple[str, ...]:
        """A line for each kind of tensor: layers are counted, not listed."""
        kinds: dict[tuple[str, str, tuple[int, ...], str], int] = {}
        for some in self.all:
            tensor = some.tensor()
            key = (re.sub(r"\.\d+\.", ".*.", some.name), some.how, tensor.shape, tensor.dtype)
            kinds[key] = kinds.get(key, 0) + 1
        return tuple(
            f"{name}{f' x {count}' if count > 1 else ''}: {list(shape)} {dtype}, {how}"
            for (name, how, shape, dtype), count in kinds.items()
        )

    def replicas(self) -> tuple[Replicas, ...]:
        return tuple(
            Replicas(some.name, tuple(some.tensor(copy) for copy in range(len(some.copies))), some.kv)
            for some in self.all
            if len(some.copies) > 1
        )


def whole_model(
    layout: str, root: Path, stages: Sequence[Stage], target: Target, request: Request, notes: Sequence[str]
) -> Checkpoint:
    """The checkpoint of a full model.

    Raises:
        ExportError: something is missing, or does not fit the model.
    """
    target = with_vocabulary(target, stages)
    stages, dropped = _without_buffers(stages, target)
    if dropped:
        why = f"{target.kind} has no such parameters"
        if target.model is None:
            why = f"{stages[0].metadata.name} does not say how they were cut"
        notes = [*notes, f"Left out, because {why}: {some_of(dropped)}."]
    wholes = _unique(stages, target)
    overruled = [some.name for some in wholes if some.overruled]
    if overruled:
        said = stages[0].metadata.name
        notes = [*notes, f"Joined as the shapes of the model ask, not as {said} says: {some_of(overruled)}."]
    return model_of(layout, root, wholes, target, request, notes)


def model_of(
    layout: str, root: Path, tensors: Sequence[Whole], target: Target, request: Request, notes: Sequence[str]
) -> Checkpoint:
    """The checkpoint that these tensors make, with what belongs beside them.

    Raises:
        ExportError: something is missing, or does not fit the model.
    """
    wholes = _fitted(target, tensors, root)
    config, made = target.files()
    companions, left, remarks = beside(root, config, request)
    for name, content in made.items():
        companions.setdefault(name, content)
    _switch_cache_on(companions)
    checkpoint = Checkpoint(
        layout,
        tuple(some.tensor() for some in wholes.all),
        config,
        companions,
        left_behind=left,
        notes=(*target.notes, *notes, *remarks),
        replicas=wholes.replicas(),
        plan=wholes.plan(),
        independent=True,
    )
    copies = {len(some.copies) for some in wholes.all if some.kv}
    if len(copies) != 1 or target.kv_heads is None:
        return checkpoint

    def widened() -> Checkpoint:
        heads = (target.kv_heads or 0) * max(copies)
        return replace(
            checkpoint,
            tensors=tuple(some.widened() if some.kv else some.tensor() for some in wholes.all),
            config={**config, "num_key_value_heads": heads},
        )

    return replace(checkpoint, widened=widened)


def consolidated_adapter(
    layout: str, stages: Sequence[Stage], config: Mapping[str, Any], base: Mapping[str, tuple[int, ...]]
) -> Checkpoint:
    """The tensors of an adapter, their copies and the plan.

    Args:
        base: shapes of the model that it was trained on, as far as they are known.

    Raises:
        ExportError: the files do not fit each other, the metadata or the model.
    """
    found: dict[str, Whole] = {}
    for stage in stages:
        for some in consolidated(stage, _adapter_shapes(stage, base), None):
            if some.name in found:
                raise ExportError(
                    f"{some.name} is in two stages, such as {some.copies[0][0].source.path}: the files of two runs "
                    f"are mixed."
                )
            found[some.name] = some
    if not found:
        raise ExportError(f"{stages[0].ranks[0].path} and the others hold no tensor that {stages[0].metadata} knows.")
    wholes = Wholes(list(found.values()))
    for some in wholes.all:
        _check_against_base(some, base)
    return Checkpoint(
        layout,
        tuple(some.tensor() for some in wholes.all),
        config,
        {},
        is_adapter=True,
        replicas=wholes.replicas(),
        plan=wholes.plan(),
    )


_OF_ADAPTER = re.compile(r"base_model\.model\.(?P<module>.+)\.(?P<kind>lora_A|lora_B)\.weight")


def _adapter_shapes(stage: Stage, base: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """What the tensors of an adapter become, its own rank being what it is in the files."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name in stage.names:
        match = _OF_ADAPTER.fullmatch(name)
        weight = base.get(f"{match['module']}.weight") if match else None
        if match is None:
            plain = name.removeprefix("base_model.model.")
            if plain in base:
                shapes[name] = base[plain]
        elif weight is not None and len(weight) == 2:
            local = stage.ranks[0].tensor(name).shape
            if len(local) == 2:
                shapes[name] = (local[0], weight[1]) if match["kind"] == "lora_A" else (weight[0], local[1])
    return shapes


def _check_against_base(some: Whole, base: Mapping[str, tuple[int, ...]]) -> None:
    match = _OF_ADAPTER.fullmatch(some.name)
    weight = base.get(f"{match['module']}.weight") if match else None
    if match is None or weight is None or len(weight) != 2:
        return
    shape = some.tensor().shape
    held, needed = (shape[1], weight[1]) if match["kind"] == "lora_A" else (shape[0], weight[0])
    if held != needed:
        raise ExportError(
            f"{some.name} becomes {list(shape)} out of {some.copies[0][0].source.path} and the others, but its weight "
            f"in the base model is {list(weight)}: they do not belong together."
        )


def some_of(names: Sequence[str]) -> str:
    """The first three of them, and how many more there are."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _switch_cache_on(companions: dict[str, Path | bytes]) -> None:
    """Training turns the cache off, and some releases saved that."""
    content = companions.get(GENERATION)
    if content is None:
        return
    text = content if isinstance(content, bytes) else content.read_bytes()
    changed = re.sub(rb'("use_cache"\s*:\s*)false', rb"\1true", text)
    if changed != text:
        companions[GENERATION] = changed


def beside(
    root: Path, config: Mapping[str, Any], request: Request
) -> tuple[dict[str, Path | bytes], tuple[str, ...], tuple[str, ...]]:
    """The small files of a folder; what it lacks, the one that lends the config may have."""
    companions, left, remarks = small_files(root, config, request)
    left = tuple(name for name in left if name not in READ)
    lender = request.config_from
    if lender is not None and lender.is_dir():
        if (lender / GENERATION).is_file():
            companions.setdefault(GENERATION, lender / GENERATION)
        if not has_tokenizer(companions) and (found := tokenizer_in(lender)):
            return {**found, **companions}, left, ()
    return companions, left, remarks


# --- the vocabulary


def with_vocabulary(target: Target, stages: Sequence[Stage]) -> Target:
    """The config of a release before 0.2 may give the vocabulary of one rank, or that of all times their number."""
    name = target.embedding
    if name is None:
        return target
    for stage in stages:
        if name in stage.names:
            rows = _rows(stage, name, target.shapes[name][0])
            said = target.config.get("vocab_size")
            if isinstance(said, int) and said != rows and said == target.shapes[name][0]:
                note = f"config.json says vocab_size: {rows} now, as the embedding has rows; it said {said}."
                return target.with_setting("vocab_size", rows, note)
            return target
    return target


def _rows(stage: Stage, name: str, said: int) -> int:
    parts = [rank.tensor(name) for rank in stage.ranks]
    local, size = parts[0].shape[0], len(parts)
    if size == 1 or stage.cut.get(name) == 1:
        return local
    if stage.cut.get(name) == 0:
        return local * size
    # The metadata say that all ranks have all of it. They lie for what was initialised anew, up to 0.0.26.
    if local == said or _begin_alike(name, parts[0], parts[1]):
        return local
    return local * size


def _begin_alike(name: str, one: Stored, other: Stored) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    count = max(1, min(one.shape[0], PIECE // max(1, one.row)))
    first, second = (b"".join(bytes(piece) for piece in part.rows(0, count)) for part in (one, other))
    return first == second


# --- all of it, once


def _unique(stages: Sequence[Stage], target: Target) -> list[Whole]:
    """The tensors of all stages; a name that two stages have (tied embeddings) must hold the same."""
    found: dict[str, Whole] = {}
    kv_heads, shapes = target.kv_heads, target.shapes
    for stage in stages:
        for some in consolidated(stage, shapes, kv_heads):
            known = found.get(some.name)
            if known is None:
                found[some.name] = some
            elif known.tensor().shape == some.tensor().shape and known.dim == some.dim:
                found[some.name] = replace(known, copies=(*known.copies, *some.copies), how=f"{known.how}, twice")
            else:
                raise ExportError(
                    f"{some.name} is in stage {known.copies[0][0].source.path} and again, with another shape, in "
                    f"{some.copies[0][0].source.path}: the files of two runs are mixed."
                )
    return list(found.values())


def _without_buffers(stages: Sequence[Stage], target: Target) -> tuple[list[Stage], list[str]]:
    """Without what neither the metadata nor the model know: buffers that old releases of transformers saved."""
    known = target.shapes
    kept, dropped = [], []
    for stage in stages:
        special = (
            *(f"{some.module}.{some.fused}." for some in stage.attention),
            *(f"{some.module}.{some.fused}." for some in stage.fused),
        )
        names = [name for name in stage.names if name in known or name in stage.cut or name.startswith(special)]
        dropped += sorted(set(stage.names).difference(names))
        kept.append(replace(stage, names=names))
    return kept, dropped


def _fitted(target: Target, wholes: Sequence[Whole], root: Path) -> Wholes:
    """The wholes if they are those of the model."""
    if target.model is None:
        return Wholes(wholes)
    shapes = target.shapes
    held = {some.name for some in wholes}
    if missing := sorted(target.required - held):
        raise ExportError(
            f"{missing[0]} is in no file of {root}: {len(missing)} of the {len(target.required)} tensors of "
            f"{target.kind} are missing. The files of a pipeline stage are not there, or the config is of another "
            f"model."
        )
    if strangers := [some for some in wholes if some.name not in shapes]:
        raise ExportError(
            f"{strangers[0].name} in {strangers[0].copies[0][0].source.path} has no place in {target.kind}: the "
            f"shards and the config are of different models."
        )
    for some in wholes:
        if (shape := some.tensor().shape) != shapes[some.name]:
            raise ExportError(
                f"{some.name} becomes {list(shape)} out of {some.copies[0][0].source.path} and the others, but the "
                f"config makes it {list(shapes[some.name])}: the shards and the config are of different models."
            )
        for copy in range(1, len(some.copies)):
            some.tensor(copy)
    return Wholes(wholes)
