"""What pip and uv are told to install, in shell scripts and in notebooks."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from neuron_codemods import Outcome, migrate_text

NEURON = "--extra-index-url https://pip.repos.neuron.amazonaws.com"
TORCH = "--extra-index-url https://download.pytorch.org/whl/cpu"


def migrated(text: str) -> str:
    after = migrate_text("shell", text).text
    assert migrate_text("shell", after).text == after
    subprocess.run(["bash", "-n"], input=after, text=True, check=True)
    return after


@pytest.mark.parametrize(
    "command",
    [
        "pip install",
        "pip3 install -q",
        "python -m pip install --upgrade",
        "python3.10 -m pip install -r other.txt",
        "sudo -H pip install",
        "uv pip install --system",
        "/opt/venv/bin/pip install --no-cache-dir",
    ],
)
def test_commands_that_install(command: str) -> None:
    words = shlex.split(migrated(f"{command} torch-neuronx==2.8.0 libneuronxla pandas\n"))
    assert words[-2:] == ["torch-neuronx==2.14.*", "pandas"]
    assert [word for word in words if word.startswith("https")] == [NEURON.split()[1], TORCH.split()[1]]


@pytest.mark.parametrize(
    "text",
    [
        "pip uninstall -y optimum-neuron\n",
        "pip download optimum-neuron\n",
        "pip install -r optimum-neuron.txt ./optimum-neuron\n",
        "echo 'pip install optimum-neuron'\n",
        "apt-get install aws-neuronx-tools\n",
        "pip install --find-links optimum-neuron pandas\n",
        "pip install $OPTIMUM_NEURON\n",
    ],
)
def test_other_commands_stay(text: str) -> None:
    found = migrate_text("shell", text).findings
    assert [finding for finding in found if finding.code == "NM505"] == []


def test_the_rest_of_a_line_stays() -> None:
    text = (
        "set -e; pip install torch-xla optimum-neuron==0.1 \\\n    pandas  # all\n"
        "if true; then pip install libneuronxla; fi\n"
    )
    assert migrated(text) == (
        f"set -e; pip install {NEURON} {TORCH} 'torch-neuronx==2.14.*' 'neuronx-cc==2.*' nki 'transformers>=5.24' "
        "'accelerate>=1.15' \\\n    pandas  # all\nif true; then :; fi\n"
    )


def test_a_step_that_others_wait_for_is_left_to_a_person() -> None:
    text = "pip install libneuronxla || exit 1\n"
    migration = migrate_text("shell", text)
    assert {finding.outcome for finding in migration.findings} <= {Outcome.MANUAL, Outcome.REWRITTEN}
    subprocess.run(["bash", "-n"], input=migration.text, text=True, check=True)


def test_uv_add_has_an_option_of_its_own() -> None:
    assert migrated("uv add torch-neuronx==2.8\n").startswith("uv add --index https://pip.repos.neuron.amazonaws.com ")


def test_notebooks_install_the_native_stack() -> None:
    import json

    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": ""}
    sources = ['!pip install "optimum-neuron[neuronx]" pandas', "%pip install -q torch-neuronx==2.8"]
    book = {
        "cells": [{**cell, "source": source} for source in sources],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    after = json.loads(migrate_text("notebook", json.dumps(book)).text)
    first, second = (shlex.split(each["source"]) for each in after["cells"])
    assert first[:2] == ["!pip", "install"]
    assert "torch-neuronx==2.14.*" in first
    assert second[-1] == "torch-neuronx==2.14.*"


@pytest.mark.parametrize("pip", ['"$V/bin/pip"', "${VENV}/bin/pip3", "$V/bin/python -m pip"])
def test_an_installer_in_a_folder_that_only_the_run_knows(pip: str) -> None:
    text = migrate_text("shell", f"{pip} install optimum-neuron\n").text
    assert text.startswith(f"{pip} install ")
    assert "optimum-neuron" not in text


@pytest.mark.parametrize("pip", ["$PIP", '"$(which pip)"'])
def test_an_installer_that_only_the_run_knows(pip: str) -> None:
    text = f"{pip} install optimum-neuron\n"
    assert migrate_text("shell", text).text == text
