"""What one file says about sizes reaches the file in which the model is loaded."""

from __future__ import annotations

import pytest

from neuron_codemods import Outcome, Project, collect, migrate

MODEL = """\
from optimum.neuron.models.training import NeuronModelForCausalLM


def load(name, trn_config, revision=None):
    return NeuronModelForCausalLM.from_pretrained(name, trn_config, revision=revision)
"""
MAIN = """\
from model import load
from optimum.neuron import NeuronTrainer, NeuronTrainingArguments

args = NeuronTrainingArguments("out", tensor_parallel_size=8)
trainer = NeuronTrainer(model=load("my/model", {given}), args=args)
"""


def run(files: dict[str, str]) -> dict[str, str]:
    project = Project(tuple(collect(text, path) for path, text in files.items()))
    return {path: migrate(text, path=path, project=project).text for path, text in files.items()}


@pytest.mark.parametrize("given", ["args.trn_config", "trn_config=args.trn_config"])
def test_a_configuration_that_another_file_no_longer_reads(given: str) -> None:
    files = {"model.py": MODEL, "main.py": MAIN.format(given=given)}
    after = run(files)

    assert "parallel_sizes(tp_size=8, model=name)" in after["model.py"]
    assert "def load(name, trn_config, revision=None):" in after["model.py"]
    assert f'load("my/model", {given.replace("args.trn_config", "None")})' in after["main.py"]
    assert run(after) == after


def test_a_configuration_that_another_file_still_reads() -> None:
    files = {"model.py": MODEL.replace("    return", "    print(trn_config)\n    return"), "main.py": MAIN}
    files["main.py"] = MAIN.format(given="args.trn_config")
    project = Project(tuple(collect(text, path) for path, text in files.items()))
    migration = migrate(files["main.py"], path="main.py", project=project)

    assert 'load("my/model", args.trn_config)' in migration.text
    assert any(finding.outcome is Outcome.MANUAL for finding in migration.findings)


def test_two_sizes_are_none() -> None:
    files = {
        "model.py": MODEL,
        "main.py": MAIN.format(given="args.trn_config"),
        "other.py": MAIN.format(given="args.trn_config").replace("=8", "=4"),
    }

    assert "parallel_sizes(model=name)" in run(files)["model.py"]


def test_a_tokenizer_that_a_derived_trainer_takes_out_of_its_keywords() -> None:
    text = (
        "from optimum.neuron import NeuronTrainer\n\n\nclass MyTrainer(NeuronTrainer):\n"
        "    def __init__(self, *args, **kwargs):\n"
        "        self.pad = kwargs['tokenizer'].pad_token_id\n"
        '        print(kwargs.get("tokenizer"), self.names["tokenizer"])\n'
        "        super().__init__(*args, **kwargs)\n\n\n"
        "MyTrainer(model=model, tokenizer=tokenizer)\n"
    )
    after = migrate(text).text

    assert "kwargs['processing_class'].pad_token_id" in after
    assert 'print(kwargs.get("processing_class"), self.names["tokenizer"])' in after
    assert "MyTrainer(model=model, processing_class=tokenizer)" in after


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("None", '"float32"'),
        ("model_args.torch_dtype", 'model_args.torch_dtype or "float32"'),
        ("options['dtype']", "options['dtype'] or \"float32\""),
        ("torch_dtype", 'torch_dtype or "float32"'),
        ('"float32"', '"float32"'),
    ],
)
def test_no_dtype_is_float32(given: str, expected: str) -> None:
    text = (
        "from optimum.neuron import NeuronTrainer\nfrom transformers import AutoModelForCausalLM\n\n"
        f'model = AutoModelForCausalLM.from_pretrained("m", torch_dtype={given})\nNeuronTrainer(model=model)\n'
    )

    assert f"dtype={expected}" in migrate(text).text.replace(",\n", ")\n")


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ("args.skip_cache_push", "False"),
        ("args.per_gpu_train_batch_size", "args.per_device_train_batch_size"),
        ("args.metrics_window_size", "50"),
        ("args.use_xser", "False"),
        ("args.seed", "args.seed"),
    ],
)
def test_arguments_that_are_read(read: str, expected: str) -> None:
    text = (
        "from optimum.neuron import NeuronTrainingArguments\n\n"
        f'args = NeuronTrainingArguments("out", use_xser=False)\nprint({read})\n'
    )

    assert f"\nprint({expected})\n" in migrate(text).text


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("ready and not is_precompilation()", "ready"),
        ("not is_precompilation() and ready", "ready"),
        ("ready or is_precompilation()", "ready"),
        ("ready and is_precompilation()", "ready and False"),
        ("(ready) and (not is_precompilation())", "(ready) and (not False)"),
    ],
)
def test_a_condition_without_precompilation(condition: str, expected: str) -> None:
    head = "from optimum.neuron import NeuronTrainer\nfrom optimum.neuron.utils import is_precompilation\n\n"
    after = migrate(f"{head}if {condition}:\n    NeuronTrainer(model=model).train()\n").text

    assert f"\nif {expected}:\n" in after
    assert "is_precompilation" not in after


@pytest.mark.parametrize("read", ["trainer.mp_enabled", "args.dp_size", "args.tensor_parallel_size"])
@pytest.mark.parametrize("mark", ["'", '"', "'''", '"""'])
def test_a_size_in_an_f_string_has_the_other_quotes(read: str, mark: str) -> None:
    text = (
        "from optimum.neuron import NeuronTrainer, NeuronTrainingArguments\n\n"
        'args = NeuronTrainingArguments("out")\ntrainer = NeuronTrainer(args=args)\n'
        f"print(f{mark}{{{read}}}{mark})\n"
    )

    assert "parallel_sizes(tp_size=1)[" in migrate(text).text
