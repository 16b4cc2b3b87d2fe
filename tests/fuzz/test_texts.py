"""A few generated texts of the other kinds, and a statement that could not stand without its parentheses."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from neuron_codemods.model import Settings

from . import contracts, texts


@pytest.mark.parametrize("kind", texts.NAMES)
def test_generated_texts_keep_every_promise(kind: str) -> None:
    for number in range(50):
        text = texts.text(kind, random.Random(f"{kind}:suite:{number}"))
        assert list(texts.violations(kind, text)) == [], text


FOUND = [json.loads(line) for line in Path(__file__).with_name("found_texts.jsonl").read_text("utf-8").splitlines()]
"""Texts that broke a promise once, each as small as it could be made."""


@pytest.mark.parametrize("found", FOUND, ids=lambda found: f"{found['seed']} {found['contract']}")
def test_what_was_found_once_stays_mended(found: dict[str, Any]) -> None:
    assert list(texts.violations(found["seed"].partition(":")[0], found["text"])) == []


def test_an_argument_over_several_lines_keeps_its_parentheses_above_the_statement() -> None:
    text = (
        "import torch_neuronx\nimport torch_xla.core.xla_model as xm\n"
        'print(xm.all_reduce("max", loss\n.detach(), scale=2.0), torch_neuronx)\n'
    )
    assert contracts.violations(text, Settings()) == []
