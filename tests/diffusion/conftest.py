"""The tiny pipelines, built once for all tests of this folder."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def pipelines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every tiny pipeline, component and adapter."""
    for name in ("diffusers", "peft", "transformers"):
        pytest.importorskip(name)
    folder = tmp_path_factory.mktemp("pipelines")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the libraries warn when they are imported, and of settings of old schedulers
        from . import tiny

        tiny.build(folder)
    return folder
