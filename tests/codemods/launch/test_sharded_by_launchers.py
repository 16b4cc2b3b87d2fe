"""Scripts that other files launch with flags for parallelism: their models are sharded where they are loaded."""

from __future__ import annotations

import json

import pytest

from neuron_codemods import Project, collect, kinds, migrate

SCRIPT = """from optimum.neuron import NeuronHfArgumentParser, NeuronTrainer, NeuronTrainingArguments
from transformers import AutoModelForCausalLM

parser = NeuronHfArgumentParser(NeuronTrainingArguments)
(args,) = parser.parse_args_into_dataclasses()
model = AutoModelForCausalLM.from_pretrained("my/model")
NeuronTrainer(model=model, args=args).train()
"""
SHARDED = "distributed_config=DistributedConfig("
LINE = "torchrun --nproc_per_node=8 train.py --tensor_parallel_size 2"
JOB = """from sagemaker.pytorch import PyTorch

PyTorch(entry_point="train.py", hyperparameters={values}, instance_type="ml.trn1.32xlarge")
"""


def migrated(kind: str, launcher: str, script: str = SCRIPT, path: str = "train.py") -> str:
    told = collect(launcher, "launch.py") if kind == "python" else kinds.collect(kind, launcher, "launch")
    project = Project((collect(script, path), *([told] if told is not None else [])))
    done = migrate(script, path=path, project=project)
    assert migrate(done.text, path=path, project=project).text == done.text
    return done.text


@pytest.mark.parametrize(
    ("kind", "launcher"),
    [
        ("shell", LINE),
        ("shell", "torchrun train.py --zero_1"),
        ("shell", "torchrun train.py --zero_1=true --bf16"),
        ("shell", "torchrun ./train.py --tensor-parallel-size=$TP"),
        ("shell", "ARGS='--bf16 --tensor_parallel_size 8'\nsrun torchrun train.py $ARGS"),
        ("shell", 'ARGS=(--zero_1\n --bf16)\ntorchrun train.py "${ARGS[@]}"'),
        ("markdown", f"# Train\n\n```bash\n{LINE}\n```\n"),
        ("makefile", f"train:\n\t{LINE}\n"),
        ("dockerfile", f"FROM a\nRUN {LINE}\n"),
        ("yaml", f"run: |\n  {LINE}\n"),
        ("notebook", json.dumps({"cells": [{"cell_type": "code", "source": [f"!{LINE}"]}], "nbformat": 4})),
        ("python", JOB.format(values={"tensor_parallel_size": 8})),
        ("python", JOB.format(values={"zero_1": "true"})),
    ],
)
def test_a_script_is_sharded(kind: str, launcher: str) -> None:
    assert SHARDED in migrated(kind, launcher)


@pytest.mark.parametrize(
    ("kind", "launcher"),
    [
        ("shell", "torchrun train.py --tensor_parallel_size 1"),
        ("shell", "torchrun train.py --tensor_parallel_size=1 --zero_1 false"),
        ("shell", "torchrun other.py --tensor_parallel_size 8"),
        ("shell", "torchrun train.py"),
        ("python", JOB.format(values={"tensor_parallel_size": "1", "zero_1": False})),
        ("python", JOB.format(values="settings()")),
        ("python", JOB.format(values={"zero_1": True}).replace("train.py", "other.py")),
    ],
)
def test_a_script_stays_data_parallel(kind: str, launcher: str) -> None:
    assert SHARDED not in migrated(kind, launcher)


def test_only_the_script_that_is_meant() -> None:
    launcher = "torchrun a/train.py --zero_1"
    told = kinds.collect("shell", launcher, "run.sh")
    assert told is not None
    project = Project((collect(SCRIPT, "a/train.py"), collect(SCRIPT, "b/train.py"), told))

    sharded = [SHARDED in migrate(SCRIPT, path=path, project=project).text for path in ("a/train.py", "b/train.py")]

    assert sharded == [True, False]


def test_an_encoder_stays_data_parallel() -> None:
    script = SCRIPT.replace("AutoModelForCausalLM", "AutoModelForSequenceClassification")

    assert SHARDED not in migrated("shell", LINE, script)


def test_sizes_that_the_script_reads_itself_say_nothing_of_its_arguments() -> None:
    script = SCRIPT.replace("NeuronHfArgumentParser(NeuronTrainingArguments)", "argparse.ArgumentParser()").replace(
        "(args,) = parser.parse_args_into_dataclasses()", "args = NeuronTrainingArguments('out')"
    )

    assert SHARDED not in migrated("shell", LINE, script)
