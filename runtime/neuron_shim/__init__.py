"""What a script migrated from Optimum Neuron needs besides transformers: device, parallel sizes, launch settings.

    from neuron_shim import configure, parallel_sizes
    from transformers import AutoModelForCausalLM
    from transformers.distributed import DistributedConfig

    configure()
    model = AutoModelForCausalLM.from_pretrained(
        model_id, distributed_config=DistributedConfig(**parallel_sizes(tp_size=8))
    )

Importing this package imports neither torch nor transformers and changes nothing in the process.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from neuron_shim.compiling import compile_static
from neuron_shim.device import neuron_device
from neuron_shim.environment import is_main_process
from neuron_shim.gradients import average_gradients
from neuron_shim.parallel import parallel_sizes
from neuron_shim.startup import configure

if TYPE_CHECKING:
    from neuron_shim.checkpoint.errors import ExportError as ExportError
    from neuron_shim.checkpoint.export import export_checkpoint as export_checkpoint
    from neuron_shim.checkpoint.resume import ResumeCallback as ResumeCallback
    from neuron_shim.shapes.batches import pad_batches as pad_batches
    from neuron_shim.shapes.prompts import tokenize_fixed as tokenize_fixed
    from neuron_shim.shapes.warming import warm_up as warm_up

__all__ = ["average_gradients", "compile_static", "configure", "is_main_process", "neuron_device", "parallel_sizes"]

__version__: str

# Loaded when they are asked for, since they need torch or transformers.
_LAZY = {
    "ExportError": "neuron_shim.checkpoint.errors",
    "ResumeCallback": "neuron_shim.checkpoint.resume",
    "export_checkpoint": "neuron_shim.checkpoint.export",
    "pad_batches": "neuron_shim.shapes.batches",
    "tokenize_fixed": "neuron_shim.shapes.prompts",
    "warm_up": "neuron_shim.shapes.warming",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    # importlib.metadata takes longer to import than everything else here, and few scripts ask for the version.
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import metadata

    try:
        return metadata.version("neuron-migrate")
    except metadata.PackageNotFoundError:  # run from a source tree that was never installed
        return "0+unknown"
