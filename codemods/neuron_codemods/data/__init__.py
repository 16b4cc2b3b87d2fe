"""The public names of Optimum Neuron 0.0.1 to 0.4.5 and what becomes of each, as two tables.

``symbols.tsv`` holds every name under each module path that exposed it, ``keywords.tsv`` the arguments, methods and
attributes of the objects users meet. Both come from a survey of the 36 Optimum Neuron releases 0.0.1-0.4.5 and are
written by ``tools/build_tables.py``: change a row there, not in the file. Reading them imports no other library, and
neither table is read before it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pkgutil import get_data
from types import MappingProxyType

from neuron_codemods.data.records import DROP, RELEASES, Keyword, Symbol, release_key
from neuron_codemods.model import Outcome

__all__ = [
    "DROP",
    "OWNERS",
    "RELEASES",
    "Keyword",
    "Symbol",
    "all_keywords",
    "all_symbols",
    "is_neuron_module",
    "keywords",
    "members",
    "release_key",
    "symbol",
    "symbols_named",
]

OWNERS: Mapping[str, str] = MappingProxyType(
    {
        "training_arguments": "NeuronTrainingArguments, its Seq2Seq and Trainium twins, and what they inherit",
        "sft_config": "NeuronSFTConfig, beyond training_arguments",
        "orpo_config": "NeuronORPOConfig, beyond training_arguments",
        "trainer": "NeuronTrainer and every trainer derived from it",
        "sft_trainer": "NeuronSFTTrainer, beyond trainer",
        "orpo_trainer": "NeuronORPOTrainer, beyond trainer",
        "training_config": "TrainingNeuronConfig, and before it ModelParallelismPlugin and TensorParallelismPlugin",
        "training_model": "the model classes of optimum.neuron.models.training",
        "mixed_precision_config": "MixedPrecisionConfig",
        "accelerator": "NeuronAccelerator",
        "argument_parser": "NeuronHfArgumentParser",
        "lazy_load": "lazy_load_for_parallelism",
        "lazy_optimizer": "make_optimizer_constructor_lazy",
        "parallelizer": "Parallelizer",
        "consolidate": "consolidate_model_parallel_checkpoints_to_unified_checkpoint",
        "lora_config": "peft.LoraConfig, where it is used beside Optimum Neuron",
        "peft_model": "NeuronPeftModel",
        "traced_model": "NeuronModelForX except for causal language models, and the diffusion pipelines",
        "diffusion": "the Neuron diffusion pipelines, beyond traced_model",
        "causal_lm_inference": "NeuronModelForCausalLM for inference",
        "nxd_config": "NxDNeuronConfig",
        "pipeline": "optimum.neuron.pipeline",
        "token_selector": "TokenSelector",
        "export": "optimum.exporters.neuron.export",
        "export_models": "optimum.exporters.neuron.export_models",
        "main_export": "optimum.exporters.neuron.main_export",
        "hub_cached_entries": "get_hub_cached_entries",
        "hub_cached_models": "get_hub_cached_models",
        "hub_neuronx_cache": "hub_neuronx_cache",
        "synchronize_hub_cache": "synchronize_hub_cache",
        "neuron_cc_wrapper": "patch_neuron_cc_wrapper",
        "image_uri": "optimum.neuron.utils.ecr.image_uri",
    }
)
"""The keys by which ``keywords`` and ``members`` are asked, and what each stands for."""

NEURON_ROOTS = (
    "optimum.neuron",
    "optimum.exporters.neuron",
    "optimum.commands.neuron",
    "optimum.commands.export.neuron",
    "optimum.commands.export.neuronx",
    "optimum.commands.register.register_neuron",
)


def is_neuron_module(module: str) -> bool:
    """Whether a dotted name lies in Optimum Neuron: ``optimum.neuron.utils`` does, ``optimum.neuronx`` does not."""
    return f"{module}.".startswith(tuple(f"{root}." for root in NEURON_ROOTS))


def symbol(module: str, name: str) -> Symbol | None:
    """What becomes of ``name`` imported from exactly this module, or None for a name no release had there."""
    line = _symbol_lines().get((module, name))
    return None if line is None else _symbol(line)


def symbols_named(name: str) -> tuple[Symbol, ...]:
    """What becomes of a bare name, under each module that exposed it, by module."""
    return tuple(_symbol(_symbol_lines()[module, name]) for module in _modules_of().get(name, ()))


def all_symbols() -> Iterator[Symbol]:
    """Every row of the table of names, by module and name."""
    return map(_symbol, _symbol_lines().values())


def keywords(owner: str) -> Mapping[str, tuple[Keyword, ...]]:
    """The keyword arguments of an owner, by each spelling; several rows when several of its methods take it.

    :raises KeyError: when ``owner`` is not in ``OWNERS``.
    """
    return _keyword_index()[owner]


def members(owner: str) -> Mapping[str, tuple[Keyword, ...]]:
    """The methods and attributes of an owner that need attention, by name.

    :raises KeyError: when ``owner`` is not in ``OWNERS``.
    """
    return _member_index()[owner]


@cache
def all_keywords() -> tuple[Keyword, ...]:
    """Every row of the table of keywords, by owner, member and keyword."""
    return tuple(Keyword(*line.split("\t")) for line in _lines("keywords.tsv"))


def _lines(name: str) -> list[str]:
    # pkgutil reads from a zip file too and loads in a fifth of the time that importlib.resources takes.
    content = get_data(__name__, name)
    if content is None:  # pragma: no cover (a loader that cannot read files beside the modules it loads)
        raise FileNotFoundError(f"{name} is missing from {__name__}")
    return content.decode().rstrip("\n").split("\n")[1:]


@cache
def _symbol_lines() -> dict[tuple[str, str], str]:
    # Only a few of the 2,000 rows are ever looked at in a run, so a row is taken apart when it is.
    index = {}
    for line in _lines("symbols.tsv"):
        module, name, _ = line.split("\t", 2)
        index[module, name] = line
    return index


@cache
def _modules_of() -> dict[str, list[str]]:
    index: dict[str, list[str]] = {}
    for module, name in _symbol_lines():
        index.setdefault(name, []).append(module)
    return index


def _symbol(line: str) -> Symbol:
    module, name, kind, first, last, category, outcome, native, message = line.split("\t")
    return Symbol(module, name, kind, first, last, category, Outcome(outcome), native, message)


@cache
def _keyword_index() -> Mapping[str, Mapping[str, tuple[Keyword, ...]]]:
    return _by_owner(row for row in all_keywords() if row.keyword)


@cache
def _member_index() -> Mapping[str, Mapping[str, tuple[Keyword, ...]]]:
    return _by_owner(row for row in all_keywords() if not row.keyword)


def _by_owner(rows: Iterator[Keyword]) -> Mapping[str, Mapping[str, tuple[Keyword, ...]]]:
    index: dict[str, dict[str, tuple[Keyword, ...]]] = {owner: {} for owner in OWNERS}
    for row in rows:
        names = index[row.owner]
        for name in row.names:
            names[name] = (*names.get(name, ()), row)
    return MappingProxyType({owner: MappingProxyType(names) for owner, names in index.items()})
