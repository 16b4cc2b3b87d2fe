"""Arguments, mappings and calls in shapes that scripts seldom have."""

from __future__ import annotations

import pytest

from neuron_codemods import migrate

HEAD = """\
from optimum.neuron import NeuronHfArgumentParser, NeuronSFTConfig, NeuronSFTTrainer, NeuronTrainer
from optimum.neuron import NeuronTrainingArguments
from optimum.neuron.models.training import NeuronModelForCausalLM
from transformers import AutoModelForCausalLM

"""
TRAINED = "NeuronTrainer(model=AutoModelForCausalLM.from_pretrained('m', {}))\n"
PARSER = "parser = NeuronHfArgumentParser({})\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (TRAINED.format("**options"), "Unless the ** mapping holds a dtype, weights load as the checkpoint"),
        (
            f"a = NeuronTrainingArguments('o', tensor_parallel_size=8)\n{TRAINED.format('device_map=None')}",
            "The model is sharded where it is loaded",
        ),
        (
            "class T(NeuronTrainer):\n    def f(self):\n        return self.synchronize_hub_cache()\n",
            "synchronize_hub_cache is gone",
        ),
        ("NeuronSFTConfig('o', dataset_kwargs={'skip_prepare_dataset': True}, dataset_text_field=None)\n", "goes: a"),
        (
            "a = NeuronTrainingArguments('o')\nwith a.world_size_as_dp_size() as b:\n    pass\n",
            "world_size_as_dp_size is gone",
        ),
        (
            "a = NeuronTrainingArguments('o')\nwith a.world_size_as_dp_size(), open(f):\n    pass\n",
            "world_size_as_dp_size is gone",
        ),
        (
            f"KINDS = (NeuronTrainingArguments,)\n{PARSER.format('KINDS')}"
            "(a,) = parser.parse_args_into_dataclasses()\n"
            "print(a.tensor_parallel_size)\n",
            "tensor_parallel_size",
        ),
        (
            "(a,) = NeuronHfArgumentParser(NeuronTrainingArguments).parse_args_into_dataclasses()\n"
            "print(a.tensor_parallel_size)\n",
            "tensor_parallel_size",
        ),
        (
            "a = NeuronTrainingArguments('o')\nif not a.overwrite_output_dir:\n    pass\n",
            "overwrite_output_dir",
        ),
        (
            f"{PARSER.format('NeuronTrainingArguments')}(a,) = parser.parse_args_into_dataclasses()\n"
            "if not a.overwrite_output_dir:\n    pass\n",
            "overwrite_output_dir is no argument natively: decide here",
        ),
    ],
)
def test_told(text: str, told: str) -> None:
    assert any(told in finding.message for finding in migrate(HEAD + text).findings)
