"""Export models that several ranks share:  torchrun --nproc_per_node=N sharded.py FOLDER TP_SIZE

FOLDER/base holds the model. What each rank was told goes to FOLDER/told-RANK.json.
"""

from __future__ import annotations

import errno
import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch import distributed
from transformers import AutoModelForCausalLM
from transformers.distributed import DistributedConfig

from neuron_shim import ExportError, export_checkpoint
from neuron_shim.checkpoint import safetensors_file
from tests.checkpoint.models import adapted, tokenizer


def main(folder: Path, tp_size: int) -> None:
    distributed.init_process_group("gloo")
    rank, world = distributed.get_rank(), distributed.get_world_size()
    told: dict[str, Any] = {}

    model = load(folder / "base", tp_size, world)
    model.save_pretrained(folder / "distributed", distributed_checkpoint=True)
    model.save_pretrained(folder / "gathered")
    report = export_checkpoint(model, folder / "live", max_shard_size="20KB", tokenizer=tokenizer())
    told["reports"] = report is not None
    told["sharded"] = any(hasattr(parameter, "full_tensor") for parameter in model.parameters())
    export_checkpoint(model, folder / "live-bf16", dtype=torch.bfloat16)

    (folder / "taken").mkdir(exist_ok=True)
    (folder / "taken" / "mine").touch()
    distributed.barrier()
    told["taken"] = error_of(model, folder / "taken")
    if rank == 0:
        fail_at_write(9)
    told["full disk"] = error_of(model, folder / "full")
    told["after"] = export_checkpoint(model, folder / "after") is not None

    told["folder"] = export_checkpoint(folder / "distributed", folder / "from-folder") is not None
    if tp_size == 1:
        adapter = adapted(load(folder / "base", tp_size, world))
        shard_adapter(adapter)
        export_checkpoint(adapter, folder / "adapter")
        export_checkpoint(adapter, folder / "merged", merge_adapter=True)
    (folder / f"told-{rank}.json").write_text(json.dumps(told), encoding="utf-8")
    distributed.barrier()
    distributed.destroy_process_group()


def load(folder: Path, tp_size: int, world: int) -> Any:
    sizes = DistributedConfig(tp_size=tp_size, fsdp_size=world // tp_size)
    return AutoModelForCausalLM.from_pretrained(folder, distributed_config=sizes)


def shard_adapter(model: Any) -> None:
    """As a Trainer would leave it under FSDP: the adapter's tensors are shared as well."""
    from torch.distributed.tensor import Shard, distribute_tensor

    mesh = next(parameter.device_mesh for parameter in model.parameters() if hasattr(parameter, "device_mesh"))
    for module in model.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            if parameter.requires_grad and not hasattr(parameter, "full_tensor"):
                shared = distribute_tensor(parameter.detach(), mesh, [Shard(0)])
                module.register_parameter(name, torch.nn.Parameter(shared))


def error_of(model: Any, destination: Path) -> str:
    try:
        export_checkpoint(model, destination, max_shard_size="20KB")
    except ExportError as error:
        return str(error)
    return ""


def fail_at_write(number: int) -> None:
    write = safetensors_file._write
    calls = iter(range(1, 10**6))

    def writing(file: Any, data: Any) -> None:
        if next(calls) == number:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(file, data)

    safetensors_file._write = writing


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
