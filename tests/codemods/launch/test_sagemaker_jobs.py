"""What becomes of the jobs that a script starts with the SageMaker SDK."""

from __future__ import annotations

import ast

import pytest

from neuron_codemods import Migration, Outcome, Project, collect, migrate

HEAD = "from sagemaker.huggingface import HuggingFace\n\n"
LORA = "from peft import LoraConfig\n\nLoraConfig()\n"


def migration(text: str, script: str = "") -> Migration:
    project = Project((collect(script, "scripts/train.py"),))
    done = migrate(HEAD + text, path="job.py", project=project)
    ast.parse(done.text)
    assert migrate(done.text, path="job.py", project=project).text == done.text
    return done


def job(given: str, script: str = "") -> str:
    """The arguments of a job on Trainium, migrated, on one line."""
    done = migration(f'HuggingFace(entry_point="train.py", instance_type="ml.trn1.2xlarge", {given})\n', script)
    call = ast.unparse(ast.parse(done.text).body[-1])
    return call.removeprefix("HuggingFace(entry_point='train.py', instance_type='ml.trn1.2xlarge', ").removesuffix(")")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("hyperparameters={'a': 1, 'zero_1': True}", "hyperparameters={'a': 1}"),
        ("hyperparameters=dict(zero_1=True, a=1)", "hyperparameters=dict(a=1)"),
        ("hyperparameters={'zero_1': '', 'warmup_ratio': 0.1}", "hyperparameters={'warmup_steps': 0.1}"),
        ("hyperparameters={'tensor-parallel-size': 1}", "hyperparameters={}"),
        (
            "hyperparameters={'tensor_parallel_size': 4}",
            "hyperparameters={}, environment={'TP_SIZE': '4'}",
        ),
        (
            "hyperparameters={'tensor_parallel_size': size}, environment={'A': '1'}",
            "hyperparameters={}, environment={'A': '1', 'TP_SIZE': str(size)}",
        ),
        (
            "hyperparameters={'tensor_parallel_size': '4'}, environment=settings()",
            "hyperparameters={}, environment={**settings(), 'TP_SIZE': '4'}",
        ),
        (
            "hyperparameters={'zero_1': 1}, environment={'XLA_IR_DEBUG': '1', 'A': '1'}",
            "hyperparameters={}, environment={'A': '1'}",
        ),
        (
            "hyperparameters={'zero_1': 1}, environment={'NEURON_COMPILE_CACHE_URL': '/tmp/x'}",
            "hyperparameters={}, environment={'TORCH_NEURONX_NEFF_CACHE_DIR': '/tmp/x'}",
        ),
        ("hyperparameters={'zero_1': 1, **more}", "hyperparameters={**more}"),
        ("hyperparameters={'logging_dir': d}", "hyperparameters={}, environment={'TENSORBOARD_LOGGING_DIR': d}"),
        ("hyperparameters={'adafactor': True}", "hyperparameters={'optim': 'adafactor'}"),
        (
            "hyperparameters={}, environment={'NEURON_CC_FLAGS': f}",
            "hyperparameters={}, environment={'NEURON_CC_FLAGS': f}",
        ),
    ],
)
def test_hyperparameters_and_environment(before: str, after: str) -> None:
    assert job(before) == after


def test_adapters_are_not_sharded() -> None:
    done = job("hyperparameters={'tensor_parallel_size': 8}", LORA)

    assert done == "hyperparameters={}, environment={'TP_SIZE': '1'}"


def test_the_length_of_an_sft_config() -> None:
    script = "from optimum.neuron import NeuronSFTConfig\nfrom trl import TrlParser\n\nTrlParser(NeuronSFTConfig)\n"

    assert job("hyperparameters={'max_seq_length': 8}", script) == "hyperparameters={'max_length': 8}"


def test_a_flag_of_the_script_stays() -> None:
    own = 'import argparse\n\nargparse.ArgumentParser().add_argument("--zero_1")\n'

    assert job("hyperparameters={'zero_1': 1, 'tensor_parallel_size': 1}", own) == "hyperparameters={'zero_1': 1}"


def test_what_has_no_native_form_is_for_a_person() -> None:
    text = "HuggingFace(image_uri='a/huggingface-pytorch-training-neuronx:1', hyperparameters=h)\n"
    done = migration("h = {'pipeline_parallel_size': 4, 'zero_1': 1}\n" + text)

    assert [finding.message[:22] for finding in done.findings if finding.outcome is Outcome.MANUAL] == [
        "pipeline_parallel_size",
        "Build on an image that",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "HuggingFace(hyperparameters={'evaluation_strategy': 'no'})\n",
        "HuggingFace(hyperparameters=h, instance_type=kind)\n",
        "h = {'zero_1': 1}\nh = other(h)\nHuggingFace(hyperparameters=h)\n",
        "other(hyperparameters={'zero_1': 1})\n",
        "print('ml.trn1.32xlarge is small')\n",
    ],
)
def test_what_is_not_known_to_run_on_trainium_stays(text: str) -> None:
    done = migration(text)

    assert done.text == HEAD + text
    assert not done.findings
