"""How the tensor parallel size of a script reaches the place where its model is loaded."""

from __future__ import annotations

import pytest

from neuron_codemods import Outcome, migrate

IMPORTS = """\
from optimum.neuron import NeuronHfArgumentParser, NeuronTrainer, NeuronTrainingArguments
from optimum.neuron.distributed import lazy_load_for_parallelism
from optimum.neuron.models.training import NeuronModelForCausalLM, TrainingNeuronConfig
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

"""


def sizes(body: str, imports: str = IMPORTS) -> list[str]:
    """The arguments of each ``parallel_sizes`` in the migrated text of a script."""
    text = migrate(imports + body).text
    return [part.partition(")")[0] for part in text.split("parallel_sizes(")[1:]]


def messages(body: str, outcome: Outcome, imports: str = IMPORTS) -> str:
    return " ".join(finding.message for finding in migrate(imports + body).findings if finding.outcome is outcome)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            'a = NeuronTrainingArguments("o", tensor_parallel_size=8)\n'
            'm = NeuronModelForCausalLM.from_pretrained("m", a.trn_config)\n',
            'tp_size=8, model="m"',
            id="arguments built directly",
        ),
        pytest.param(
            "SIZE = 4\n"
            'a = NeuronTrainingArguments("o", tensor_parallel_size=SIZE)\n'
            'm = NeuronModelForCausalLM.from_pretrained("m", trn_config=a.trn_config)\n',
            'tp_size=4, model="m"',
            id="a constant",
        ),
        pytest.param(
            "def train(args):\n"
            '    a = NeuronTrainingArguments("o", tensor_parallel_size=args.tp)\n'
            "    config = a.trn_config\n"
            "    return NeuronModelForCausalLM.from_pretrained(args.model, config)\n",
            "tp_size=args.tp, model=args.model",
            id="an attribute of the same function",
        ),
        pytest.param(
            "def load(a):\n"
            '    return NeuronModelForCausalLM.from_pretrained("m", a.trn_config)\n'
            "\n\n"
            'load(NeuronTrainingArguments("o", tensor_parallel_size=2))\n',
            'tp_size=2, model="m"',
            id="through a parameter",
        ),
        pytest.param(
            "def load(config):\n"
            '    return NeuronModelForCausalLM.from_pretrained("m", config)\n'
            "\n\n"
            "load(TrainingNeuronConfig(tensor_parallel_size=16))\n",
            'tp_size=16, model="m"',
            id="a configuration through a parameter",
        ),
        pytest.param(
            "parser = NeuronHfArgumentParser(NeuronTrainingArguments)\n"
            "(a,) = parser.parse_args_into_dataclasses()\n"
            'm = NeuronModelForCausalLM.from_pretrained("m", a.trn_config)\n',
            'model="m"',
            id="the command line",
        ),
        pytest.param(
            "def load(training_args):\n"
            "    with lazy_load_for_parallelism(tensor_parallel_size=training_args.tensor_parallel_size):\n"
            '        return AutoModelForCausalLM.from_pretrained("m")\n',
            'model="m"',
            id="training arguments of another file",
        ),
        pytest.param(
            "def load(options):\n"
            "    with lazy_load_for_parallelism(tensor_parallel_size=options.tensor_parallel_size):\n"
            '        return AutoModelForCausalLM.from_pretrained("m")\n'
            "\n\n"
            "parser = utils.TrlParser([Script, NeuronTrainingArguments])\n"
            "script, options = parser.parse_args_and_config()\n"
            "load(options)\n",
            'model="m"',
            id="a parser derived from the one of transformers",
        ),
        pytest.param(
            "with lazy_load_for_parallelism(tensor_parallel_size=8):\n"
            '    m = AutoModelForCausalLM.from_pretrained("m")\n',
            'tp_size=8, model="m"',
            id="lazy loading",
        ),
        pytest.param(
            'config = {"tp": 8, "model": "m"}\n'
            'with lazy_load_for_parallelism(tensor_parallel_size=config["tp"]):\n'
            '    m = AutoModelForCausalLM.from_pretrained(config["model"])\n',
            'tp_size=config["tp"], model=config["model"]',
            id="an entry of a mapping",
        ),
        pytest.param(
            'a = NeuronTrainingArguments("o", tensor_parallel_size=8)\n'
            'm = AutoModelForCausalLM.from_pretrained("m")\n'
            "NeuronTrainer(model=m, args=a)\n",
            'tp_size=8, model="m"',
            id="a plain load that is trained",
        ),
        pytest.param(
            'a = NeuronTrainingArguments("o", zero_1=True)\n'
            'm = AutoModelForCausalLM.from_pretrained("m")\n'
            "NeuronTrainer(model=m, args=a)\n",
            "tp_size=1",
            id="ZeRO-1 alone is FSDP",
        ),
        pytest.param(
            'a = NeuronTrainingArguments("o", tensor_parallel_size=8)\n'
            "m = NeuronModelForCausalLM.from_pretrained(choose(), a.trn_config)\n",
            "tp_size=8",
            id="a model id that is computed is not computed twice",
        ),
        pytest.param(
            'c = TrainingNeuronConfig(tensor_parallel_size=8)\nCLASSES[kind].from_pretrained("m", c)\n',
            'tp_size=8, model="m"',
            id="a class that is chosen",
        ),
        pytest.param(
            'CLASSES[kind].from_pretrained("m", TrainingNeuronConfig(tensor_parallel_size=8))\n',
            'tp_size=8, model="m"',
            id="a class that is chosen, with its configuration in place",
        ),
        pytest.param(
            'a = NeuronTrainingArguments("o", tensor_parallel_size=8)\n'
            "def load(kind, trn_config):\n"
            '    return kind.from_pretrained("m", trn_config=trn_config)\n'
            "load(NeuronModelForCausalLM, a.trn_config)\n",
            'tp_size=8, model="m"',
            id="a class and a configuration that are parameters",
        ),
        pytest.param(
            'def load(trn_config):\n    return NeuronModelForCausalLM.from_pretrained("m", trn_config)\n',
            'model="m"',
            id="a parameter that nothing here is given for",
        ),
        pytest.param(
            'm = NeuronModelForCausalLM.from_pretrained("m", TrainingNeuronConfig(**sizes))\n',
            'model="m"',
            id="a configuration made of a mapping",
        ),
        pytest.param(
            'a = NeuronTrainingArguments(**options)\nm = NeuronModelForCausalLM.from_pretrained("m", a.trn_config)\n',
            'model="m"',
            id="arguments made of a mapping",
        ),
        pytest.param(
            "a = NeuronTrainingArguments(**options)\n"
            "with lazy_load_for_parallelism(a.tensor_parallel_size):\n"
            '    m = AutoModelForCausalLM.from_pretrained("m")\n',
            'model="m"',
            id="a size of arguments made of a mapping",
        ),
        pytest.param(
            'a = NeuronTrainingArguments("o", tensor_parallel_size=8)\n'
            "with lazy_load_for_parallelism(a.tensor_parallel_size):\n"
            '    m = AutoModelForCausalLM.from_pretrained("m")\n',
            'tp_size=8, model="m"',
            id="a size of arguments",
        ),
        pytest.param(
            "def load(config, again):\n"
            "    if again:\n"
            "        return load(config, False)\n"
            '    return NeuronModelForCausalLM.from_pretrained("m", config)\n'
            "load(TrainingNeuronConfig(tensor_parallel_size=8), True)\n",
            'tp_size=8, model="m"',
            id="a function that calls itself",
        ),
        pytest.param(
            "class A:\n"
            "    @staticmethod\n"
            "    def load(name, c):\n"
            "        return NeuronModelForCausalLM.from_pretrained(name, c)\n"
            'A.load("m", TrainingNeuronConfig(tensor_parallel_size=2))\n',
            "tp_size=2, model=name",
            id="a configuration through a static method",
        ),
        pytest.param(
            "class A:\n"
            "    def load(self, name, c):\n"
            "        return NeuronModelForCausalLM.from_pretrained(name, c)\n"
            "    def run(self):\n"
            '        other.load("m", TrainingNeuronConfig(tensor_parallel_size=4))\n'
            '        self.load("m")\n'
            '        self.load("m", c=TrainingNeuronConfig(tensor_parallel_size=2))\n',
            "tp_size=2, model=name",
            id="a configuration through a method",
        ),
        pytest.param(
            "load = lambda c: NeuronModelForCausalLM.from_pretrained('m', c)\n",
            "model='m'",
            id="a parameter of a lambda",
        ),
        pytest.param(
            'for _ in sequence:\n    a = b\n    b = a\n    NeuronModelForCausalLM.from_pretrained("m", a)\n',
            'model="m"',
            id="variables in a circle",
        ),
        pytest.param(
            'for config in sequence:\n    NeuronModelForCausalLM.from_pretrained("m", config)\n',
            'model="m"',
            id="a configuration of a loop",
        ),
        pytest.param(
            "size = sizes[0] + 1\n"
            "with lazy_load_for_parallelism(size):\n"
            '    m = AutoModelForCausalLM.from_pretrained("m")\n',
            'tp_size=size, model="m"',
            id="a size that is computed",
        ),
        pytest.param(
            "with lazy_load_for_parallelism(other.tensor_parallel_size):\n"
            '    m = AutoModelForCausalLM.from_pretrained("m")\n',
            'model="m"',
            id="a size of something that is bound nowhere",
        ),
    ],
)
def test_size_reaches_the_load(body: str, expected: str) -> None:
    assert sizes(body) == [expected]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            'a = NeuronTrainingArguments("o", tensor_parallel_size=1)\n'
            'm = AutoModelForCausalLM.from_pretrained("m")\n'
            "NeuronTrainer(model=m, args=a)\n",
            id="size 1 without ZeRO-1",
        ),
        pytest.param(
            "with lazy_load_for_parallelism(tensor_parallel_size=1):\n"
            '    m = AutoModelForCausalLM.from_pretrained("m")\n',
            id="lazy loading of size 1",
        ),
        pytest.param(
            'a = NeuronTrainingArguments("o", tensor_parallel_size=8)\n'
            'm = AutoModelForSequenceClassification.from_pretrained("m")\n'
            "NeuronTrainer(model=m, args=a)\n",
            id="an encoder",
        ),
        pytest.param('m = AutoModelForCausalLM.from_pretrained("m")\nNeuronTrainer(model=m)\n', id="no size at all"),
        pytest.param(
            'a = NeuronTrainingArguments("o")\n'
            "with lazy_load_for_parallelism(a.tensor_parallel_size):\n"
            '    m = AutoModelForCausalLM.from_pretrained("m")\n',
            id="a size that nobody gave",
        ),
        pytest.param(
            "NeuronTrainer()\ndef f(kind, config):\n    kind.from_pretrained('m', config)\n",
            id="a configuration of something else",
        ),
        pytest.param(
            "NeuronTrainer()\nKINDS[0].from_pretrained('m', 1)\nKINDS[0].from_pretrained('m', c)\n",
            id="an argument of something else",
        ),
    ],
)
def test_nothing_is_sharded(body: str) -> None:
    assert sizes(body) == []


def test_a_model_loaded_beside_the_trained_one_is_not_sharded() -> None:
    body = (
        'a = NeuronTrainingArguments("o", tensor_parallel_size=8)\n'
        'm = AutoModelForCausalLM.from_pretrained("m")\n'
        "NeuronTrainer(model=m, args=a)\n"
        'base = AutoModelForCausalLM.from_pretrained("base")\n'
    )

    assert sizes(body) == ['tp_size=8, model="m"']
    assert 'from_pretrained("base", dtype="float32")' in migrate(IMPORTS + body).text


def test_adapters_are_sharded_by_fsdp() -> None:
    imports = IMPORTS + "from peft import LoraConfig, get_peft_model\n\n"
    body = (
        'a = NeuronTrainingArguments("o", tensor_parallel_size=8)\n'
        'm = AutoModelForCausalLM.from_pretrained("m")\n'
        "m = get_peft_model(m, LoraConfig(r=8))\n"
        "NeuronTrainer(model=m, args=a)\n"
    )

    assert sizes(body, imports) == ["tp_size=1"]
    assert "FSDP over all ranks" in messages(body, Outcome.REVIEW, imports)
    assert migrate(imports + body).launch == ("TP_SIZE=1",)


def test_a_size_that_is_not_known_at_the_load_is_reported() -> None:
    body = (
        "def arguments(options):\n"
        '    return NeuronTrainingArguments("o", tensor_parallel_size=options.tp)\n'
        "\n\n"
        "def load(name):\n"
        "    return NeuronModelForCausalLM.from_pretrained(name, arguments(OPTIONS).trn_config)\n"
    )

    assert sizes(body) == ["model=name"]
    assert "options.tp, is not known at the load" in messages(body, Outcome.REVIEW)


def test_a_size_that_is_read_from_arguments_made_of_a_mapping() -> None:
    body = (
        "a = NeuronTrainingArguments(**options)\n"
        "size = a.tensor_parallel_size\n"
        "with lazy_load_for_parallelism(size):\n"
        '    m = AutoModelForCausalLM.from_pretrained("m")\n'
    )

    assert sizes(body) == ["", 'model="m"']


def test_a_size_that_is_not_known_where_it_is_asked_for() -> None:
    body = (
        "def load(args):\n"
        "    own = TrainingNeuronConfig(tensor_parallel_size=args.tp)\n"
        '    return NeuronModelForCausalLM.from_pretrained("m", own)\n'
        "config = TrainingNeuronConfig()\n"
        "print(config.tensor_parallel_size)\n"
        'NeuronModelForCausalLM.from_pretrained("m", config)\n'
    )

    assert "tensor_parallel_size is a matter of the launch line: ask parallel_sizes" in messages(body, Outcome.MANUAL)


def test_the_size_of_an_accelerator_reaches_the_load() -> None:
    imports = IMPORTS + "from optimum.neuron import NeuronAccelerator\n\n"
    body = (
        "c = TrainingNeuronConfig(tensor_parallel_size=8)\n"
        "a = NeuronAccelerator(trn_config=c)\n"
        'm = AutoModelForCausalLM.from_pretrained("m")\n'
    )

    assert sizes(body, imports)[-1] == 'tp_size=8, model="m"'


def test_reading_the_size_agrees_with_the_load() -> None:
    body = (
        "def train(args):\n"
        '    a = NeuronTrainingArguments("o", tensor_parallel_size=args.tp)\n'
        '    m = NeuronModelForCausalLM.from_pretrained("m", a.trn_config)\n'
        '    print(f"on {a.tensor_parallel_size} cores", a.pipeline_parallel_size)\n'
    )
    text = migrate(IMPORTS + body).text

    assert """print(f"on {parallel_sizes(tp_size=args.tp)['tp_size']} cores", 1)""" in text


def test_pipeline_parallelism_is_for_a_person() -> None:
    body = 'a = NeuronTrainingArguments("o", pipeline_parallel_size=2)\n'
    migration = migrate(IMPORTS + body)

    assert "pipeline_parallel_size=2" in migration.text
    assert "# TODO(neuron-migrate NM110): Pipeline parallel training has no native form" in migration.text


def test_a_parser_in_a_one_line_block_keeps_its_defaults_to_itself() -> None:
    body = "if True: parser = NeuronHfArgumentParser(NeuronTrainingArguments)\nelse: parser = None\n"
    (line,) = [line for line in migrate(IMPORTS + body).text.splitlines() if "set_defaults" in line]

    assert line.startswith("if True: parser = HfArgumentParser(TrainingArguments); parser.set_defaults(")


LORA = """\
from optimum.neuron import NeuronSFTConfig, NeuronSFTTrainer, NeuronTrainer
from optimum.neuron.distributed import lazy_load_for_parallelism
from peft import LoraConfig
from transformers import AutoModelForCausalLM

with lazy_load_for_parallelism(tensor_parallel_size=8):
    model = AutoModelForCausalLM.from_pretrained("m")
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            "lora = LoraConfig(r=8)\nNeuronSFTTrainer(model, NeuronSFTConfig('o'), peft_config=lora)\n",
            "tp_size=1",
            id="adapters",
        ),
        pytest.param(
            "lora = LoraConfig(r=8)\nNeuronSFTTrainer(model, NeuronSFTConfig('o'), peft_config=None)\n",
            'tp_size=8, model="m"',
            id="a configuration that is left over",
        ),
        pytest.param(
            "lora = None\nNeuronSFTTrainer(model, NeuronSFTConfig('o'), peft_config=lora)\n",
            'tp_size=8, model="m"',
            id="a variable that is None",
        ),
        pytest.param(
            "lora = LoraConfig(r=8)\nmodel.add_adapter(lora)\nNeuronTrainer(model)\n",
            "tp_size=1",
            id="a configuration that something else is given",
        ),
        pytest.param(
            "configs = {}\nconfigs['lora'] = LoraConfig(r=8)\nNeuronTrainer(model)\n",
            "tp_size=1",
            id="a configuration in no variable",
        ),
        pytest.param("lora = LoraConfig(r=8)\n", "tp_size=1", id="a file that makes no trainer"),
        pytest.param(
            "import peft\n\npeft.TaskType('CAUSAL_LM')\nNeuronTrainer(model)\n",
            'tp_size=8, model="m"',
            id="another name",
        ),
    ],
)
def test_adapters_are_told_by_their_use(body: str, expected: str) -> None:
    assert sizes(body, LORA) == [expected]


def test_the_frozen_base_of_adapters_is_told_to_be_larger() -> None:
    body = "NeuronSFTTrainer(model, NeuronSFTConfig('o', bf16=True), peft_config=LoraConfig(r=8))\n"
    assert "load it with dtype=torch.bfloat16 for half the memory" in messages(body, Outcome.REVIEW, LORA)
    assert "half the memory" not in messages(body.replace("bf16=True", "bf16=False"), Outcome.REVIEW, LORA)


def test_weights_in_bf16_make_the_arguments_say_so() -> None:
    body = """\
import torch

a = NeuronTrainingArguments("o")
m = NeuronModelForCausalLM.from_pretrained("m", a.trn_config, dtype=torch.bfloat16)
"""
    assert "bf16=True (added to the arguments) autocasts" in messages(body, Outcome.REVIEW)
    assert "bf16=True" in migrate(IMPORTS + body).text
    given = body.replace('"o"', '"o", bf16=flag')
    assert "bf16=True autocasts" in messages(given, Outcome.REVIEW)
    assert "bf16=True" not in migrate(IMPORTS + given).text


def test_a_dtype_has_the_name_that_the_script_imports() -> None:
    imports = IMPORTS + "from torch import bfloat16, float32\n\n"
    body = """\
a = NeuronTrainingArguments("o")
m = NeuronModelForCausalLM.from_pretrained("m", a.trn_config, dtype=bfloat16)
"""
    assert "dtype=float32," in migrate(imports + body).text
