"""The release a script was written for, told from what it uses, decides which defaults are brought back."""

from __future__ import annotations

import pytest

from neuron_codemods.module import Module
from neuron_codemods.releases import Era, bounds, era


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("from optimum.neuron import NeuronTrainer\n", Era.EITHER, id="a name of every release"),
        pytest.param("from optimum.neuron import TrainiumTrainer\n", Era.OLD, id="a name of the first releases"),
        pytest.param("from optimum.neuron.distributed import lazy_load_for_parallelism\n", Era.OLD, id="lazy loading"),
        pytest.param(
            "from optimum.neuron import NeuronTrainingArguments\nNeuronTrainingArguments('o', use_autocast=True)\n",
            Era.NEW,
            id="a keyword of 0.4",
        ),
        pytest.param(
            "from optimum.neuron import NeuronTrainingArguments\n"
            "NeuronTrainingArguments('o', evaluation_strategy='no')\n",
            Era.OLD,
            id="a keyword that 0.4 refused",
        ),
        pytest.param(
            "from optimum.neuron import NeuronTrainer\nt = NeuronTrainer(m)\nt.evaluate()\n",
            Era.OLD,
            id="a method that 0.4 lacked",
        ),
        pytest.param(
            "from optimum.neuron import NeuronTrainer\nmetric.evaluate()\n",
            Era.EITHER,
            id="a method of something else",
        ),
        pytest.param("import transformers\n", Era.EITHER, id="nothing of Optimum Neuron"),
    ],
)
def test_era(text: str, expected: Era) -> None:
    assert era(Module(text)) is expected


def test_bounds_are_those_of_all_names_together() -> None:
    text = (
        "from optimum.neuron import NeuronSFTTrainer\n"
        "from optimum.neuron.distributed import lazy_load_for_parallelism\n"
    )

    assert bounds(Module(text)) == ((0, 0, 25), (0, 2, 0))
