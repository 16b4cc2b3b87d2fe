"""The migrated example draws its pictures with a tiny pipeline."""

from __future__ import annotations

import runpy
import sys
from typing import TYPE_CHECKING

import pytest

from tests.command.support import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.libraries
SCRIPT = REPOSITORY / "examples" / "image_generation" / "after" / "generate.py"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_it_draws_two_pictures_and_a_variation_for_each_prompt(
    pipelines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from PIL import Image

    options = {"model_id": pipelines / "sdxl", "lora_id": pipelines / "lora-xl", "size": 64, "steps": 2}
    arguments = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *arguments, "--output_dir", str(tmp_path), "--prompts", "a", "b"])
    monkeypatch.setenv("HF_DEACTIVATE_ASYNC_LOAD", "1")
    runpy.run_path(str(SCRIPT), run_name="__main__")
    pictures = {path.name: Image.open(path).size for path in tmp_path.iterdir()}
    names = ("0.png", "0b.png", "0_again.png", "1.png", "1b.png", "1_again.png")
    assert pictures == dict.fromkeys(names, (64, 64))
