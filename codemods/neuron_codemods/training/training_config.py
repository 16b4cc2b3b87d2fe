"""Takes away `TrainingNeuronConfig` and the parallelism plugins before it, whose sizes moved to the model load.

They carried the sizes to the model and the accelerator. Natively the model is loaded with a `DistributedConfig`; a
configuration that only fed such loads goes, anything else is for a person.

https://huggingface.co/docs/transformers/perf_infer_gpu_multi
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import Change, EraseImport
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renaming import attributes, imported
from neuron_codemods.training.argument_attributes import moved_configs
from neuron_codemods.training.native_names import ACCELERATOR, CONFIG
from neuron_codemods.training.parallel import LAZY_LOAD, loads

RULE = Rule(
    code="NM134",
    name="training-config",
    summary="TrainingNeuronConfig, ModelParallelismPlugin, NeuronAccelerator: gone with the load, or by hand.",
    url="https://huggingface.co/docs/transformers/perf_infer_gpu_multi",
    outcomes=(Outcome.REWRITTEN, Outcome.MANUAL),
)


def check(module: Module) -> Iterator[Change]:
    gone: set[ast.AST] = set()
    for statement in moved_configs(module):
        gone.update(ast.walk(statement))
    for load in loads(module):
        if load.config is not None:
            gone.update(ast.walk(load.config))
    for binding, symbol in imported(module):
        if symbol.name == LAZY_LOAD or symbol.native not in (CONFIG, ACCELERATOR):
            continue
        left = [reference.node for reference in module.references(binding) if reference.node not in gone]
        if left or not any(module.references(binding)):
            yield Change(Outcome.MANUAL, binding.node, symbol.message)
        else:
            message = f"The import of {symbol.name} is erased: its sizes moved to where the model is loaded."
            yield Change(Outcome.REWRITTEN, binding.node, message, (EraseImport(binding),))
    for _, node, symbol in attributes(module):
        if symbol.native in (CONFIG, ACCELERATOR) and symbol.name != LAZY_LOAD:
            yield Change(Outcome.MANUAL, node, symbol.message)


CASES = (
    Case(
        "a configuration that only fed the model",
        """from optimum.neuron.models.training import NeuronModelForCausalLM, TrainingNeuronConfig

config = TrainingNeuronConfig(tensor_parallel_size=8)
model = NeuronModelForCausalLM.from_pretrained("my/model", config)
""",
        """from optimum.neuron.models.training import NeuronModelForCausalLM

config = TrainingNeuronConfig(tensor_parallel_size=8)
model = NeuronModelForCausalLM.from_pretrained("my/model", config)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "a configuration that is used otherwise",
        """from optimum.neuron.models.training import TrainingNeuronConfig


def build(size):
    return TrainingNeuronConfig(tensor_parallel_size=size)
""",
        """# TODO(neuron-migrate NM134): Use transformers.distributed.DistributedConfig and pass it to \
from_pretrained: tensor_parallel_size becomes tp_size and the remaining ranks must be spelled \
out as fsdp_size or dp_replicate_size: https://huggingface.co/docs/transformers/perf_infer_gpu_multi
from optimum.neuron.models.training import TrainingNeuronConfig


def build(size):
    return TrainingNeuronConfig(tensor_parallel_size=size)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "the accelerator is for a person",
        """from optimum.neuron import NeuronAccelerator

accelerator = NeuronAccelerator(zero_1=True)
""",
        """# TODO(neuron-migrate NM134): Use accelerate.Accelerator: zero_1, trn_config, mp_plugin, \
tp_plugin, autocast_backend and mixed_precision_config are refused, sharding is asked for with \
DistributedConfig at from_pretrained, and calls of torch_xla must go: \
https://huggingface.co/docs/transformers/perf_infer_gpu_multi
from optimum.neuron import NeuronAccelerator

accelerator = NeuronAccelerator(zero_1=True)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "accelerate's own accelerator",
        """from accelerate import Accelerator

accelerator = Accelerator(zero_1=True)
""",
    ),
    Case(
        "a configuration of another library",
        """from mylib import TrainingNeuronConfig

TrainingNeuronConfig(tensor_parallel_size=8)
""",
    ),
)
