"""``--verify``: what the libraries of an interpreter lack, told beside what was migrated."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from neuron_migrate.results import FileResult
from neuron_migrate.verify import verifier
from neuron_migrate.verify.verifier import Verifier, VerifyError

from .support import REAL, Ended, Project

LIBRARY = """
__version__ = "9.9"

class TrainingArguments:
    def __init__(self, output_dir, learning_rate=1.0):
        print("made")

class Trainer:
    def __init__(self, model=None, args=None, **options): ...
    def train(self, resume=None): ...

def pipeline(task, model): ...

print("hello")
"""


@pytest.fixture
def check(tmp_path: Path) -> object:
    """Verify a native script against a small stand-in of transformers."""
    library = tmp_path / "library"
    library.mkdir()
    (library / "transformers.py").write_text(LIBRARY)
    project = Project(tmp_path / "project", REAL)
    project.root.mkdir()

    def run(text: str, *given: str) -> Ended:
        project.write({"a.py": text})
        path = os.pathsep.join((str(library), str(project.root)))
        interpreter = project.root / "python"
        interpreter.write_text(f'#!/bin/sh\nPYTHONPATH={path} exec {sys.executable} -S "$@"\n')
        interpreter.chmod(0o755)
        return project.run("a.py", "--check", "--verify", "--python", str(interpreter), *given)

    return run


def told(ended: Ended) -> list[str]:
    return [line for line in ended.lines if line.startswith("a.py:") and "NM009" in line]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("from transformers import Trainer, TrainingArguments, pipeline\n", []),
        (
            "from transformers import Nothing\nNothing(1)\n",
            ["a.py:1:26: NM009 manual transformers has no Nothing in its version 9.9."],
        ),
        (
            "import transformers.gone as g\ng.x()\n",
            ["a.py:1:8: NM009 manual transformers has no gone in its version 9.9."],
        ),
        ("try:\n    from transformers import Nothing\nexcept ImportError:\n    Nothing = None\n", []),
        (
            "from transformers import TrainingArguments\nTrainingArguments('x', learning_rate=1, warmup=2)\n",
            ["a.py:2:1: NM009 manual TrainingArguments: got an unexpected keyword argument 'warmup'."],
        ),
        ("from transformers import TrainingArguments\nTrainingArguments(**x)\nTrainingArguments(*x)\n", []),
        (
            "from transformers import TrainingArguments\nTrainingArguments(warmup=1, **x)\n",
            ["a.py:2:1: NM009 manual TrainingArguments: got an unexpected keyword argument 'warmup'."],
        ),
        (
            "from transformers import Trainer\nt = Trainer(x=1)\nt.train(resume=1)\nt.train(again=1)\nt.other()\n",
            ["a.py:4:1: NM009 manual Trainer.train: got an unexpected keyword argument 'again'."],
        ),
        (
            "from transformers import Trainer\nclass T(Trainer):\n    def train(self):\n        super().train(1, 2)\n",
            ["a.py:4:9: NM009 manual Trainer.train: too many positional arguments."],
        ),
        (
            "import transformers as t\nt.pipeline('x')\n",
            ["a.py:2:1: NM009 manual pipeline: missing a required argument: 'model'."],
        ),
        ("from diffusers import Flux\n", ["a.py:1:23: NM009 manual diffusers is not installed."]),
    ],
)
def test_what_is_told(check: object, text: str, said: list[str]) -> None:
    ended = check(text)  # type: ignore[operator]
    assert told(ended) == said
    assert ended.status == (4 if said else 0)


def test_the_migrated_text_is_verified_and_told_where_the_old_one_stands(check: object) -> None:
    text = "from optimum.neuron import NeuronTrainer\n\nx = 1\ntrainer = NeuronTrainer(model=m)\ntrainer.evaluate()\n"
    shim = "a.py:1:25: NM009 manual neuron_shim is not installed."
    assert told(check(text)) == [shim]  # type: ignore[operator]
    ended = check(text + "trainer.train(never=1)\n")  # type: ignore[operator]
    assert told(ended) == [shim, "a.py:6:1: NM009 manual Trainer.train: got an unexpected keyword argument 'never'."]


def test_a_native_script_is_verified_and_left_as_it_is(check: object) -> None:
    ended = check("from transformers import TrainingArguments\nTrainingArguments('x', evaluation_strategy='no')\n")  # type: ignore[operator]
    assert [line.split()[1] for line in ended.lines if line.startswith("a.py:")] == ["NM009"]
    assert "0 would be rewritten" in ended.text


def test_an_interpreter_that_cannot_answer_is_wrong_usage(project: Project) -> None:
    project.write({"a.py": "import optimum.neuron\nimport transformers\n"})
    ended = Project(project.root, REAL).run(".", "--check", "--verify", "--python", "/nowhere/python")
    assert ended.status == 2
    assert "'/nowhere/python' cannot be run: No such file or directory" in ended.err
    ended = Project(project.root, REAL).run(".", "--check", "--verify", "--python", "/bin/false")
    assert ended.status == 2
    assert "'/bin/false' cannot tell what its libraries have: it ended without a word" in ended.err
    assert project.run(".", "--python", "python3").status == 2


def test_what_an_interpreter_says_when_it_starts_is_no_answer(check: object, tmp_path: Path) -> None:
    noisy = tmp_path / "noisy"
    noisy.write_text(f'#!/bin/sh\necho Welcome to the cluster\necho [null]\nexec {sys.executable} -S "$@"\n')
    noisy.chmod(0o755)
    ended = check("from transformers import Trainer\n", "--python", str(noisy))  # type: ignore[operator]
    assert told(ended) == ["a.py:1:26: NM009 manual transformers is not installed."]


@pytest.mark.parametrize("program", ["sleep 100", f"exec {sys.executable} -c 'import time; time.sleep(100)'"])
def test_an_interpreter_that_never_answers_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(verifier, "STARTS_WITHIN", 0.2)
    silent = tmp_path / "silent"
    silent.write_text(f"#!/bin/sh\n{program}\n")
    silent.chmod(0o755)
    result = FileResult("a.py", b"from transformers import Trainer\n")
    with pytest.raises(VerifyError, match=r"no answer came within 0\.2 seconds"), Verifier(str(silent)) as asked:
        asked.checked(result, written=False)
