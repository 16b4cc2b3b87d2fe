from __future__ import annotations

import subprocess
import sys

import pytest

from neuron_codemods.data import RELEASES, release_key


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_loading_imports_no_library() -> None:
    code = (
        "import sys, neuron_codemods.data as data\n"
        "data.symbol('optimum.neuron', 'NeuronTrainer'), data.keywords('trainer')\n"
        "print(sorted({'libcst', 'click', 'rich', 'torch', 'transformers'} & set(sys.modules)))"
    )
    assert run(code) == "[]"


def test_importing_reads_no_table() -> None:
    code = (
        "import pkgutil\n"
        "pkgutil.get_data = lambda *_: exit('a table was read')\n"
        "import neuron_codemods.data as data\n"
        "print(data.is_neuron_module('optimum.neuron'))"
    )
    assert run(code) == "True"


def test_releases_are_in_order() -> None:
    assert list(RELEASES) == sorted(RELEASES, key=release_key)
    assert (RELEASES[0], RELEASES[-1], len(set(RELEASES))) == ("0.0.1", "0.4.5", 40)


@pytest.mark.parametrize(
    ("release", "key"),
    [("0.0.28", (0, 0, 28)), ("0.4.5", (0, 4, 5)), ("0.0.12.1", (0, 0, 12, 1))],
)
def test_release_key(release: str, key: tuple[int, ...]) -> None:
    assert release_key(release) == key


def test_release_keys_order_as_releases_do() -> None:
    assert release_key("0.0.9") < release_key("0.0.12") < release_key("0.0.12.1") < release_key("0.0.13")


@pytest.mark.parametrize("release", ["", "0.4.x", "latest"])
def test_release_key_of_something_else(release: str) -> None:
    with pytest.raises(ValueError, match="not a release"):
        release_key(release)
