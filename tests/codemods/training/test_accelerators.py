"""What becomes of an accelerator, of what it is given, and of a sharded model that it prepares."""

from __future__ import annotations

import pytest

from neuron_codemods import Outcome, Settings, migrate

HEAD = """\
from optimum.neuron import NeuronAccelerator
from optimum.neuron.accelerate.utils import MixedPrecisionConfig
from optimum.neuron.models.training import NeuronModelForCausalLM, TrainingNeuronConfig

config = TrainingNeuronConfig(tensor_parallel_size=8)
print(MixedPrecisionConfig)
"""
LOAD = 'model = NeuronModelForCausalLM.from_pretrained("m", config)\n'
MADE = "accelerator = NeuronAccelerator()\n"


def lines_of(text: str, start: str) -> list[str]:
    """The lines of a migrated text after those that it begins with."""
    result = migrate(text, settings=Settings(select=("NM135",))).text
    return result[result.index(start) + len(start) :].splitlines()


def migrated(text: str) -> str:
    """What the rule makes of the end of a script; a marker is one line, without its address."""
    marked = [line.partition(": https://")[0] for line in lines_of(HEAD + text, "print(MixedPrecisionConfig)\n")]
    return "".join(f"{line}\n" for line in marked)


def is_left(text: str, told: str) -> bool:
    """Whether a text stays as it is, with a marker that says so."""
    result = migrated(text)
    kept = "".join(line for line in result.splitlines(True) if "# TODO(neuron-migrate NM135)" not in line)
    return kept == text and f"# TODO(neuron-migrate NM135): {told}" in result


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("NeuronAccelerator(mixed_precision_config=None)\n", "NeuronAccelerator()\n"),
        (
            'NeuronAccelerator(mixed_precision_config=MixedPrecisionConfig("NO"))\n',
            'NeuronAccelerator(mixed_precision="no")\n',
        ),
        (
            'NeuronAccelerator(mixed_precision_config=MixedPrecisionConfig("FULL_BF16"))\n',
            'NeuronAccelerator(mixed_precision="bf16")\n',
        ),
        ("NeuronAccelerator(zero_1=False)\n", "NeuronAccelerator()\n"),
        (f"{LOAD}NeuronAccelerator(zero_1=True)\n", f"{LOAD}NeuronAccelerator()\n"),
        (f"{MADE}accelerator.patch_model_for_neuron(model)\n", MADE),
        (f"{MADE}other = accelerator.patch_model_for_neuron(model, x=1)\n", f"{MADE}other = model\n"),
        (f"{MADE}show(accelerator.patch_model_for_neuron(model=model))\n", f"{MADE}show(model)\n"),
        (
            f"{MADE}accelerator.gather_for_metrics(x, use_gather_object=True, sync=True)\n",
            f"{MADE}accelerator.gather_for_metrics(x, use_gather_object=True)\n",
        ),
        (f"{MADE}accelerator.save_state_for_xla_fsdp(path)\n", f"{MADE}accelerator.save_state(path)\n"),
        (
            f"{LOAD}sizes = 1\naccelerator = NeuronAccelerator(trn_config=config)\n",
            f"""{LOAD}sizes = 1
model_sizes = parallel_sizes(tp_size=8, model="m")
accelerator = NeuronAccelerator(
    parallelism_config=ParallelismConfig(tp_size=model_sizes["tp_size"], dp_shard_size=model_sizes["fsdp_size"]),
)
""",
        ),
    ],
)
def test_rewritten(before: str, after: str) -> None:
    assert migrated(before) == after


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("NeuronAccelerator(deepspeed_plugin=plugin)\n", "deepspeed_plugin: accelerate refuses"),
        ("NeuronAccelerator(1, 2, 3, 4, 5, 6)\n", "Arguments of Accelerator by position"),
        ("NeuronAccelerator(*options)\n", "Arguments of Accelerator by position"),
        (f"{LOAD}while NeuronAccelerator(trn_config=config):\n    pass\n", "trn_config: pass parallelism_config="),
        (f"{LOAD}class A:\n    made = NeuronAccelerator(trn_config=config)\n", "trn_config: pass parallelism_config="),
        (
            "def load(args):\n"
            "    own = TrainingNeuronConfig(tensor_parallel_size=args.tp)\n"
            '    return NeuronModelForCausalLM.from_pretrained("m", own)\n'
            "def main():\n"
            "    return NeuronAccelerator(trn_config=config)\n",
            "trn_config: pass parallelism_config=",
        ),
        ("NeuronAccelerator(mixed_precision_config=unknown)\n", "mixed_precision_config: pass mixed_precision="),
        ("def f(p):\n    NeuronAccelerator(mixed_precision_config=p)\n", "mixed_precision_config: pass"),
        (
            'p = MixedPrecisionConfig("NO")\nprint(p)\nNeuronAccelerator(mixed_precision_config=p)\n',
            "mixed_precision_config: pass",
        ),
        (
            "NeuronAccelerator(mixed_precision_config=MixedPrecisionConfig(mode))\n",
            "mixed_precision_config: pass",
        ),
        ("NeuronAccelerator(even_batches=False, dispatch_batches=True)\n", "Put even_batches into dataloader_config"),
        (f"{MADE}print(accelerator.zero_1)\n", "Accelerator has no zero_1"),
        (f"{MADE}f = accelerator.patch_model_for_neuron\n", "patch_model_for_neuron is gone: the model needs no"),
        (f"{MADE}accelerator.patch_model_for_neuron()\n", "patch_model_for_neuron is gone: use the model itself"),
        (f"{MADE}accelerator.patch_model_for_neuron(*a)\n", "patch_model_for_neuron is gone: use the model itself"),
    ],
)
def test_left_for_a_person(text: str, told: str) -> None:
    assert is_left(text, told)


def test_a_model_that_is_not_known_yet() -> None:
    text = (
        "accelerator = NeuronAccelerator(trn_config=config)\n"
        'name = "m"\n'
        "model = NeuronModelForCausalLM.from_pretrained(name, config)\n"
    )

    assert migrated(text).startswith("sizes = parallel_sizes(tp_size=8)\naccelerator")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f"{LOAD}model = accelerator.prepare(model)\n",
            f"{LOAD}model = accelerator.prepare_model(model, evaluation_mode=True)\n",
        ),
        (
            f"{LOAD}model = accelerator.prepare_model(model)\n",
            f"{LOAD}model = accelerator.prepare_model(model, evaluation_mode=True)\n",
        ),
        (
            f"{LOAD}[o, model] = accelerator.prepare(o, model)\n",
            f"{LOAD}model = accelerator.prepare_model(model, evaluation_mode=True)\no = accelerator.prepare(o)\n",
        ),
        (
            f"def load():\n    {LOAD}    return model\n\n\nm, o = accelerator.prepare(load(), o)\n",
            f"""def load():
    {LOAD}    return model


m = accelerator.prepare_model(load(), evaluation_mode=True)
o = accelerator.prepare(o)
""",
        ),
    ],
)
def test_a_sharded_model_is_prepared_by_itself(before: str, after: str) -> None:
    assert migrated(MADE + before) == MADE + after


OF_SELF = """\
class Loop:
    def __init__(self):
        self.model = NeuronModelForCausalLM.from_pretrained("m", config)
        self.net = self.model

    def run(self):
        self.net, o = accelerator.prepare(self.net, o)
"""


def test_a_sharded_model_that_is_kept_in_self() -> None:
    assert "self.net = accelerator.prepare_model(self.net, evaluation_mode=True)\n" in migrated(MADE + OF_SELF)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("use(accelerator.prepare(model, o))\n", id="no variable"),
        pytest.param("m, o = NeuronAccelerator().prepare(model, o)\n", id="an accelerator in place"),
        pytest.param("m, o = accelerator.prepare(model, *others)\n", id="a sequence"),
        pytest.param("m, o = accelerator.prepare(model, o, device_placement=[True, True])\n", id="a keyword"),
        pytest.param("m = accelerator.prepare_model(model.base)\n", id="a part of a model by itself"),
        pytest.param("m, o = accelerator.prepare(model.base, o)\n", id="a part of a model"),
        pytest.param("m, o = accelerator.prepare(get(model), o)\n", id="something made of a model"),
        pytest.param("my_model = wrap(model)\nm, o = accelerator.prepare(my_model, o)\n", id="a wrapper"),
        pytest.param(
            "def load():\n"
            '    return NeuronModelForCausalLM.from_pretrained("m", config)\n'
            "def build():\n    return load()\nmy_model = build()\nm, o = accelerator.prepare(my_model, o)\n",
            id="a function of this file",
        ),
        pytest.param("for a_model in x:\n    m = accelerator.prepare(a_model)\n", id="a model of a loop"),
        pytest.param("m, n, o = accelerator.prepare(model, model, o)\n", id="the model twice"),
        pytest.param(
            "class Loop:\n    def __init__(self, model):\n        self.model = model\n\n"
            "    def run(self):\n        self.model, o = accelerator.prepare(self.model, o)\n",
            id="a parameter that is kept in self",
        ),
    ],
)
def test_a_model_that_may_be_sharded(text: str) -> None:
    assert is_left(LOAD + MADE + text, "A model that is sharded where it is loaded goes through")


@pytest.mark.parametrize(
    "text",
    [
        "use(accelerator.prepare(loader))\n",
        "o, loader = accelerator.prepare(o, loader)\n",
        "other_model = 1\no = accelerator.prepare(other_model)\n",
        "n = f(n)\nn = accelerator.prepare(n)\n",
        "optimizer = adam(model.parameters())\noptimizer = accelerator.prepare(optimizer)\n",
        "optimizer = adam(model)\noptimizer = accelerator.prepare(optimizer)\n",
        "later = accelerator.prepare\n",
        "m = accelerator.prepare_model(model, evaluation_mode=False)\n",
        "m = accelerator.prepare_model(net)\n",
    ],
)
def test_what_is_no_model_stays(text: str) -> None:
    assert migrated(LOAD + MADE + text) == LOAD + MADE + text


def test_an_accelerator_that_is_only_given() -> None:
    text = "from optimum.neuron import NeuronAccelerator\n\n\ndef f(a: NeuronAccelerator):\n"
    (changed,) = lines_of(f"{text}    a.save_state_for_tp()\n", text)

    assert changed == "    a.save_state()"


@pytest.mark.parametrize(
    ("text", "outcome", "told"),
    [
        (
            'NeuronAccelerator(mixed_precision_config=MixedPrecisionConfig("FULL_BF16"))\n',
            Outcome.REVIEW,
            "Autocast over weights in float32",
        ),
        ("NeuronAccelerator(zero_1=True)\n", Outcome.REVIEW, "more memory"),
        ("NeuronAccelerator(trn_config=config)\n", Outcome.REVIEW, "no model is loaded here"),
        (f"{LOAD}NeuronAccelerator(zero_1=True)\n", Outcome.REWRITTEN, "zero_1 goes: FSDP"),
        (
            'NeuronModelForCausalLM.from_pretrained("m", TrainingNeuronConfig())\nNeuronAccelerator(tp_plugin=None)\n',
            Outcome.REWRITTEN,
            "the model is not split by tensor parallelism",
        ),
    ],
)
def test_told(text: str, outcome: Outcome, told: str) -> None:
    found = migrate(HEAD + text, settings=Settings(select=("NM135",))).findings

    assert any(finding.outcome is outcome and told in finding.message for finding in found)
