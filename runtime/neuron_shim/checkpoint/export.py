"""Bring a checkpoint into the form that every tool reads: safetensors, config, tokenizer."""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.config import finished_config
from neuron_shim.checkpoint.destination import Destination
from neuron_shim.checkpoint.dtypes import WEIGHT_DTYPES, bits_of, requested
from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.layouts import Request, open_source
from neuron_shim.checkpoint.layouts.live_model import parallel_device
from neuron_shim.checkpoint.optimizer import NAME as OPTIMIZER
from neuron_shim.checkpoint.optimizer import OptimizerState, write_optimizer
from neuron_shim.checkpoint.progress import Counter, silent
from neuron_shim.checkpoint.ranks import Ranks
from neuron_shim.checkpoint.replicas import CHOICES, settled
from neuron_shim.checkpoint.safetensors_file import write_file
from neuron_shim.checkpoint.sharding import parse_size, split
from neuron_shim.checkpoint.source import Checkpoint
from neuron_shim.checkpoint.tensors import Tensor, cast
from neuron_shim.checkpoint.tied import without_duplicates
from neuron_shim.checkpoint.verify import Verifier

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from neuron_shim.checkpoint.progress import Progress

MAX_SHARD_SIZE = "5GB"
JOBS = 2


@dataclass(frozen=True)
class ExportReport:
    """What was exported; of a dry run, what would be."""

    source: str
    destination: str
    layout: str
    tensors: int
    bytes: int
    """Of the weights at the destination."""

    files: Mapping[str, int]
    """Each file of weights and its tensors."""

    companions: tuple[str, ...]
    dropped: tuple[str, ...]
    """Tensors that the model ties to another, equal one."""

    left_behind: tuple[str, ...]
    notes: tuple[str, ...]
    plan: tuple[str, ...]
    """How the tensors are put together, a line for each kind; empty where they were whole."""

    seconds: float
    dry_run: bool
    optimizer_bytes: int = 0
    """Of the optimizer's state."""


def export_checkpoint(
    source: Any,
    destination: str | os.PathLike[str],
    *,
    dtype: Any = None,
    max_shard_size: int | str = MAX_SHARD_SIZE,
    merge_adapter: bool | str | os.PathLike[str] = False,
    adapter: str | None = None,
    config: str | os.PathLike[str] | None = None,
    tokenizer: Any = None,
    kv: str | None = None,
    optimizer: bool = False,
    master_weights: bool = False,
    jobs: int = JOBS,
    overwrite: bool = False,
    dry_run: bool = False,
    progress: Progress = silent,
) -> ExportReport | None:
    """Write ``source`` as plain safetensors with its config and tokenizer files, which any GPU loads.

        export_checkpoint("run/checkpoint-500", "model", dtype="bf16")
        export_checkpoint(trainer.model, "model", tokenizer=tokenizer)  # every rank calls it

    The layout of the source is found out from its files. Tensors go through one at a time: in memory are a few MiB of
    one that lies in one piece, the whole of one that is put together from blocks or from ranks. The result is read
    back (names, dtypes, shapes, checksums) before the destination appears, all at once, by a rename.

    Args:
        source: a folder that transformers, Trainer, PEFT, accelerate, torch.distributed.checkpoint or Optimum Neuron
            wrote, or a live model. If the live model is sharded, every rank has to call this. In all other cases only
            the main process works, and the others return at once.
        destination: a folder that does not exist yet or is empty.
        dtype: "bf16", "fp16", "fp32" or the torch.dtype; None leaves each tensor as it is. Integers never change.
        max_shard_size: bytes a file may have, such as "5GB"; a larger tensor has a file of its own. An adapter is
            always one file.
        merge_adapter: of an adapter: the folder of the model it was trained on, which is exported with the adapter in
            it. True takes the model under a live adapter, or the local folder that the adapter names.
        adapter: which one, where the source has several.
        config: a folder with the config.json (or that file) for a source that has none, such as shards of a pipeline.
        kv: what becomes of copies of key/value heads that should be equal and are not: "first" or "mean" of them, or
            "widened", a model in which each is a head of its own. None refuses them.
        optimizer: also convert the state of the optimizer that Optimum Neuron saved with a model, to an optimizer.pt
            from which Trainer resumes in a process or with data parallelism. It is twice as large as the weights in
            fp32.
        master_weights: instead of the weights in the files, take those in fp32 that ZeRO-1 saved with its state, and
            from which the others were rounded.
        tokenizer: an object with ``save_pretrained`` or a folder, for a source without tokenizer files. A folder also
            lends its config.json if the source has none.
        jobs: how many tensors are written at once, where they lie in files.
        overwrite: replace an exported checkpoint at the destination, after the new one was verified.
        dry_run: check everything, write nothing.
        progress: called with what is being done, the bytes that are done, and all of them.

    Returns:
        What was done; None on a rank that did not write.

    Raises:
        ExportError: one sentence with the file and the numbers. The destination is as it was before.
        ValueError: an argument makes no sense.
    """
    started = time.monotonic()
    code, limit = requested(dtype), parse_size(max_shard_size)
    if kv not in (None, *CHOICES):
        raise ValueError(f"kv is {kv!r}, but must be one of {', '.join(CHOICES)}, or None.")
    if kv == "widened" and (optimizer or master_weights):
        raise ValueError("What the optimizer saved cannot be widened: choose kv first or mean, or leave it out.")
    if jobs < 1:
        raise ValueError(f"jobs is {jobs}, but at least one tensor has to be written at a time.")
    if isinstance(source, (str, os.PathLike)):
        source = Path(source).absolute()
    ranks = Ranks(parallel_device(source))
    if not ranks.writes and ranks.device is None:
        return None
    target = Destination(_real(destination), overwrite)
    plan: _Plan | None = None
    error: Exception | None = None
    try:
        if isinstance(source, Path) and ranks.writes:
            target.check(_real(source), 0)  # before anything is read
        request = _request(source, merge_adapter, tokenizer, config, adapter)
        wanted = _OptimizerRequest(source, optimizer, master_weights)
        plan = _plan(source, code, limit, merge_adapter, request, _Copies(kv, progress), wanted)
        if ranks.writes:
            plan = _checked(plan, source, target)
    except OSError as failure:
        error = ExportError(f"{failure.filename or source} cannot be read: {failure.strerror or failure}.")
        error.__cause__ = failure
    except Exception as failure:
        error = failure
    ranks.agree(error)
    assert plan is not None
    if not dry_run:
        plan = plan.noting(_carry_out(plan, target, ranks, jobs, progress))
    return _report(plan, source, target, time.monotonic() - started, dry_run) if ranks.writes else None


@dataclass(frozen=True)
class _Plan:
    checkpoint: Checkpoint
    files: Mapping[str, list[Tensor]]
    dropped: tuple[str, ...]
    optimizer: OptimizerState | None = None

    def noting(self, notes: tuple[str, ...]) -> _Plan:
        return replace(self, checkpoint=replace(self.checkpoint, notes=(*self.checkpoint.notes, *notes)))

    @property
    def companions(self) -> Mapping[str, Path | bytes]:
        """Small files at the destination, without the config."""
        return {**self.checkpoint.companions, **(self.optimizer.files if self.optimizer else {})}

    @property
    def all_bytes(self) -> int:
        return self.bytes + (self.optimizer.bytes if self.optimizer else 0)

    @property
    def bytes(self) -> int:
        return sum(tensor.nbytes for tensors in self.files.values() for tensor in tensors)


def _request(source: Any, merge: Any, tokenizer: Any, config: Any, adapter: str | None) -> Request:
    if isinstance(source, Path) and hasattr(tokenizer, "save_pretrained"):
        raise ValueError("tokenizer is an object, which only goes with a live model; name a folder.")
    folder = Path(tokenizer) if isinstance(tokenizer, (str, os.PathLike)) else None
    lender = None if config is None else Path(config)
    if lender is None and isinstance(merge, (str, os.PathLike)):
        lender = Path(merge)  # the base tells the shapes of what was trained on it
    if lender is not None and not lender.exists():
        raise ExportError(f"{lender}, which should have a config.json, does not exist.")
    return Request(
        files_from=folder,
        tokenizer=None if folder else tokenizer,
        merge=merge is not False,
        config_from=lender,
        adapter=adapter,
    )


@dataclass(frozen=True)
class _Copies:
    """What becomes of copies of one tensor: compared, and if they differ, the user's choice."""

    choice: str | None
    progress: Progress

    def settled(self, checkpoint: Checkpoint) -> Checkpoint:
        total = sum(replicas.nbytes for replicas in checkpoint.replicas)
        return settled(checkpoint, self.choice, Counter(self.progress, "Comparing copies", total))


def _plan(
    source: Any,
    code: str | None,
    limit: int,
    merge: Any,
    request: Request,
    copies: _Copies,
    optimizer: _OptimizerRequest,
) -> _Plan:
    checkpoint = copies.settled(optimizer.with_weights(open_source(source, request)))
    checkpoint, state = optimizer.with_state(checkpoint, copies)
    if merge is not False:
        checkpoint = _merged(checkpoint, merge, request, copies)
    checkpoint, dropped = without_duplicates(checkpoint)
    if code is not None and checkpoint.config.get("quantization_config"):
        raise ExportError("The checkpoint is quantized, so its dtype cannot be changed; export it without dtype.")
    tensors = [
        cast(tensor, code) if code is not None and tensor.dtype in WEIGHT_DTYPES else tensor
        for tensor in checkpoint.tensors
    ]
    if not tensors:
        raise ExportError(f"{source} holds no tensors.")
    if checkpoint.is_adapter:
        files = {"adapter_model.safetensors": tensors}  # PEFT reads a single file
    else:
        files = split(tensors, limit, stem="model")
    # Wider elements first, which keeps every tensor aligned, as the safetensors library does.
    files = {name: sorted(some, key=lambda tensor: -bits_of(tensor.dtype)) for name, some in files.items()}
    return _Plan(finished_config(checkpoint, tensors, asked=code is not None), files, dropped, state)


@dataclass(frozen=True)
class _OptimizerRequest:
    """What is asked for of what the optimizer saved: its weights, and its state."""

    source: Any
    state: bool
    weights: bool

    def with_weights(self, checkpoint: Checkpoint) -> Checkpoint:
        if (self.state or self.weights) and checkpoint.optimizer is None:
            raise ExportError(
                f"{self.source} holds no state of an optimizer that can be converted: only what Optimum Neuron saved "
                f"with a whole model can. Export without {'--optimizer' if self.state else '--master-weights'}."
            )
        return checkpoint.optimizer.with_masters(checkpoint) if checkpoint.optimizer and self.weights else checkpoint

    def with_state(self, checkpoint: Checkpoint, copies: _Copies) -> tuple[Checkpoint, OptimizerState | None]:
        if checkpoint.optimizer is None:
            return checkpoint, None
        notes, left, state = list(checkpoint.notes), checkpoint.left_behind, None
        if not self.weights and checkpoint.optimizer.has_masters:
            notes.append("The optimizer kept the weights in fp32. --master-weights exports those, without rounding.")
        if self.state:
            state = checkpoint.optimizer.state(copies.settled)
            notes += state.notes
            left = tuple(name for name in left if name not in state.files)
        else:
            notes.append(
                "The state of the optimizer stays where it is. --optimizer converts it, for Trainer to resume from."
            )
        return replace(checkpoint, left_behind=left, notes=tuple(notes)), state


def _merged(adapter: Checkpoint, merge: Any, request: Request, copies: _Copies) -> Checkpoint:
    if not adapter.is_adapter:
        raise ExportError("Only an adapter can be merged, and the source is a whole model.")
    from neuron_shim.checkpoint.merge import merged

    of_base = replace(request, merge=False, adapter=None)
    if merge is not True:
        return merged(adapter, copies.settled(open_source(Path(merge).absolute(), of_base)))
    if adapter.base is not None:
        return merged(adapter, adapter.base)
    named = adapter.config.get("base_model_name_or_path")
    if not named or not Path(named).is_dir():
        raise ExportError(f"The adapter was trained on {named}, which is no folder here; name the model's folder.")
    return merged(adapter, copies.settled(open_source(Path(named).absolute(), of_base)))


def _real(path: str | os.PathLike[str]) -> Path:
    """Where it is. A link that leads to itself stays as it is, and is then no folder."""
    return Path(os.path.realpath(path))


def _checked(plan: _Plan, source: Any, target: Destination) -> _Plan:
    small = sum(_size(file) for file in plan.companions.values())
    notes = target.check(_real(source) if isinstance(source, Path) else None, plan.all_bytes + small)
    return plan.noting(notes)


def _size(file: Path | bytes) -> int:
    if isinstance(file, bytes):
        return len(file)
    with open(file, "rb") as opened:  # so that one that cannot be read is told before anything is written
        return os.fstat(opened.fileno()).st_size


def _carry_out(plan: _Plan, target: Destination, ranks: Ranks, jobs: int, progress: Progress) -> tuple[str, ...]:
    """Write it; what there is to say about what was written."""
    if not ranks.writes:
        for tensors in plan.files.values():
            _take_part(tensors)
        ranks.agree(None)
        return ()
    position = _Position(plan, Counter(progress, "Writing", plan.all_bytes))
    error: Exception | None = None
    try:
        with target.filled() as folder:
            with Verifier() as verifier:
                _write_weights(position, folder, verifier, jobs if plan.checkpoint.independent else 1)
                if plan.optimizer is not None:
                    path = folder / OPTIMIZER
                    write_optimizer(path, plan.optimizer, position.counted, verifier.tensors_of(path))
            _write_small_files(plan, folder)
    except Exception as failure:
        error = failure
        if isinstance(failure, OSError):
            error = ExportError(f"{target.path} could not be written: {failure.strerror or failure}.")
            error.__cause__ = failure
        if ranks.device is not None:
            _take_part(position.rest())  # the others are in the middle of a collective
    ranks.agree(error)
    if plan.checkpoint.is_adapter or not position.in_bfloat16:
        return ()
    return ("Every weight in fp32 is a number of bf16: with --dtype bf16 nothing would be lost, at half the size.",)


class _Position:
    """How far the writing has come, so that after a failure the ranks can be brought to the end together."""

    def __init__(self, plan: _Plan, written: Counter) -> None:
        self.files = plan.files
        self._left = [tensor for tensors in plan.files.values() for tensor in tensors]
        self._left += plan.optimizer.tensors if plan.optimizer else []
        self._written = written
        weights = [tensor for tensors in plan.files.values() for tensor in tensors if tensor.dtype == "F32"]
        self._in_fp32 = {tensor.name for tensor in weights}
        self.in_bfloat16 = bool(weights)
        """Whether all weights in fp32 are numbers of bf16, as they are after a run with XLA_USE_BF16."""

    def counted(self, tensor: Tensor) -> Tensor:
        def pieces() -> Iterator[Any]:
            self._left.pop(0)
            try:
                for piece in tensor.pieces():
                    if self.in_bfloat16 and tensor.name in self._in_fp32 and _has_more_than_bfloat16(piece):
                        self.in_bfloat16 = False
                    yield piece
                    self._written(len(piece))
            except OSError as error:  # of reading: one of writing is not raised in here
                raise ExportError(f"{tensor.origin} cannot be read: {error.strerror or error}.") from error

        return replace(tensor, pieces=pieces)

    def rest(self) -> list[Tensor]:
        return self._left


def _has_more_than_bfloat16(piece: Any) -> bool:
    """Whether any of these fp32 numbers has one of its lower bits set, which bf16 does not have."""
    import numpy

    return bool(numpy.frombuffer(piece, "<u2")[::2].any())


def _take_part(tensors: Sequence[Tensor]) -> None:
    for tensor in tensors:
        try:
            for _ in tensor.pieces():
                pass
        except ExportError:  # said once already
            pass


def _write_weights(position: _Position, folder: Path, verifier: Verifier, jobs: int) -> None:
    """Each tensor is read back while the next one is written, each file once more when it is complete."""
    for name, tensors in position.files.items():
        path = folder / name
        counted = [position.counted(tensor) for tensor in tensors]
        write_file(path, counted, verifier.tensors_of(path), jobs=jobs)
        verifier.file(path)


def _write_small_files(plan: _Plan, folder: Path) -> None:
    """Tokenizer first; the index and the config, without which nothing loads it, last."""
    for name, content in plan.companions.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if isinstance(content, Path):
            shutil.copyfile(content, path)
        else:
            path.write_bytes(content)
    if len(plan.files) > 1:
        _write_json(folder / "model.safetensors.index.json", _index(plan))
    _write_json(folder / plan.checkpoint.config_name, plan.checkpoint.config)


def _index(plan: _Plan) -> dict[str, Any]:
    tensors = {tensor.name: name for name, some in plan.files.items() for tensor in some}
    return {"metadata": {"total_size": plan.bytes}, "weight_map": dict(sorted(tensors.items()))}


def _write_json(path: Path, value: Any) -> None:
    with open(path, "x", encoding="utf-8") as file:
        file.write(json.dumps(value, indent=2, sort_keys=True) + "\n")
        file.flush()
        os.fsync(file.fileno())


def _report(plan: _Plan, source: Any, target: Destination, seconds: float, dry_run: bool) -> ExportReport:
    checkpoint = plan.checkpoint
    return ExportReport(
        source=str(source) if isinstance(source, Path) else type(source).__name__,
        destination=str(target.path),
        layout=checkpoint.layout,
        tensors=sum(len(tensors) for tensors in plan.files.values()),
        bytes=plan.bytes,
        files={name: len(tensors) for name, tensors in plan.files.items()},
        companions=(checkpoint.config_name, *plan.companions, *((OPTIMIZER,) if plan.optimizer else ())),
        dropped=plan.dropped,
        left_behind=checkpoint.left_behind,
        notes=checkpoint.notes,
        plan=checkpoint.plan,
        seconds=seconds,
        dry_run=dry_run,
        optimizer_bytes=plan.all_bytes - plan.bytes,
    )
