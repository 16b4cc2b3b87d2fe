"""A few generated texts of the other kinds, and a statement that could not stand without its parentheses."""

from __future__ import annotations

import random

import pytest

from neuron_codemods.model import Settings

from . import contracts, texts


@pytest.mark.parametrize("kind", texts.NAMES)
def test_generated_texts_keep_every_promise(kind: str) -> None:
    for number in range(12):
        text = texts.text(kind, random.Random(f"{kind}:suite:{number}"))
        assert list(texts.violations(kind, text)) == [], text


def test_an_argument_over_several_lines_keeps_its_parentheses_above_the_statement() -> None:
    text = (
        "import torch_neuronx\nimport torch_xla.core.xla_model as xm\n"
        'print(xm.all_reduce("max", loss\n.detach(), scale=2.0), torch_neuronx)\n'
    )
    assert contracts.violations(text, Settings()) == []
