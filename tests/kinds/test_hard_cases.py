"""Texts of all kinds that are written in unusual ways: each becomes what it means, or stays with a word about it."""

from __future__ import annotations

import pytest

from neuron_codemods import Migration, Outcome, SourceError, engine, migrate_text
from neuron_codemods.kinds import requirements, shell

from .notebooks import notebook, sources

IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/huggingface-pytorch-training-neuronx:2.1"
INDEX = "https://pip.repos.neuron.amazonaws.com"
GONE = "NEURON_FUSE_SOFTMAX=1"


def migrated(kind: str, text: str) -> Migration:
    migration = migrate_text(kind, text)
    assert migrate_text(kind, migration.text).text == migration.text
    return migration


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("dockerfile", "FROM x\nCMD [1]\nRUN [a\n", "FROM x\nCMD [1]\nRUN [a\n"),
        (
            "yaml",
            'run: "torchrun train.py --zero_1 \\t"\n',
            'run: "HF_DEACTIVATE_ASYNC_LOAD=1 torchrun train.py \\t"\n',
        ),
        (
            "yaml",
            "command: [torchrun, train.py, --zero_1]\n",
            'command: ["env", "HF_DEACTIVATE_ASYNC_LOAD=1", "torchrun", "train.py"]\n',
        ),
        (
            "yaml",
            f"command: ['{GONE}', 'NEURON_RT_LOG_LEVEL=1', x]\n",
            'command: ["env", "NEURON_RT_LOG_LEVEL=1", "x"]\n',
        ),
        (
            "rst",
            f"neuron-migrate\n\n.. code:: bash\n\n   {GONE} x\n",
            "neuron-migrate\n\n.. code:: bash\n\n   x\n",
        ),
        (
            "setup_cfg",
            "[options]\ninstall_requires = libneuronxla\n  x\n",
            "[options]\ninstall_requires = \n  x\n",
        ),
        (
            "pyproject",
            "a = 1\n[tool.poetry.dependencies]\ntorch = { version = '2.8', markers = \"os_name == 'posix'\" }\n"
            "libneuronxla = { git = 'https://x', markers = \"os_name == 'posix'\" }\n",
            'a = 1\n[tool.poetry.dependencies]\ntorch = { version = "==2.14.*", markers = \'os_name == "posix"\' }\n',
        ),
        (
            "pyproject",
            f"# {INDEX}\n[project]\nrequires-python = 'huh'\n"
            "dependencies = ['torch==2.8; os_name == \"posix\"', 'libneuronxla', 'torchvision']\n",
            f"# {INDEX}\n[project]\nrequires-python = 'huh'\n"
            "dependencies = ['torch==2.14.*; os_name == \"posix\"', 'torchvision']\n",
        ),
        (
            "pyproject",
            "[project]\ndependencies = [\"torch==2.8; os_name == 'posix'\", 'libneuronxla']\n",
            "[project]\ndependencies = ['torch==2.14.*; os_name == \"posix\"']\n",
        ),
        ("requirements", "libneuronxla\noptimum\ntorchvision\n", "optimum\ntorchvision\n"),
    ],
)
def test_what_becomes_of_it(kind: str, before: str, after: str) -> None:
    assert migrated(kind, before).text == after


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("yaml", 'run: "pip install optimum-neuron \\x41"\n', "escapes of YAML"),
        ("dockerfile", f"# escape=`\nFROM x\nENV {GONE} `\n  A=b\n", "This part cannot be read"),
        ("dockerfile", "FROM x\nRUN optimum-cli neuron cache list && \\\n # c\n a\n", "Do this by hand"),
        (
            "dockerfile",
            f"ARG BASE={IMAGE}\nFROM $BASE\n",
            "Build on an image that has torch-neuronx",
        ),
        (
            "pyproject",
            "[project]\ndependencies = [\n  'x',\n  'optimum-neuron; python_version < \"3.9\"',\n]\n",
            "which this marker excludes",
        ),
        ("pyproject", "[tool.poetry.dependencies]\noptimum-neuron = [{ version = '1' }]\n", "optimum-neuron"),
        ("shell", "python - <<'E'\nfrom optimum.neuron import (\nE\n", "This cannot be read (not Python 3"),
        ("shell", "bash -c \"python -c 'from optimum.neuron import ('\"\n", "This cannot be read"),
    ],
)
def test_what_is_told(kind: str, text: str, message: str) -> None:
    migration = migrated(kind, text)
    assert any(message in each.message for each in migration.findings if each.outcome is Outcome.MANUAL)
    lines = migration.text.splitlines(keepends=True)
    assert "".join(line for line in lines if "TODO(neuron-migrate" not in line) == text


def test_a_suppression_below_the_last_requirement() -> None:
    migration = migrate_text("requirements", "libneuronxla\n# neuron-migrate: ignore[NM501]\n")
    assert {finding.code for finding in migration.findings} == {"NM501", "NM002"}


def test_notebooks_in_the_language_of_the_shell() -> None:
    assert sources(migrated("notebook", notebook(f"export {GONE}\nx", language="bash")).text) == ["x"]


def test_a_script_in_a_notebook_that_is_no_python() -> None:
    text = notebook("%%writefile train.py\nfrom optimum.neuron import (", "from optimum.neuron import NeuronTrainer")
    migration = migrated("notebook", text)
    assert sources(migration.text)[1] == "from transformers import Trainer"
    assert "This cannot be read" in " ".join(finding.message for finding in migration.findings)


def test_nesting_without_end() -> None:
    with pytest.raises(SourceError, match="nested too deeply"):
        migrate_text("notebook", "[" * 100_000)


def test_a_cell_of_commands_that_cannot_be_read_around_a_change() -> None:
    text = notebook(f"%%bash\na )\n{GONE} > l\n{{ ")
    migration = migrated("notebook", text)
    assert migration.text == text
    assert "what is around it depends on it" in migration.findings[0].message


# What may not be written ------------------------------------------------------------------------------------------


def test_a_text_that_cannot_be_read_around_a_change_is_left() -> None:
    with pytest.raises(SourceError, match="what is around it depends on it"):
        migrate_text("shell", f"a )\n{GONE} > l\n{{ ")
    with pytest.raises(RuntimeError, match="nothing was changed"):
        migrate_text("shell", f"{GONE} > l\n{{ ")


@pytest.mark.parametrize(
    ("problem", "raised"), [(SourceError("no", 1), RuntimeError), (RecursionError(), SourceError)]
)
def test_a_parser_that_fails(problem: Exception, raised: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    parse = requirements.parse

    def fail(text: str, path: str) -> object:
        if isinstance(problem, RecursionError) or "libneuronxla" not in text:
            raise problem
        return parse(text, path)

    monkeypatch.setattr(requirements, "parse", fail)
    with pytest.raises(raised, match=r"nested too deeply|nothing was changed"):
        migrate_text("requirements", "libneuronxla\nx\n")


def test_a_command_of_a_cell_that_cannot_be_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(text: str, path: str) -> object:
        raise SourceError("no", 1)

    monkeypatch.setattr(shell, "parse", fail)
    migration = migrate_text("notebook", notebook(f"!{GONE} python train.py"))
    assert not migration.changed
    assert "This cannot be read (no)" in migration.findings[0].message


def test_no_magic_of_a_cell_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "apply", lambda *_: "x = 1\n")
    with pytest.raises(RuntimeError, match="a magic or shell line of a cell would be lost"):
        migrate_text("notebook", notebook("!ls\nfrom optimum.neuron import NeuronTrainer\nNeuronTrainer()"))
