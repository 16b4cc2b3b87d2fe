from __future__ import annotations

import re
from collections import Counter
from importlib import import_module
from itertools import pairwise

import pytest

from neuron_codemods import data
from neuron_codemods.data import DROP, RELEASES, release_key
from neuron_codemods.model import Outcome

ALL = tuple(data.all_symbols())
RENAMED = tuple(symbol for symbol in ALL if symbol.outcome is not Outcome.MANUAL)

SURVEY_JARGON = re.compile(
    r"torchneuron_facts|api_cli|\(checked\)|not checked|\bsurvey\b|as above|see above|this stack|installed stack|"
    r"\bNxD\b|/work|/tmp|\.md\b|\bNEFFs?\b|FALSE FRIEND|\bv0\.\d|->",
    re.IGNORECASE,
)


def sentences(message: str) -> bool:
    return (
        bool(re.match(r"[A-Z]", message)) and message.endswith(".") and "{" not in re.sub(r"\{[^}]*[\"']", "", message)
    )


def test_every_name_of_the_survey_is_there() -> None:
    assert len(ALL) == 2197


def test_rows_are_unique_and_sorted() -> None:
    places = [(symbol.module, symbol.name) for symbol in ALL]
    assert all(one < two for one, two in pairwise(places))


def test_every_row_can_be_found_by_its_place() -> None:
    assert all(data.symbol(symbol.module, symbol.name) == symbol for symbol in ALL)


def test_messages_are_sentences() -> None:
    assert [symbol for symbol in ALL if not sentences(symbol.message)] == []


def test_messages_are_short() -> None:
    assert [symbol for symbol in ALL if not 20 <= len(symbol.message) <= 300] == []


def test_messages_stand_alone() -> None:
    assert [symbol for symbol in ALL if SURVEY_JARGON.search(symbol.message)] == []


def test_modules_lie_in_optimum_neuron() -> None:
    """The two others hold what Optimum Neuron put into a module of Optimum, whose other names are none of its own."""
    assert {symbol.module for symbol in ALL if not data.is_neuron_module(symbol.module)} == {
        "optimum.commands.env",
        "optimum.commands.register.register_export",
    }


def test_releases_exist_and_are_in_order() -> None:
    assert {symbol.first for symbol in ALL} | {symbol.last for symbol in ALL} <= set(RELEASES)
    assert [symbol for symbol in ALL if release_key(symbol.first) > release_key(symbol.last)] == []


def test_counts_of_outcomes() -> None:
    assert Counter(symbol.outcome for symbol in ALL) == {
        Outcome.MANUAL: 1885,
        Outcome.REWRITTEN: 256,
        Outcome.REVIEW: 56,
    }


def test_what_is_rewritten_has_a_dotted_native_name() -> None:
    libraries = r"(transformers|trl|peft|accelerate|torch|diffusers|sentence_transformers)(\.\w+)+"
    assert [symbol for symbol in RENAMED if not re.fullmatch(libraries, symbol.native)] == []
    assert all(symbol.rename == symbol.native for symbol in RENAMED)


def test_what_is_manual_is_never_renamed() -> None:
    assert not any(symbol.rename for symbol in ALL if symbol.outcome is Outcome.MANUAL)


def test_native_is_a_dotted_name_or_drop_or_nothing() -> None:
    natives = {symbol.native for symbol in ALL}
    assert {"", DROP} < natives
    assert all(re.fullmatch(r"\w+(\.\w+)+", native) for native in natives - {"", DROP})


def test_what_is_dropped_is_manual() -> None:
    assert all(symbol.outcome is Outcome.MANUAL for symbol in ALL if symbol.dropped)
    assert sum(symbol.dropped for symbol in ALL) > 600


@pytest.mark.parametrize(
    "category",
    ["generation", "export", "vllm"],
)
def test_parts_without_rules_yet_are_manual(category: str) -> None:
    rows = [symbol for symbol in ALL if symbol.category == category]
    assert rows
    assert {symbol.outcome for symbol in rows} == {Outcome.MANUAL}


def test_one_name_in_one_part_has_one_outcome() -> None:
    """A user who imports a name by another path must not get another answer."""
    outcomes: dict[tuple[str, str], set[Outcome]] = {}
    for symbol in ALL:
        outcomes.setdefault((symbol.name, symbol.category), set()).add(symbol.outcome)
    assert {place for place, found in outcomes.items() if len(found) > 1} == set()


@pytest.mark.parametrize(
    ("module", "name", "outcome", "native"),
    [
        ("optimum.neuron", "NeuronTrainer", "rewritten", "transformers.Trainer"),
        ("optimum.neuron", "NeuronTrainingArguments", "rewritten", "transformers.TrainingArguments"),
        ("optimum.neuron", "Seq2SeqTrainiumTrainer", "review", "transformers.Seq2SeqTrainer"),
        ("optimum.neuron", "NeuronSFTConfig", "rewritten", "trl.SFTConfig"),
        ("optimum.neuron", "NeuronSFTTrainer", "rewritten", "trl.SFTTrainer"),
        ("optimum.neuron", "NeuronORPOTrainer", "review", "trl.experimental.orpo.ORPOTrainer"),
        ("optimum.neuron", "NeuronHfArgumentParser", "rewritten", "transformers.HfArgumentParser"),
        ("optimum.neuron", "NeuronAccelerator", "rewritten", "accelerate.Accelerator"),
        ("optimum.neuron", "NeuronPartialState", "rewritten", "accelerate.PartialState"),
        ("optimum.neuron", "get_peft_model", "rewritten", "peft.get_peft_model"),
        ("optimum.neuron.models.training", "NeuronModelForCausalLM", "rewritten", "transformers.AutoModelForCausalLM"),
        ("optimum.neuron.models.training", "LlamaForCausalLM", "rewritten", "transformers.LlamaForCausalLM"),
        (
            "optimum.neuron.models.training",
            "TrainingNeuronConfig",
            "review",
            "transformers.distributed.DistributedConfig",
        ),
        (
            "optimum.neuron.distributed",
            "lazy_load_for_parallelism",
            "review",
            "transformers.distributed.DistributedConfig",
        ),
        ("optimum.neuron", "NeuronModelForCausalLM", "rewritten", "transformers.AutoModelForCausalLM"),
        ("optimum.neuron", "NeuronStableDiffusionPipeline", "rewritten", "diffusers.StableDiffusionPipeline"),
        ("optimum.neuron", "NeuronDiffusionPipelineBase", "rewritten", "diffusers.DiffusionPipeline"),
        ("optimum.neuron.trainers", "NeuronCacheCallback", "manual", DROP),
        ("optimum.neuron.models.training.modeling_utils", "GQAQKVColumnParallelLinear", "manual", ""),
        # A re-exported name means its library's object, even where Optimum Neuron has one of the same name elsewhere.
        ("optimum.neuron.trainers", "SFTConfig", "rewritten", "trl.SFTConfig"),
        ("optimum.neuron.modeling_base", "PreTrainedModel", "rewritten", "transformers.PreTrainedModel"),
        # A drop-in by name only: the native object is called otherwise or means something else.
        ("optimum.neuron.utils", "is_neuron_available", "manual", ""),
        (
            "optimum.neuron.accelerate.utils",
            "broadcast_object",
            "manual",
            "accelerate.utils.broadcast_object_list",
        ),
    ],
)
def test_known_names(module: str, name: str, outcome: str, native: str) -> None:
    symbol = data.symbol(module, name)
    assert symbol is not None
    assert (symbol.outcome.value, symbol.native) == (outcome, native)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("optimum.neuron", "NoSuchName"),
        ("optimum.neuron", "neurontrainer"),
        ("optimum.neuronx", "NeuronTrainer"),
        ("optimum", "neuron"),
        ("optimum.neuron.NeuronTrainer", ""),
        ("", "NeuronTrainer"),
    ],
)
def test_unknown_names(module: str, name: str) -> None:
    assert data.symbol(module, name) is None


def test_symbols_named_lists_every_module() -> None:
    modules = [symbol.module for symbol in data.symbols_named("NeuronTrainer")]
    assert modules == sorted(modules)
    assert {"optimum.neuron", "optimum.neuron.trainers"} <= set(modules)
    assert {symbol.name for symbol in data.symbols_named("NeuronTrainer")} == {"NeuronTrainer"}


def test_symbols_named_tells_two_things_of_one_name_apart() -> None:
    assert {symbol.category for symbol in data.symbols_named("NeuronConfig")} == {"export", "model-inference"}


def test_symbols_named_without_a_match() -> None:
    assert data.symbols_named("NoSuchName") == ()


@pytest.mark.parametrize(
    "module",
    [
        "optimum.neuron",
        "optimum.neuron.models.training",
        "optimum.neuron.any.module.at.all",
        "optimum.exporters.neuron",
        "optimum.exporters.neuron.__main__",
        "optimum.commands.neuron.cache",
        "optimum.commands.export.neuronx",
    ],
)
def test_modules_of_optimum_neuron(module: str) -> None:
    assert data.is_neuron_module(module)


@pytest.mark.parametrize(
    "module",
    ["", "optimum", "optimum.neuronx", "optimum.neuron_utils", "optimum.exporters", "optimum.exporters.neuronx",
     "optimum.commands.export", "optimum.commands.export.onnx", "my.optimum.neuron", ".neuron"],
)  # fmt: skip
def test_other_modules(module: str) -> None:
    assert not data.is_neuron_module(module)


@pytest.mark.filterwarnings("ignore:You are importing from 'trl.experimental'")  # once, in whichever test is first
@pytest.mark.libraries
@pytest.mark.parametrize("native", sorted({symbol.native for symbol in RENAMED}))
def test_native_name_exists(native: str) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip(native.partition(".")[0])
    assert resolves(native)


def resolves(dotted: str) -> bool:
    """Whether ``from module import name`` works for a dotted name, as a migrated import will be written."""
    module, _, name = dotted.rpartition(".")
    return hasattr(import_module(module), name)


@pytest.mark.libraries
def test_a_wrong_native_name_would_be_noticed() -> None:
    pytest.importorskip("transformers")
    assert not resolves("transformers.NoSuchTrainer")
