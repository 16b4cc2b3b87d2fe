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
    ("before", "after"),
    [
        (
            f"{PARSER.format('NeuronTrainingArguments')}parser.set_defaults(max_steps=3)\n",
            "    max_steps=3,",
        ),
        (
            f"{PARSER.format('NeuronTrainingArguments')}a = parser.parse_args_into_dataclasses()\n"
            "print(a[0].tensor_parallel_size)\n",
            'print(parallel_sizes()["tp_size"])',
        ),
        (
            "from peft import LoraConfig, get_peft_model\n\n"
            "a = NeuronTrainingArguments('o', tensor_parallel_size=8)\n"
            "m = get_peft_model(AutoModelForCausalLM.from_pretrained('m'), LoraConfig())\n"
            "NeuronTrainer(m, a)\nprint(a.tensor_parallel_size)\n",
            'print(parallel_sizes(tp_size=1)["tp_size"])',
        ),
        (
            "import os\n\nif os.environ.get('NEURON_EXTRACT_GRAPHS_ONLY') != '1':\n    train()\nelse:\n    warm()\n",
            "train()",
        ),
        (
            "import os as system\n\nNeuronTrainingArguments('o', logging_dir='logs')\nprint(system)\n",
            "system.environ.setdefault(\"TENSORBOARD_LOGGING_DIR\", 'logs')",
        ),
        (
            "import os\n\nif os.environ.get('NEURON_EXTRACT_GRAPHS_ONLY', '1'):\n    train()\n",
            "if os.environ.get('NEURON_EXTRACT_GRAPHS_ONLY', '1'):",
        ),
        (
            "import os\n\nif os.environ.get('NEURON_EXTRACT_GRAPHS_ONLY') != '2':\n    train()\n",
            "if os.environ.get('NEURON_EXTRACT_GRAPHS_ONLY') != '2':",
        ),
        (
            "from optimum.neuron.utils import is_precompilation\n\n"
            "if is_precompilation():  # neuron-migrate: ignore[NM124]\n    warm_up()\nelse:\n    train()\n",
            "if is_precompilation():  # neuron-migrate: ignore[NM124]",
        ),
        (
            "from optimum.neuron.utils import is_precompilation\n\n"
            "if is_precompilation():\n    warm_up()  # neuron-migrate: ignore[NM124]\nelse:\n    train()\n",
            "    warm_up()  # neuron-migrate: ignore[NM124]",
        ),
        (
            "p = ArgumentParser()\np.add_argument(*names, name, '--tensor_parallel_size')\n",
            "p.add_argument(*names, name, '--tensor_parallel_size')",
        ),
        (
            "import optimum.neuron.utils as u\n\nif u.is_precompilation():\n    warm_up()\nelse:\n    train()\n",
            "train()",
        ),
    ],
)
def test_rewritten(before: str, after: str) -> None:
    assert after in migrate(HEAD + before).text.splitlines()


def test_a_length_that_is_given_under_its_old_name_is_not_spelled_out() -> None:
    before = "from optimum.neuron import NeuronORPOConfig\n\nNeuronORPOConfig('o', max_seq_length=256)\n"
    assert migrate(before).text.count("max_length=") == 1


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
        (
            "import torch_xla.core.xla_model as xm\n\n"
            "NeuronTrainingArguments('o', logging_dir=f'{xm.get_ordinal()}')\n",
            "Set it before the trainer is made; it was f'{xm.get_ordinal()}'.",
        ),
        (
            "import torch_xla.core.xla_model as xm\n\n"
            "NeuronTrainingArguments('o', split_batches=xm.get_ordinal() == 0)\n",
            "Put split_batches into accelerator_config",
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
            "a = NeuronTrainingArguments('o', pipeline_parallel_size=4)\nprint(a.pipeline_parallel_size)\n",
            "There are no pipeline stages natively: replace pipeline_parallel_size",
        ),
        (
            "a = NeuronTrainingArguments('o', tensor_parallel_size=8)\n"
            "m = AutoModelForCausalLM.from_pretrained('m')\n"
            "NeuronTrainer(m, a).train(resume_from_checkpoint=True)\n",
            "Add it to the trainer before it trains.",
        ),
        (
            "import optimum.neuron.distributed.checkpointing as d\n\n"
            "d.consolidate_model_parallel_checkpoints_to_unified_checkpoint(x, y, z)\n",
            "Checkpoints of the native trainer are whole safetensors and need no consolidation",
        ),
        (
            "from optimum.neuron.utils import *\n\nf = is_precompilation\n",
            "Replace is_precompilation() with False and delete the branch it guards",
        ),
        (
            "NeuronSFTConfig('o', label_smoothing_factor=0.1, neftune_noise_alpha=x)\n"
            "NeuronModelForCausalLM.from_pretrained('m')\n",
            "label_smoothing_factor was accepted and ignored by releases 0.4.0 to 0.4.5",
        ),
        (
            f"{PARSER.format('NeuronTrainingArguments')}parser.parse_json_file('a')\nother.parse_json_file('b')\n",
            "A file read by parse_json_file must hold the old defaults itself",
        ),
        (
            "a = NeuronTrainingArguments('o', overwrite_output_dir=x)\nprint(a.overwrite_output_dir)\n",
            "overwrite_output_dir is no argument natively: decide here",
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


OWN = "from dataclasses import dataclass\n\n\n@dataclass\nclass S:\n    {}\n\n\n"
PARSED = OWN + PARSER.format("(S, NeuronTrainingArguments)") + "{}, a = parser.parse_args_into_dataclasses()\n"
ASKED = "if not a.overwrite_output_dir:\n    pass\n"


@pytest.mark.parametrize(
    ("field", "target", "expected"),
    [
        ("x: int = 1", "s", "    x: int = 1\n    overwrite_output_dir: bool = False\n"),
        ("overwrite_output_dir: bool = False", "s", "if not s.overwrite_output_dir:\n"),
        ("x: int = 1", "s.x", "if not a.overwrite_output_dir:\n"),
        ("pass", "s", "if not a.overwrite_output_dir:\n"),
    ],
)
def test_whether_a_folder_is_overwritten_is_asked_of_the_script(field: str, target: str, expected: str) -> None:
    assert expected in migrate(HEAD + PARSED.format(field, target) + ASKED).text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a = NeuronTrainingArguments('o')\nf(*x, a.trn_config)\n", "There is no trn_config"),
        ("a = NeuronTrainingArguments(**o)\nprint(a.async_save)\n", "async_save is no argument natively"),
        ("a = NeuronTrainingArguments('o')\na.tensor_parallel_size = 2\n", "tensor_parallel_size is no argument"),
    ],
)
def test_an_attribute_is_left_for_a_person(text: str, told: str) -> None:
    result = migrate(HEAD + text)

    assert any(told in finding.message for finding in result.findings)
    assert result.text.endswith(text.partition("\n")[2])


METHOD = """\
class T(NeuronTrainer):
    def compute_loss(self, model, inputs, *, return_outputs=False{}):
        super().compute_loss(model, *a)
        super().compute_loss(model, **a)
        other().compute_loss(model)
        return super().compute_loss(model, inputs{})
"""


def test_a_method_gets_a_parameter_behind_those_by_keyword() -> None:
    more = ", num_items_in_batch=None", ", num_items_in_batch=num_items_in_batch"

    after = METHOD.format(*more).replace("NeuronTrainer", "Trainer")
    assert after in migrate(HEAD + METHOD.format("", "")).text
