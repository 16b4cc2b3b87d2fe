"""A run that can be cut off and resumed:  [torchrun] train.py OUTPUT MODE STOP

MODE: "fresh", "plain", in which Trainer saves the optimizer itself, "resume", or "control", which resumes everything
but the optimizer. STOP: the step after which the run ends as if it were interrupted, or 0. The last line is the log:
step, loss and gradient norm.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, Trainer, TrainerCallback, TrainingArguments, set_seed
from transformers.distributed import DistributedConfig

from neuron_shim import ResumeCallback, configure, parallel_sizes

STEPS = 8


class Stop(TrainerCallback):
    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == self.step:
            control.should_training_stop = True


class Samples(torch.utils.data.Dataset):
    def __init__(self) -> None:
        self.ids = torch.randint(0, 96, (12, 16), generator=torch.Generator().manual_seed(1))

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, number: int) -> dict[str, Any]:
        return {"input_ids": self.ids[number], "labels": self.ids[number]}


def main(output: Path, mode: str, stop: int, *, lora: bool = False, dropout: float = 0.1) -> list[Any]:
    configure()
    set_seed(0)
    model = AutoModelForCausalLM.from_pretrained(
        output.parent / "base",
        distributed_config=DistributedConfig(**parallel_sizes()),
        dtype=torch.float32,
        attention_dropout=dropout,  # so that the random numbers count as well
    )
    if lora:
        from peft import LoraConfig, get_peft_model

        model = get_peft_model(model, LoraConfig(r=4, target_modules=["q_proj", "v_proj"], lora_dropout=0.1))
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            str(output),
            max_steps=STEPS,
            per_device_train_batch_size=4 // int(os.environ.get("WORLD_SIZE", "1")),
            save_steps=2,
            save_only_model=mode != "plain",
            logging_steps=1,
            learning_rate=3e-2,
            report_to="none",
            use_cpu=not hasattr(torch, "neuron"),
            disable_tqdm=True,
        ),
        train_dataset=Samples(),
    )
    if mode != "plain":
        trainer.add_callback(ResumeCallback(trainer))
    if stop:
        trainer.add_callback(Stop(stop))
    if mode == "control":
        trainer._load_optimizer_and_scheduler = lambda checkpoint: None
    trainer.train(resume_from_checkpoint=mode not in ("fresh", "plain"))
    log = [entry for entry in trainer.state.log_history if "loss" in entry]
    return [(entry["step"], entry["loss"], float(entry["grad_norm"])) for entry in log]


if __name__ == "__main__":
    folder, mode, stop = sys.argv[1:]
    log = main(
        Path(folder), mode, int(stop), lora="LORA" in os.environ, dropout=float(os.environ.get("DROPOUT", "0.1"))
    )
    if os.environ.get("RANK", "0") == "0":
        print(json.dumps(log))
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
