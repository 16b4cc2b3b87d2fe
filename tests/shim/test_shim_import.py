"""Importing the shim costs nothing and changes nothing."""

from __future__ import annotations

import re

import pytest

import neuron_shim

IMPORT = """
import json, os, sys
before = dict(os.environ)
import neuron_shim
heavy = {"torch", "transformers", "accelerate", "libcst", "click", "rich", "neuron_migrate", "neuron_codemods"}
print(json.dumps({"heavy": sorted(heavy & set(sys.modules)), "same environment": dict(os.environ) == before}))
"""


def test_import_loads_no_library_changes_no_variable_and_says_nothing(python):
    done = python(IMPORT)
    assert (done.stdout.strip(), done.stderr) == ('{"heavy": [], "same environment": true}', "")


def test_rank_and_sizes_need_no_torch(python):
    script = "import sys, neuron_shim as s; print(s.is_main_process(), s.parallel_sizes(2), 'torch' in sys.modules)"
    done = python(script, RANK="1", WORLD_SIZE="4")
    assert done.stdout.strip() == "False {'tp_size': 2, 'fsdp_size': 2} False"


def test_public_names():
    assert neuron_shim.__all__ == [
        *("average_gradients", "compile_static", "configure", "is_main_process", "neuron_device", "parallel_sizes"),
    ]
    assert all(
        callable(getattr(neuron_shim, name)) and getattr(neuron_shim, name).__doc__ for name in neuron_shim.__all__
    )


def test_version():
    assert re.match(r"\d", neuron_shim.__version__)


def test_version_of_a_source_tree(monkeypatch):
    from importlib import metadata

    def not_installed(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", not_installed)
    assert neuron_shim.__version__ == "0+unknown"


def test_unknown_name():
    with pytest.raises(AttributeError, match="'neuron_shim' has no attribute 'nope'"):
        neuron_shim.nope  # noqa: B018
