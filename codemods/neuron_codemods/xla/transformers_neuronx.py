"""Marks uses of transformers_neuronx: models of transformers run natively.

The sampling models of that package were compiled for a batch size and a length. Natively a model is loaded as
everywhere, sharded by `DistributedConfig(tp_size=N)`, and generates with a static cache.

https://huggingface.co/docs/transformers/main/en/kv_cache
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.xla import rows

RULE = Rule(
    code="NM614",
    name="transformers-neuronx",
    summary="transformers_neuronx: load with AutoModelForCausalLM, generate with a static cache.",
    url="https://huggingface.co/docs/transformers/main/en/kv_cache",
    outcomes=(Outcome.MANUAL,),
)


def check(module: Module) -> Iterator[Change]:
    """One marker at the first use: the whole script is to be written anew."""
    yield from islice(rows.changes(module, RULE.code), 1)


CASES = (
    Case(
        "a sampling model",
        """from transformers_neuronx.llama.model import LlamaForSampling
from transformers_neuronx.module import save_pretrained_split

model = LlamaForSampling.from_pretrained("llama", batch_size=1, tp_degree=8)
model.to_neuron()
""",
        """# TODO(neuron-migrate NM614): Replace transformers_neuronx: load with \
AutoModelForCausalLM.from_pretrained(model_id, device_map=neuron_device().type), with DistributedConfig(tp_size=N) \
for N cores, and generate with cache_implementation="static": \
https://huggingface.co/docs/transformers/main/en/kv_cache
from transformers_neuronx.llama.model import LlamaForSampling
from transformers_neuronx.module import save_pretrained_split

model = LlamaForSampling.from_pretrained("llama", batch_size=1, tp_degree=8)
model.to_neuron()
""",
        (Outcome.MANUAL,),
    ),
    Case("transformers itself", "from transformers import LlamaForCausalLM\n\nprint(LlamaForCausalLM)\n"),
    Case("its name in a text", 'print("transformers_neuronx")\n'),
)
