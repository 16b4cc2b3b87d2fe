"""Interrupt and resume a run whose model was sharded when it was loaded.

transformers 5.24 refuses to checkpoint the optimizer of such a model ("Resuming is not supported for models sharded at
load time", trainer.py), and ``train(resume_from_checkpoint=...)`` cannot load its weights (``aten.copy_.default got
mixed torch.Tensor and DTensor``). It does have the functions to save and load the optimizer of one
(transformers/distributed/checkpoint.py); this callback calls them where Trainer does not.
"""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from neuron_shim.device import accelerator_kind

OPTIMIZER = "optimizer_distributed"
OPTIMIZER_OF_TRAINER = "optimizer.pt"
SCHEDULER = "scheduler.pt"
MARKER = "resume.json"
_REPLACED = ("_load_from_checkpoint", "_load_optimizer_and_scheduler", "_load_rng_state", "_save_rng_state")


class ResumeCallback(TrainerCallback):  # type: ignore[misc]  # transformers is not typed
    """Saves with each checkpoint what resuming needs, and lets ``train(resume_from_checkpoint=...)`` find it.

        trainer = SFTTrainer(model, args=SFTConfig(..., save_only_model=True), ...)
        trainer.add_callback(ResumeCallback(trainer))
        trainer.train(resume_from_checkpoint=True)  # or a folder; as the old script wrote it

    The model is loaded as for a fresh run, with a ``distributed_config``; its weights then come from the checkpoint.
    The optimizer is saved in blocks, by parameter names, so that a run may be resumed with another number
    of processes or other parallel sizes; the random numbers of the ranks are then new.

    Beside the files of the model, a checkpoint has ``optimizer_distributed/``, ``scheduler.pt``, ``rng_state_*.pth``
    and, last, ``resume.json``: without it the checkpoint was interrupted while it was saved, and is refused with the
    name of the last one that is whole. What the run has seen of the data is skipped by Trainer itself
    (``skip_first_batches``), as is the state of other callbacks.

    A folder with an ``optimizer.pt``, as Trainer writes it or ``neuron-shim export --optimizer`` makes it, is resumed
    as well; each process then holds that state of the whole model while it takes its part.

    The output folder has to be one that all machines of the run share. One process, and a model that is not sharded,
    resume in the same way. Not verified on hardware: the random numbers of a Neuron device are saved through
    ``torch.neuron.get_rng_state``.
    """

    def __init__(self, trainer: Any) -> None:
        """
        Raises:
            RuntimeError: this Trainer is not the one that the callback was written for, or a plugin of accelerate
                (DeepSpeed, FSDP) saves the optimizer.
        """
        if missing := [name for name in _REPLACED if not callable(getattr(trainer, name, None))]:
            raise RuntimeError(
                f"{type(trainer).__name__} has no {missing[0]}: ResumeCallback was written for the Trainer of "
                f"transformers 5.24. Use a release of neuron-migrate that knows this one."
            )
        if trainer.is_deepspeed_enabled or trainer.is_fsdp_enabled:
            raise RuntimeError("accelerate shards this model, and checkpoints it itself: remove ResumeCallback.")
        if not trainer.args.save_only_model:
            raise RuntimeError(
                "ResumeCallback saves the optimizer itself: give the training arguments save_only_model=True."
            )
        self._trainer = trainer
        self._load_plain_weights = trainer._load_from_checkpoint
        self._load_plain_rng = trainer._load_rng_state
        # Trainer calls these by name, on itself; there is no other way in.
        trainer._load_from_checkpoint = self._load_weights
        trainer._load_optimizer_and_scheduler = self._load_optimizer_and_scheduler
        trainer._load_rng_state = self._load_rng

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """After Trainer has saved the model and its own state. Collective."""
        folder = Path(self._trainer._get_output_dir(trial=None)) / f"checkpoint-{state.global_step}"
        self._save(folder)

    def _save(self, folder: Path) -> None:
        import torch
        from transformers.distributed.checkpoint import save_optimizer_distributed

        trainer = self._trainer
        with _quiet():
            save_optimizer_distributed(trainer.model, _plain(trainer.optimizer), str(folder / OPTIMIZER))
        trainer._save_rng_state(str(folder))
        if accelerator_kind() == "neuron":
            torch.save(torch.neuron.get_rng_state(), folder / self._device_rng)
        if trainer.args.should_save:
            torch.save(trainer.lr_scheduler.state_dict(), folder / SCHEDULER)
        trainer.accelerator.wait_for_everyone()
        if trainer.args.should_save:
            told = {"global_step": trainer.state.global_step, "world_size": trainer.args.world_size}
            temporary = folder / f".{MARKER}"
            temporary.write_text(json.dumps(told) + "\n", encoding="utf-8")
            temporary.replace(folder / MARKER)

    @property
    def _device_rng(self) -> str:
        return f"rng_state_neuron_{self._trainer.args.process_index}.pth"

    def _load_weights(self, resume_from_checkpoint: str, model: Any = None) -> None:
        folder = Path(resume_from_checkpoint)
        self._check(folder)
        if not self._trainer.is_distributed_loading_by_transformers:
            self._load_plain_weights(resume_from_checkpoint, model)
        elif getattr(self._trainer.model, "peft_config", None):
            _load_adapter(self._trainer.model, folder)
        else:
            _load_sharded(self._trainer.model, folder)

    def _check(self, folder: Path) -> None:
        if (folder / MARKER).is_file() or (folder / OPTIMIZER_OF_TRAINER).is_file():
            return
        whole = sorted(
            (path.parent for path in folder.parent.glob(f"checkpoint-*/{MARKER}")),
            key=lambda path: int(path.name.rpartition("-")[2]),
        )
        last = f"the last whole one is {whole[-1]}" if whole else "there is no whole one beside it"
        raise FileNotFoundError(
            f"{folder} has no {MARKER}: it was saved without ResumeCallback, or the saving was interrupted; {last}."
        )

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        if checkpoint is None:
            return
        import torch
        from transformers.distributed.checkpoint import load_optimizer_distributed

        folder = Path(checkpoint)
        optimizer = _plain(self._trainer.optimizer)
        with _quiet(), _without_empty_groups(optimizer):
            if (folder / MARKER).is_file():
                load_optimizer_distributed(self._trainer.model, optimizer, str(folder / OPTIMIZER))
            else:
                _load_whole_state(self._trainer.model, optimizer, folder / OPTIMIZER_OF_TRAINER)
        self._trainer.lr_scheduler.load_state_dict(torch.load(folder / SCHEDULER, weights_only=True))

    def _load_rng(self, checkpoint: str | None) -> None:
        self._load_plain_rng(checkpoint)
        if checkpoint is None or accelerator_kind() != "neuron":
            return
        import torch

        path = Path(checkpoint) / self._device_rng
        if path.is_file():
            torch.neuron.set_rng_state(torch.load(path, weights_only=True))


def _plain(optimizer: Any) -> Any:
    """Without accelerate's wrapper."""
    return getattr(optimizer, "optimizer", optimizer)


def _load_whole_state(model: Any, optimizer: Any, path: Path) -> None:
    """The state of a whole model, in which parameters have numbers: Trainer numbers them as they are in its groups."""
    import torch
    from torch.distributed.checkpoint.state_dict import StateDictOptions, set_optimizer_state_dict

    saved = torch.load(path, map_location="cpu", weights_only=True)
    known = {parameter: name for name, parameter in model.named_parameters()}
    names = [known[parameter] for group in optimizer.param_groups for parameter in group["params"]]
    numbers = [number for group in saved["param_groups"] for number in group["params"]]
    if sorted(numbers) != list(range(len(names))):
        raise ValueError(f"{path} is of an optimizer of {len(numbers)} parameters, but this one has {len(names)}.")
    named = {
        "state": {names[number]: fields for number, fields in saved["state"].items()},
        "param_groups": [
            {**group, "params": [names[number] for number in group["params"]]}
            for group in saved["param_groups"]
            if group["params"]
        ],
    }
    set_optimizer_state_dict(model, optimizer, named, options=StateDictOptions(full_state_dict=True))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """In one process, torch says that it assumes one process."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch.distributed is", category=UserWarning)
        yield


@contextlib.contextmanager
def _without_empty_groups(optimizer: Any) -> Iterator[None]:
    """Trainer makes a group for parameters without weight decay, which under LoRA is empty.

    torch cannot load a state into that (torch/distributed/checkpoint/state_dict.py, ``_unflatten_optim_state_dict``:
    IndexError).
    """
    groups = list(optimizer.param_groups)
    optimizer.param_groups = [group for group in groups if group["params"]]
    try:
        yield
    finally:
        filled = iter(optimizer.param_groups)  # loading has replaced them
        optimizer.param_groups = [next(filled) if group["params"] else group for group in groups]


def _load_sharded(model: Any, folder: Path) -> None:
    """Load the checkpoint as a second model, sharded in the same way, and take over its parameters.

    That is done before there is an optimizer state, which takes twice as much memory as this second model.
    """
    import torch

    loaded = _model_class(model).from_pretrained(
        folder, distributed_config=model.config.distributed_config, dtype=model.dtype
    )
    values = dict(loaded.state_dict())
    with torch.no_grad():
        for name, value in model.state_dict().items():
            _local(value).copy_(_local(values.pop(name)))


def _model_class(model: Any) -> Any:
    """The class that FSDP2 put its own one in front of (torch/distributed/fsdp, ``fully_shard``)."""
    from torch.distributed.fsdp import FSDPModule

    return next(kind for kind in type(model).__mro__ if not issubclass(kind, FSDPModule))


def _load_adapter(model: Any, folder: Path) -> None:
    """The base stays as it was loaded; the adapter's tensors are cut as the model's are."""
    import torch
    from peft import get_peft_model_state_dict
    from safetensors import safe_open
    from torch.distributed.tensor import distribute_tensor

    state = get_peft_model_state_dict(model)
    with safe_open(str(folder / "adapter_model.safetensors"), framework="pt") as file, torch.no_grad():
        for name, value in state.items():
            full = file.get_tensor(name).to(value.dtype)
            if hasattr(value, "full_tensor"):
                full = distribute_tensor(full.to(value.to_local().device), value.device_mesh, value.placements)
            _local(value).copy_(_local(full))


def _local(value: Any) -> Any:
    return value.to_local() if hasattr(value, "to_local") else value
