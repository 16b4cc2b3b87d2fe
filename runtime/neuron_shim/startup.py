"""Settings that have to be made before a model loads or the training arguments are built."""

from __future__ import annotations

import os

from neuron_shim.device import accelerator_kind
from neuron_shim.environment import world_size
from neuron_shim.notice import say_once

_done = False


def configure() -> None:
    """Make this process ready for the libraries: call it once, right after the imports.

    It makes three settings, and leaves a variable that is already set as it is:

    - HF_DEACTIVATE_ASYNC_LOAD=1. transformers loads weights in threads, in which TorchNeuron hangs (not verified on
      hardware). It reads the variable at each load (transformers/core_model_loading.py, GLOBAL_WORKERS), so the order
      of imports does not matter.
    - On Neuron, ``torch._dynamo.config.automatic_dynamic_shapes = False``. TorchNeuron compiles static shapes only,
      and torch would make a dimension dynamic when it sees a second size of it
      (https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/compile/reference-torch-compile.html; not
      verified on hardware).
    - In a run of several processes without an accelerator, ACCELERATE_USE_CPU=true. Without it accelerate takes each
      process for a run of its own (accelerate/state.py, ``PartialState._prepare_backend``), and all of them train on
      the same data. With it they train together, over gloo. It is read when TrainingArguments or an Accelerator are
      built. Says so once, on rank 0.

    A second call does nothing. The Neuron runtime is not started: it must not be before the process group exists
    (not verified on hardware).

    Raises:
        ValueError: WORLD_SIZE is set and is not a whole number.
    """
    global _done
    if _done:
        return
    os.environ.setdefault("HF_DEACTIVATE_ASYNC_LOAD", "1")
    kind = accelerator_kind()
    if kind == "neuron":
        # Not imported elsewhere: it takes seconds.
        import torch._dynamo

        torch._dynamo.config.automatic_dynamic_shapes = False
    elif kind is None and world_size() > 1:
        _train_together_on_cpu()
    _done = True


def _train_together_on_cpu() -> None:
    setting = os.environ.get("ACCELERATE_USE_CPU")
    if setting is None:
        os.environ["ACCELERATE_USE_CPU"] = "true"
        say_once("device", f"no accelerator found, the {world_size()} processes of this run train on the CPU.")
    # The spellings that accelerate takes for yes (accelerate/utils/environment.py, str_to_bool).
    elif setting.lower() not in {"y", "yes", "t", "true", "on", "1"}:
        say_once(
            "device",
            f"no accelerator found and ACCELERATE_USE_CPU={setting}: each of the {world_size()} processes trains "
            f"alone, on the same data. Unset ACCELERATE_USE_CPU to train together on the CPU.",
        )
