"""Train a tiny decoder, and write down losses and gradient norms:  python train.py ASSETS RECORD KEY=VALUE...

Runs by itself on the CPU, and below ``neuron_shim.simulate`` on the simulated device. Nothing in it knows of either.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments


def main() -> None:
    assets, record = Path(sys.argv[1]), Path(sys.argv[2])
    settings = dict(pair.split("=", 1) for pair in sys.argv[3:])
    kind = settings.pop("kind", "trainer")
    sizes = {name: int(settings.pop(name)) for name in ("tp_size", "fsdp_size") if name in settings}
    options: dict[str, Any] = {
        "max_steps": 4,
        "learning_rate": 5e-3,
        "lr_scheduler_type": "constant",
        "logging_steps": 1,
        "report_to": "none",
        "save_strategy": "no",
        "seed": 0,
        "disable_tqdm": True,
        "bf16": False,
        **{name: json.loads(value) for name, value in settings.items()},
    }
    model = load(assets, sizes)
    trainer = (train_sft if kind == "sft" else train_plain)(model, assets, record.parent / "output", options)
    trainer.train()
    arguments = trainer.args
    result = {
        "steps": [
            {"loss": entry["loss"], "grad_norm": entry["grad_norm"]}
            for entry in trainer.state.log_history
            if "grad_norm" in entry
        ],
        "device": str(arguments.device),
        "distributed_type": str(trainer.accelerator.distributed_type).split(".")[-1],
        "pad_to_multiple_of": getattr(arguments, "pad_to_multiple_of", None),
        "torch_compile_backend": arguments.torch_compile_backend,
        "parameter_type": type(next(trainer.accelerator.unwrap_model(trainer.model).parameters()).data).__name__,
    }
    simulate = sys.modules.get("neuron_shim.simulate")
    if simulate is not None:
        result["shapes"] = len(simulate.shapes_compiled())
        result["graphs"] = len(simulate.compiled_graphs())
    if arguments.process_index == 0:
        record.write_text(json.dumps(result), encoding="utf-8")
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def load(assets: Path, sizes: dict[str, int]) -> Any:
    options: dict[str, Any] = {"dtype": torch.float32}
    if sizes:
        from transformers.distributed import DistributedConfig

        options["distributed_config"] = DistributedConfig(**sizes)
    return AutoModelForCausalLM.from_pretrained(assets / "decoder", **options)


def train_plain(model: Any, assets: Path, output: Path, options: dict[str, Any]) -> Trainer:
    tokenizer = AutoTokenizer.from_pretrained(assets / "decoder")
    rows = [json.loads(line)["text"] for line in (assets / "texts.jsonl").read_text(encoding="utf-8").splitlines()]
    data = [{"input_ids": (ids := tokenizer(row).input_ids[:32]), "labels": ids} for row in rows]
    return Trainer(model=model, args=TrainingArguments(str(output), **options), train_dataset=data)


def train_sft(model: Any, assets: Path, output: Path, options: dict[str, Any]) -> Any:
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    tokenizer = AutoTokenizer.from_pretrained(assets / "decoder")
    lines = (assets / "texts.jsonl").read_text(encoding="utf-8").splitlines()
    rows = Dataset.from_list([json.loads(line) for line in lines])
    arguments = SFTConfig(str(output), gradient_checkpointing=False, **options)
    return SFTTrainer(model=model, args=arguments, train_dataset=rows, processing_class=tokenizer)


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    main()
