"""Marks the models, pipelines and generation helpers that ran from a compiled folder.

An Optimum Neuron model was compiled for one batch size and sequence length and saved as a folder. Natively the
original model is loaded on the device and compiles on its first call, so the model id, the shapes and the casts need
a person.

https://huggingface.co/docs/transformers/model_doc/auto
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renaming import without_native

RULE = Rule(
    code="NM201",
    name="compiled-model",
    summary="NeuronModelForX, pipeline and generation helpers of compiled models: what to load instead.",
    url="https://huggingface.co/docs/transformers/model_doc/auto",
    outcomes=(Outcome.MANUAL, Outcome.REWRITTEN),
)

CATEGORIES = frozenset({"generation", "model-inference", "pipeline", "sentence-transformers", "vllm"})


def check(module: Module) -> Iterator[Change]:
    yield from without_native(module, CATEGORIES)


CASES = (
    Case(
        "a compiled model is for a person",
        """from optimum.neuron import NeuronModelForSequenceClassification

model = NeuronModelForSequenceClassification.from_pretrained("folder")
""",
        """# TODO(neuron-migrate NM201): NeuronModelForSequenceClassification: Load the original model, \
not the exported folder, with transformers.AutoModelForSequenceClassification on \
device_map=neuron_shim.neuron_device(), delete the export arguments, and pad the tokenizer's \
output to the old sequence_length: https://huggingface.co/docs/transformers/model_doc/auto
from optimum.neuron import NeuronModelForSequenceClassification

model = NeuronModelForSequenceClassification.from_pretrained("folder")
""",
        (Outcome.MANUAL,),
    ),
    Case("the native class", "from transformers import AutoModelForCausalLM\n\nprint(AutoModelForCausalLM)\n"),
    Case("a pipeline of transformers", "from transformers import pipeline\n\npipe = pipeline('fill-mask')\n"),
)
