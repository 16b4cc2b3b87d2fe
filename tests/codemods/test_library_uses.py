"""What is asked of the installed libraries: only what they would be given."""

from __future__ import annotations

import pytest

from neuron_codemods.library_uses import library_uses
from neuron_codemods.module import Module

HEAD = "from dataclasses import dataclass\nfrom transformers import TrainingArguments\n\n\n"


@pytest.mark.parametrize(
    ("definition", "is_asked"),
    [
        ("class A(TrainingArguments):\n    x = 1\n", True),
        ("@dataclass\nclass A(TrainingArguments):\n    x: int = 1\n", False),
        ("@dataclass(kw_only=True)\nclass A(TrainingArguments):\n    x: int = 1\n", False),
        ("class A(TrainingArguments):\n    def __init__(self, x):\n        pass\n", False),
    ],
)
def test_a_derived_class_is_made_as_the_library_says_unless_it_says_so_itself(definition: str, is_asked: bool) -> None:
    uses = library_uses(Module(f"{HEAD}{definition}\n\nA(x=1)\n"))
    assert ("x" in {name for use in uses for name in use.keywords}) == is_asked
