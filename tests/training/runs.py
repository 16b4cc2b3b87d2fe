"""Run an example script in processes of its own, and read what it trained."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests import programs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .assets import Assets

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent
RUNTIME = REPOSITORY / "runtime"

# What the surroundings may hold and a run must not see: another launcher, other sizes, another device.
NOT_INHERITED = (
    *("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"),
    *("TP_SIZE", "FSDP_SIZE", "ACCELERATE_USE_CPU", "HF_DEACTIVATE_ASYNC_LOAD", "PYTHONWARNINGS"),
)


@dataclass(frozen=True)
class Launch:
    """How a script is started. One process is started by ``python``, several by ``torchrun``."""

    processes: int = 1
    tp_size: int | None = None
    fsdp_size: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)

    def command(self) -> list[str]:
        if self.processes == 1:
            return [sys.executable]
        # --standalone takes a free port, so runs at the same time don't meet.
        return [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={self.processes}"]

    def variables(self) -> dict[str, str]:
        sizes = {"TP_SIZE": self.tp_size, "FSDP_SIZE": self.fsdp_size}
        return {name: str(size) for name, size in sizes.items() if size is not None} | dict(self.environment)


@dataclass(frozen=True)
class Example:
    """One project below ``examples/``, and how to start it on tiny inputs."""

    name: str
    script: str
    loader: str
    arguments: Callable[[Assets], list[str]]
    batch_flag: str
    global_batch: int
    spread: Launch
    """Several processes, as the launcher of the example starts them."""

    def __str__(self) -> str:
        return self.name

    def command_line(self, assets: Assets, output: Path, launch: Launch) -> list[str]:
        """The same global batch however it is launched: the batch of one process is its share of it."""
        share = self.global_batch // (launch.processes // (launch.tp_size or 1))
        return [*self.arguments(assets), self.batch_flag, str(share), "--output_dir", str(output)]


EXAMPLES = (
    Example(
        name="full_finetune",
        script="train.py",
        loader="AutoModelForCausalLM",
        arguments=lambda assets: [
            *("--model_id", str(assets.decoder), "--data_file", str(assets.texts)),
            *("--block_size", "32", "--max_steps", "6", "--lr", "5e-3", "--logging_steps", "1"),
            *("--no_bf16", "--eval_percent", "10"),
        ],
        batch_flag="--train_batch_size",
        global_batch=8,
        spread=Launch(processes=4, tp_size=2, fsdp_size=2),
    ),
    Example(
        name="lora_sft",
        script="finetune_lora.py",
        loader="AutoPeftModelForCausalLM",
        arguments=lambda assets: [
            *("--model_id", str(assets.decoder), "--train_file", str(assets.records)),
            *("--max_seq_length", "32", "--max_steps", "6", "--learning_rate", "3e-2", "--logging_steps", "1"),
        ],
        batch_flag="--per_device_train_batch_size",
        global_batch=8,
        spread=Launch(processes=4, fsdp_size=4),
    ),
    Example(
        name="classification",
        script="run_classification.py",
        loader="AutoModelForSequenceClassification",
        arguments=lambda assets: [
            *("--model_name_or_path", str(assets.encoder), "--train_file", str(assets.sentences)),
            *("--validation_file", str(assets.more_sentences), "--max_length", "16"),
            *("--do_train", "--do_eval", "--do_predict", "--eval_strategy", "epoch", "--save_strategy", "epoch"),
            *("--load_best_model_at_end", "--max_steps", "6", "--learning_rate", "3e-3", "--logging_steps", "1"),
        ],
        batch_flag="--per_device_train_batch_size",
        global_batch=8,
        spread=Launch(processes=2),
    ),
)


@dataclass(frozen=True)
class Step:
    loss: float
    grad_norm: float


@dataclass(frozen=True)
class Run:
    """What came out of one training run."""

    launch: Launch
    output: Path
    trained: Path
    steps: tuple[Step, ...]
    world_size: int
    tp_size: int
    fsdp_size: int
    device: str
    parameters: int
    parameters_on_rank_0: int
    frozen_dtypes: tuple[str, ...]
    trainable_dtypes: tuple[str, ...]


@dataclass(frozen=True)
class Reloaded:
    """A saved folder, loaded by the plain libraries, against the weights that were trained."""

    loaded: int
    trained: int
    only_in_one: list[str]
    other_shape_or_dtype: list[str]
    unequal: list[str]


class RunError(Exception):
    """The script did not end well; the message holds what it printed."""


def train(script: Path, arguments: Iterable[str], folder: Path, launch: Launch) -> Run:
    """Run ``script`` below the harness. It is told to write to ``folder / "output"`` by its own ``arguments``."""
    record = folder / "record"
    command = [*launch.command(), str(HERE / "harness.py"), str(record), str(script), *arguments]
    run_process(command, folder, launch.variables())
    run = json.loads((record / "run.json").read_text(encoding="utf-8"))
    log = [entry for entry in run.pop("log_history") if "grad_norm" in entry]
    return Run(
        launch=launch,
        output=folder / "output",
        trained=record / "trained.safetensors",
        steps=tuple(Step(entry["loss"], entry["grad_norm"]) for entry in log),
        frozen_dtypes=tuple(run.pop("frozen_dtypes")),
        trainable_dtypes=tuple(run.pop("trainable_dtypes")),
        **run,
    )


def train_example(example: Example, script: Path, assets: Assets, folder: Path, launch: Launch) -> Run:
    folder.mkdir(parents=True, exist_ok=True)
    return train(script, example.command_line(assets, folder / "output", launch), folder, launch)


def reload(loader: str, run: Run) -> Reloaded:
    """In a fresh process, which can't import the shim."""
    command = [sys.executable, "-I", str(HERE / "reload.py"), loader, str(run.output), str(run.trained)]
    return Reloaded(**json.loads(run_process(command, run.output.parent, {}).splitlines()[-1]))


def run_process(command: list[str], folder: Path, variables: Mapping[str, str]) -> str:
    """Its standard output. Raises RunError with the last lines of the error output."""
    inherited = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    environment = {
        **inherited,
        "PYTHONPATH": str(RUNTIME),
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "CUDA_VISIBLE_DEVICES": "",
        "HF_HOME": str(folder / "huggingface"),
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        **variables,
    }
    done = programs.run(command, cwd=folder, env=environment)
    if done.returncode:
        said = f"{done.stdout[-2000:]}\n{done.stderr[-20000:]}"
        raise RunError(f"{' '.join(command)}\nended with {done.returncode}\n{said}")
    return done.stdout
