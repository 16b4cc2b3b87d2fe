"""Run a training script unchanged, and write down what it trained.

    python harness.py FOLDER SCRIPT [ARGUMENT...]
    torchrun --nproc_per_node=4 harness.py FOLDER SCRIPT [ARGUMENT...]

FOLDER receives ``trained.safetensors`` (the weights at the end of ``Trainer.train``, put together from all ranks) and
``run.json`` (log history, parallel sizes, how much of the model one rank held). The script sees its own path and
arguments, and runs as it is.
"""

from __future__ import annotations

import functools
import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    folder, script = Path(sys.argv[1]), Path(sys.argv[2])
    allow_tensor_parallel_on_cpu()
    if os.environ.get("HARNESS_USE_CPU"):
        use_cpu()
    record_training(folder)
    sys.argv = [str(script), *sys.argv[3:]]
    sys.path[0] = str(script.parent)
    runpy.run_path(str(script), run_name="__main__")


def allow_tensor_parallel_on_cpu() -> None:
    """Let accelerate take CPU ranks for devices in the one check that refuses them tensor parallelism."""
    from accelerate.parallelism_config import ParallelismConfig

    validate = ParallelismConfig._validate_accelerator

    class AsDevices:
        def __init__(self, accelerator: Any) -> None:
            self._accelerator = accelerator

        def __getattr__(self, name: str) -> Any:
            return getattr(self._accelerator, name)

        @property
        def multi_device(self) -> bool:
            return self._accelerator.multi_device or self._accelerator.distributed_type == "MULTI_CPU"

    ParallelismConfig._validate_accelerator = lambda config, accelerator: validate(config, AsDevices(accelerator))


def use_cpu() -> None:
    """As if every ``TrainingArguments`` had been given ``use_cpu=True``, without which it refuses bf16 on a CPU."""
    from transformers import TrainingArguments

    finish = TrainingArguments.__post_init__

    def on_cpu(arguments: TrainingArguments) -> None:
        arguments.use_cpu = True
        finish(arguments)

    TrainingArguments.__post_init__ = on_cpu


def record_training(folder: Path) -> None:
    """Wrap ``Trainer.train``: the one call that every example makes."""
    from transformers import Trainer

    train = Trainer.train

    @functools.wraps(train)
    def train_and_record(trainer: Trainer, *args: Any, **kwargs: Any) -> Any:
        output = train(trainer, *args, **kwargs)
        write_down(trainer, folder)
        return output

    Trainer.train = train_and_record


def write_down(trainer: Any, folder: Path) -> None:
    """Collective: every rank takes part in putting the weights together, the first one writes."""
    from safetensors.torch import save_file

    model = trainer.accelerator.unwrap_model(trainer.model)
    parameters = dict(model.named_parameters())
    whole = {name: full_tensor(parameter) for name, parameter in parameters.items()}
    local = sum(getattr(value, "_local_tensor", value).numel() for value in parameters.values())
    if not trainer.is_world_process_zero():
        return
    config = getattr(model.config, "distributed_config", None)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(whole, folder / "trained.safetensors")
    run = {
        "log_history": trainer.state.log_history,
        "world_size": trainer.args.world_size,
        "tp_size": getattr(config, "tp_size", None) or 1,
        "fsdp_size": getattr(config, "fsdp_size", None) or 1,
        "device": str(trainer.args.device),
        "parameters": sum(value.numel() for value in whole.values()),
        "parameters_on_rank_0": local,
        "frozen_dtypes": sorted({str(value.dtype) for value in parameters.values() if not value.requires_grad}),
        "trainable_dtypes": sorted({str(value.dtype) for value in parameters.values() if value.requires_grad}),
    }
    (folder / "run.json").write_text(json.dumps(run, indent=1), encoding="utf-8")


def full_tensor(parameter: Any) -> Any:
    value = parameter.detach()
    if hasattr(value, "full_tensor"):
        value = value.full_tensor()
    return value.cpu().contiguous().clone()


if __name__ == "__main__":
    main()
