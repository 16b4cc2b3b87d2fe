"""A class that a project derives from a trainer or from arguments is one of them, in whatever file it stands."""

from __future__ import annotations

import pytest

from neuron_codemods import Project, collect, migrate

BASE = "from optimum.neuron import NeuronTrainer as Trainer\n\n\nclass MyTrainer(Trainer):\n    pass\n"


def run(files: dict[str, str], path: str) -> str:
    project = Project(tuple(collect(text, name) for name, text in files.items()))
    return migrate(files[path], path=path, project=project).text


def made(imports: str, name: str = "MyTrainer") -> str:
    return f"{imports}\n\ntrainer = {name}(model=model, tokenizer=tokenizer)\nprint(trainer.tokenizer)\n"


@pytest.mark.parametrize(
    ("files", "imports", "name"),
    [
        pytest.param({"mine.py": BASE}, "from mine import MyTrainer", "MyTrainer", id="by name"),
        pytest.param({"mine.py": BASE}, "from mine import MyTrainer as T", "T", id="by an alias"),
        pytest.param({"mine.py": BASE}, "import mine", "mine.MyTrainer", id="by its module"),
        pytest.param(
            {"package/mine.py": BASE, "package/__init__.py": "from .mine import MyTrainer\n"},
            "from package import MyTrainer",
            "MyTrainer",
            id="through a package",
        ),
        pytest.param(
            {"mine.py": BASE, "other.py": "from mine import MyTrainer\n\n\nclass Third(MyTrainer):\n    pass\n"},
            "from other import Third",
            "Third",
            id="through two files",
        ),
        pytest.param(
            {"mine.py": f"{BASE}\n\nclass Third(MyTrainer):\n    pass\n"},
            "from mine import Third",
            "Third",
            id="through two classes of a file",
        ),
        pytest.param(
            {
                "mine.py": BASE.replace(
                    "    pass", "    def __init__(self, *args, extra=None, **kwargs):\n        pass"
                )
            },
            "from mine import MyTrainer",
            "MyTrainer",
            id="with keywords that it passes on",
        ),
    ],
)
def test_a_call_of_a_trainer_of_another_file(files: dict[str, str], imports: str, name: str) -> None:
    text = run({**files, "train.py": made(imports, name)}, "train.py")

    assert f"{name}(model=model, processing_class=tokenizer)" in text
    assert "print(trainer.processing_class)" in text
    assert "configure()" in text


@pytest.mark.parametrize(
    "definition",
    [
        pytest.param(
            BASE.replace("    pass", "    def __init__(self, model, tokenizer):\n        pass"),
            id="a parameter of its own",
        ),
        pytest.param(
            "from transformers import Trainer\n\n\nclass MyTrainer(Trainer):\n    pass\n", id="a native trainer"
        ),
        pytest.param("class MyTrainer:\n    pass\n", id="no trainer"),
        pytest.param("class MyTrainer(MyTrainer):\n    pass\n", id="a circle"),
    ],
)
def test_a_keyword_that_does_not_reach_the_library_stays(definition: str) -> None:
    text = run({"mine.py": definition, "train.py": made("from mine import MyTrainer")}, "train.py")

    assert "MyTrainer(model=model, tokenizer=tokenizer)" in text


def test_arguments_of_another_file() -> None:
    files = {
        "mine.py": "from dataclasses import dataclass\n\nfrom optimum.neuron import NeuronTrainingArguments\n\n\n"
        "@dataclass\nclass MyArguments(NeuronTrainingArguments):\n    lora_r: int = 8\n    report_to: str = 'none'\n",
        "train.py": "from mine import MyArguments\nfrom transformers import HfArgumentParser\n\n"
        "parser = HfArgumentParser(MyArguments)\n(args,) = parser.parse_args_into_dataclasses()\n"
        "print(args.lora_r, args.evaluation_strategy)\n",
    }
    text = run(files, "train.py")

    assert 'parser.set_defaults(average_tokens_across_devices=False, optim="adamw_torch")' in text
    assert "print(args.lora_r, args.eval_strategy)" in text


def test_a_loss_of_a_class_that_derives_from_another_file() -> None:
    head = "from mine import MyTrainer\n\n\nclass Third(MyTrainer):\n"
    loss = f"{head}    def compute_loss(self, model, inputs):\n        pass\n"
    text = run({"mine.py": BASE, "third.py": loss}, "third.py")

    assert "def compute_loss(self, model, inputs, num_items_in_batch=None):" in text


def test_a_second_run_changes_nothing() -> None:
    files = {"mine.py": BASE, "train.py": made("from mine import MyTrainer")}
    once = {path: run(files, path) for path in files}

    assert {path: run(once, path) for path in once} == once
