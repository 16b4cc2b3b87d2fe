"""Writes plain lines in the place of `neuron_shim`, where `--no-shim` asks for it.

Some projects want no package beside the libraries. What the shim reads from the launch then has to be said whole
before `torchrun`, and what it does on machines without a Neuron device is not done. What has no plain form stays, with
a marker.

https://huggingface.co/docs/transformers/perf_infer_gpu_multi
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from neuron_codemods import imports
from neuron_codemods.edits import CallEdit, Change, Edit, EraseImport
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.scopes import Binding, Reference

RULE = Rule(
    code="NM010",
    name="without-shim",
    summary="Plain lines in the place of neuron_shim (--no-shim).",
    url="https://huggingface.co/docs/transformers/perf_infer_gpu_multi",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

_SHIM = "neuron_shim."


def check(module: Module) -> Iterator[Change]:
    """One change for each use, and one for each import that nothing needs any more."""
    for bindings in list(module.names.module.bindings.values()):
        seen: set[Reference] = set()
        for binding in bindings:
            if binding.is_import and (binding.qualified or "").startswith(_SHIM):
                references = [reference for reference in module.references(binding) if reference not in seen]
                seen.update(references)
                yield from _replaced(module, binding, references)


def _replaced(module: Module, binding: Binding, references: Sequence[Reference]) -> Iterator[Change]:
    name = (binding.qualified or "").removeprefix(_SHIM)
    plain = _PLAIN.get(name)
    changes = [plain(module, reference) if plain else None for reference in references]
    found = [change for change in changes if change is not None]
    is_taken = any(imports.is_taken(module, name) for change in found for name in change.requires)
    if len(found) < len(changes) or plain is None or is_taken:
        message = f"Write what {name} does, or keep neuron_shim: it has no plain form here."
        yield Change(Outcome.MANUAL, binding.node, message)
        return
    yield from found
    message = f"Nothing uses neuron_shim.{name} any more."
    yield Change(Outcome.REWRITTEN, binding.node, message, (EraseImport(binding),))


def _call(module: Module, reference: Reference) -> ast.Call | None:
    above = module.parent(reference.node)
    return above if isinstance(above, ast.Call) and above.func is reference.node else None


def _named(module: Module, call: ast.Call, native: str) -> str:
    """What the file calls a module at a call."""
    found = module.import_at(native, call)
    return found.name if found is not None else native


def _configure(module: Module, reference: Reference) -> Change | None:
    call = _call(module, reference)
    if call is None:
        return None
    text = f'{_named(module, call, "os")}.environ.setdefault("HF_DEACTIVATE_ASYNC_LOAD", "1")'
    edit = Edit.replace(module.source.span(call), text)
    message = (
        "configure() set more than this where it was needed: on Neuron torch._dynamo.config.automatic_dynamic_shapes "
        "is False, and for several processes on a CPU ACCELERATE_USE_CPU is true."
    )
    return Change(Outcome.REVIEW, call, message, (edit,), ("os",))


def _parallel_sizes(module: Module, reference: Reference) -> Change | None:
    call = _call(module, reference)
    above = module.parent(call) if call is not None else None
    if call is None or not isinstance(above, ast.keyword) or above.arg is not None:
        return None
    holder = module.parent(above)
    if not isinstance(holder, ast.Call) or len(holder.keywords) != 1 or holder.args:
        return None
    sizes = ("tp_size", "TP_SIZE"), ("fsdp_size", "FSDP_SIZE")
    os = _named(module, call, "os")
    added = tuple((size, f'int({os}.environ.get("{variable}", "1"))') for size, variable in sizes)
    asked = next((item.value for item in call.keywords if item.arg == "tp_size"), None)
    tp_size = str(asked.value) if isinstance(asked, ast.Constant) and isinstance(asked.value, int) else ""
    launch = f"TP_SIZE={tp_size or '<cores>'} FSDP_SIZE=<cores / TP_SIZE>" if tp_size != "1" else "FSDP_SIZE=<cores>"
    message = (
        "Say both sizes before torchrun: their product is the number of processes. Without them nothing is sharded."
    )
    return Change(
        Outcome.REVIEW, call, message, (CallEdit(holder, removed=frozenset((0,)), added=added),), ("os",), launch
    )


def _device(module: Module, reference: Reference) -> Change | None:
    call = _call(module, reference)
    if call is None:
        return None
    torch = _named(module, call, "torch")
    text = f'{torch}.accelerator.current_accelerator() or {torch}.device("cpu")'
    return _expression(module, call, text, "torch")


def _main_process(module: Module, reference: Reference) -> Change | None:
    call = _call(module, reference)
    if call is None:
        return None
    return _expression(module, call, f'{_named(module, call, "os")}.environ.get("RANK", "0") == "0"', "os")


def _expression(module: Module, call: ast.Call, text: str, required: str) -> Change:
    alone = isinstance(module.parent(call), (ast.Assign, ast.keyword, ast.Return, ast.If))
    edit = Edit.replace(module.source.span(call), text if alone else f"({text})")
    return Change(Outcome.REWRITTEN, call, f"{ast.unparse(call)} in plain torch.", (edit,), (required,))


def _compile_static(module: Module, reference: Reference) -> Change | None:
    call = _call(module, reference)
    if call is None or len(call.args) != 1 or call.keywords:
        return None
    if isinstance(call.args[0], (ast.Starred, ast.GeneratorExp)):
        return None
    source = module.source
    function, (_, end) = source.span(call.func), source.span(call.args[0])
    torch = _named(module, call, "torch")
    edits = (Edit.replace(function, f"{torch}.compile"), Edit.insert(end, ', backend="neuron", dynamic=False'))
    message = "torch.compile of the neuron backend works on a Neuron device only; compile_static ran anywhere."
    return Change(Outcome.REVIEW, call, message, edits, ("torch",))


_PLAIN: dict[str, Callable[[Module, Reference], Change | None]] = {
    "compile_static": _compile_static,
    "configure": _configure,
    "is_main_process": _main_process,
    "neuron_device": _device,
    "parallel_sizes": _parallel_sizes,
}

_MARKER = (
    "# TODO(neuron-migrate NM010): Write what ResumeCallback does, or keep neuron_shim: it has no plain form here: "
    f"{RULE.url}\n"
)

CASES = (
    Case(
        "a model that is sharded",
        """from neuron_shim import configure, parallel_sizes
from transformers import AutoModelForCausalLM
from transformers.distributed import DistributedConfig

configure()
model = AutoModelForCausalLM.from_pretrained(
    "x",
    distributed_config=DistributedConfig(**parallel_sizes(tp_size=8)),
)
""",
        """import os
from transformers import AutoModelForCausalLM
from transformers.distributed import DistributedConfig

os.environ.setdefault("HF_DEACTIVATE_ASYNC_LOAD", "1")
model = AutoModelForCausalLM.from_pretrained(
    "x",
    distributed_config=DistributedConfig(
        tp_size=int(os.environ.get("TP_SIZE", "1")),
        fsdp_size=int(os.environ.get("FSDP_SIZE", "1")),
    ),
)
""",
    ),
    Case(
        "devices, ranks and compiled modules",
        """import torch
from neuron_shim import compile_static, is_main_process, neuron_device

device = neuron_device()
model.to(neuron_device())
model = compile_static(model)
if is_main_process() and ready:
    print(device)
""",
        """import os
import torch

device = torch.accelerator.current_accelerator() or torch.device("cpu")
model.to((torch.accelerator.current_accelerator() or torch.device("cpu")))
model = torch.compile(model, backend="neuron", dynamic=False)
if (os.environ.get("RANK", "0") == "0") and ready:
    print(device)
""",
    ),
    Case(
        "what has no plain form",
        "from neuron_shim import ResumeCallback\n\ntrainer.add_callback(ResumeCallback(trainer))\n",
        f"{_MARKER}from neuron_shim import ResumeCallback\n\ntrainer.add_callback(ResumeCallback(trainer))\n",
        (Outcome.MANUAL,),
    ),
    Case("a name of something else", "from shim import configure\n\nconfigure()\n"),
    Case("no shim", "import os\n\nprint(os.environ)\n"),
    Case("a method of that name", "settings.configure()\n"),
)
