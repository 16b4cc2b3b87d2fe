"""The table of pipeline classes says what the installed diffusers says."""

from __future__ import annotations

import inspect
import re

import pytest

from neuron_codemods.data import all_symbols
from neuron_codemods.diffusion.pipelines import LOADING, PIPELINES

from .keywords import find

pytestmark = pytest.mark.libraries
pytest.importorskip("diffusers")
each_pipeline = pytest.mark.parametrize("name", PIPELINES)


def call_of(name: str) -> list[str]:
    kind = find(name)
    return list(inspect.signature(kind.__call__).parameters)[1:]


@each_pipeline
def test_components(name: str) -> None:
    kind = find(name)
    assert set(inspect.signature(kind.__init__).parameters) - {"self"} == PIPELINES[name].components


@each_pipeline
def test_what_a_call_takes(name: str) -> None:
    pipeline, parameters = PIPELINES[name], call_of(name)
    assert tuple(parameters[: len(pipeline.leading)]) == pipeline.leading
    assert ("height" in parameters and "width" in parameters) == pipeline.takes_size
    assert ("max_sequence_length" in parameters) == pipeline.takes_length
    assert "num_images_per_prompt" in parameters


@each_pipeline
def test_adapters(name: str) -> None:
    kind = find(name)
    pipeline = PIPELINES[name]
    assert hasattr(kind, "load_lora_weights") == hasattr(kind, "load_ip_adapter") == pipeline.takes_adapters
    transformer = kind.__init__.__annotations__.get("transformer")
    assert bool(getattr(transformer, "_tp_plan", None)) == pipeline.can_be_sharded


def test_what_loading_takes() -> None:
    loader = find("diffusers.DiffusionPipeline.from_pretrained")
    taken = set(re.findall(r"""kwargs\.pop\(\s*"(\w+)\"""", inspect.getsource(loader)))
    taken |= set(
        re.findall(r"""kwargs\.pop\(\s*"(\w+)\"""", inspect.getsource(find("diffusers.DiffusionPipeline.download")))
    )  # type: ignore[arg-type]
    assert taken >= LOADING - {"token"}


def test_every_pipeline_of_optimum_neuron_is_there() -> None:
    natives = {symbol.native for symbol in all_symbols() if re.fullmatch(r"Neuron\w+Pipeline", symbol.name)}
    assert natives == set(PIPELINES)
