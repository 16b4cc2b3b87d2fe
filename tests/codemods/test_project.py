"""What one file must know about the others: names they pass on, and names they take from it."""

from __future__ import annotations

import pytest

from neuron_codemods import ModuleFacts, Project, Settings, SourceError, collect, migrate

NAMES = Settings(select=("NM0", "NM101", "NM102"))


def project(**files: str) -> Project:
    """Files by path, with ``__`` for a slash and without the extension."""
    return Project(tuple(collect(text, path) for path, text in paths(files).items()))


def paths(files: dict[str, str]) -> dict[str, str]:
    return {f"{name.replace('__', '/')}.py": text for name, text in files.items()}


OLD = "from optimum.neuron import NeuronTrainer\n\nprint(NeuronTrainer)\n"
RENAMED = "from transformers import Trainer\n\nprint(Trainer)\n"
KEPT = "from transformers import Trainer as NeuronTrainer\n\nprint(NeuronTrainer)\n"


def test_facts() -> None:
    facts = collect(
        "from optimum.neuron import NeuronTrainer as T, nothing\nimport optimum.neuron\nfrom .a import b as c\n"
        "from d import *\nimport e\nfrom transformers import Trainer\n\n\ndef f():\n    from g import h\n",
        "src/train/model.py",
    )
    assert facts.exports == {"T": "optimum.neuron.NeuronTrainer"}
    assert facts.takes >= {(".a", "b"), ("d", "*"), ("g", "h")}
    assert facts.dotted == ("src", "train", "model")
    assert ModuleFacts("src/train/__init__.py").dotted == ("src", "train")


def test_facts_of_a_text_with_a_byte_order_mark() -> None:
    assert collect(f"\ufeff{OLD}", "a.py").exports == {"NeuronTrainer": "optimum.neuron.NeuronTrainer"}


def test_facts_of_what_is_no_python() -> None:
    with pytest.raises(SourceError):
        collect("print 'x'\n", "a.py")


@pytest.mark.parametrize(
    "taker",
    [
        "from package.trainers import NeuronTrainer\n",
        "from .trainers import NeuronTrainer\n",
        "from ..package.trainers import NeuronTrainer as T\n",
        "from package.trainers import *\n",
        "def f():\n    from trainers import NeuronTrainer\n",
    ],
)
def test_a_name_that_another_file_takes_stays(taker: str) -> None:
    files = project(package__trainers=OLD, package__main=taker)
    assert migrate(OLD, path="package/trainers.py", settings=NAMES, project=files).text == KEPT


@pytest.mark.parametrize(
    "taker",
    [
        "from package.trainers import Other\n",
        "from package.other import NeuronTrainer\n",
        "from package.trainers.deeper import NeuronTrainer\n",
        "import package.trainers\n",
        "from optimum.neuron import NeuronTrainer\n",
    ],
)
def test_a_name_that_no_other_file_takes_is_renamed(taker: str) -> None:
    files = project(package__trainers=OLD, package__main=taker)
    assert migrate(OLD, path="package/trainers.py", settings=NAMES, project=files).text == RENAMED


def test_a_package_passes_names_to_its_users() -> None:
    files = project(package____init__=OLD, main="from package import NeuronTrainer\n")
    assert migrate(OLD, path="package/__init__.py", settings=NAMES, project=files).text == KEPT


def test_a_file_takes_nothing_from_itself() -> None:
    text = OLD.replace("print", "from trainers import NeuronTrainer as N\nprint")
    files = project(trainers=text)
    assert "Trainer as NeuronTrainer" not in migrate(text, path="trainers.py", settings=NAMES, project=files).text


def test_a_call_through_another_file_is_seen() -> None:
    shared = "from optimum.neuron import NeuronTrainer, NeuronTrainingArguments\n"
    main = (
        "from shared import NeuronTrainer, NeuronTrainingArguments as Args\n\n"
        "trainer = NeuronTrainer(args=Args('out'), tokenizer=tokenizer)\n"
    )
    files = project(shared=shared, main=main)
    settings = Settings(select=("NM120",))
    migration = migrate(main, path="main.py", settings=settings, project=files)
    assert migration.text == main.replace("tokenizer=", "processing_class=")
    assert not migrate(main, path="main.py", settings=settings).changed
    assert migrate(migration.text, path="main.py", settings=settings, project=files).text == migration.text


def test_the_import_of_a_passed_on_name_stays() -> None:
    main = "from .shared import NeuronTrainer\n\nprint(NeuronTrainer)\n"
    files = project(package__shared=OLD, package__main=main)
    assert not migrate(main, path="package/main.py", settings=NAMES, project=files).changed


def test_a_class_is_followed_to_the_file_of_the_whole_name() -> None:
    taker = "from base import *\nimport base\n\nT(tokenizer=t)\nbase.T(tokenizer=t)\n"
    files = project(
        base="from optimum.neuron import NeuronTrainer\n\n\nclass T(NeuronTrainer):\n    pass\n\n\n"
        "class U(mixed(T)):\n    pass\n",
        other__base="class T(Q):\n    pass\n",
        main=taker,
    )
    assert "base.T(processing_class=t)\n" in migrate(taker, path="main.py", project=files).text


def test_files_with_equal_names_are_told_apart() -> None:
    files = project(a__shared=OLD, b__shared="class NeuronTrainer: ...\n", main="from b.shared import NeuronTrainer\n")
    assert files.resolve("a.shared.NeuronTrainer") == "optimum.neuron.NeuronTrainer"
    assert files.resolve("b.shared.NeuronTrainer") == "b.shared.NeuronTrainer"
    assert files.resolve("shared.Other") == "shared.Other"
    assert files.resolve("NeuronTrainer") == "NeuronTrainer"
    assert not files.is_taken("a/shared.py", "NeuronTrainer")
    assert files.is_taken("b/shared.py", "NeuronTrainer")


def test_every_file_of_a_project_twice() -> None:
    files = {
        "package/__init__.py": "from .shared import NeuronTrainer, Args\n\n__all__ = ['Args', 'NeuronTrainer']\n",
        "package/shared.py": "from optimum.neuron import NeuronTrainer, NeuronTrainingArguments as Args\n",
        "package/main.py": "from . import Args, NeuronTrainer\n\n"
        "NeuronTrainer(args=Args('x', bf16=True), tokenizer=t)\n",
        "package/sub.py": "from optimum.neuron import NeuronTrainer\n\n\nclass Mine(NeuronTrainer):\n    pass\n",
        "main.py": "import package\nfrom package.sub import Mine\n\nMine(tokenizer=package)\n",
    }
    once = run(files)
    assert once["package/shared.py"].startswith(
        "from transformers import Trainer as NeuronTrainer, TrainingArguments as Args"
    )
    assert once["package/sub.py"].startswith("from transformers import Trainer\n")
    assert run(once) == once


def run(files: dict[str, str]) -> dict[str, str]:
    facts = Project(tuple(collect(text, path) for path, text in files.items()))
    return {path: migrate(text, path=path, project=facts).text for path, text in files.items()}
