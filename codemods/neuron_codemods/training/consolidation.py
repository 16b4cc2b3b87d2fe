"""Takes away the consolidation of checkpoint shards that the native trainer never writes.

`trainer.save_model()` leaves whole safetensors, so a call that put shards together in their own folder goes. Where the
result went to another folder, or the shards are those of an old run, a person has to say what is loaded.

https://huggingface.co/docs/transformers/main_classes/trainer#transformers.Trainer.save_model
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import Change, RemoveStatement
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renaming import erased
from neuron_codemods.values import all_arguments, keyword, trainers

RULE = Rule(
    code="NM137",
    name="consolidation",
    summary="Checkpoints need no consolidation: the call goes where it worked in place.",
    url="https://huggingface.co/docs/transformers/main_classes/trainer#transformers.Trainer.save_model",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

NAMES = (
    "consolidate_model_parallel_checkpoints_to_unified_checkpoint",
    "consolidate_tensor_parallel_checkpoints_to_unified_checkpoint",
)
_PARAMETERS = ("checkpoint_dir", "output_dir", "save_format")


def check(module: Module) -> Iterator[Change]:
    gone: set[ast.AST] = set()
    for call in module.calls:
        symbol = module.symbol(module.resolve(call.func))
        if symbol is None or symbol.name not in NAMES:
            continue
        gone.add(call.func)
        yield _consolidation(module, call)
        if not _goes(module, call):
            gone.discard(call.func)
    yield from _imports(module, gone)


def _consolidation(module: Module, call: ast.Call) -> Change:
    source, target = (_argument(module, call, index) for index in (0, 1))
    if _goes(module, call):
        message = f"The consolidation goes: {source} holds whole safetensors as soon as the trainer has saved there."
        statement = module.parent(call)
        assert isinstance(statement, ast.Expr)
        return Change(Outcome.REVIEW, call, message, (RemoveStatement(statement),))
    if _trains_here(module) and source and target:
        message = (
            f"The trainer writes whole safetensors: delete this call and load {source} where {target} is loaded "
            "(checkpoint_dir, output_dir and save_format have no meaning natively)."
        )
        return Change(Outcome.MANUAL, call, message)
    message = (
        "Checkpoints of the native trainer are whole safetensors and need no consolidation (checkpoint_dir, "
        "output_dir and save_format have no meaning natively): delete this call for them, and convert shards of old "
        "runs once with neuron-shim export SRC DST."
    )
    return Change(Outcome.MANUAL, call, message)


def _goes(module: Module, call: ast.Call) -> bool:
    source, target = (_argument(module, call, index) for index in (0, 1))
    return isinstance(module.parent(call), ast.Expr) and source == target != "" and _trains_here(module)


def _trains_here(module: Module) -> bool:
    return bool(all_arguments(module) or trainers(module))


def _argument(module: Module, call: ast.Call, index: int) -> str:
    given = keyword(call, _PARAMETERS[index])
    node = given.value if given is not None else call.args[index] if index < len(call.args) else None
    return "" if node is None else module.source.segment(node)


def _imports(module: Module, gone: set[ast.AST]) -> Iterator[Change]:
    """The import goes with the last call; beside a call that is marked it needs no marker of its own."""
    called = {call.func for call in module.calls} - gone
    for change in erased(module, NAMES, gone):
        if change.outcome is not Outcome.MANUAL or not _is_marked(module, change.node, called):
            yield change


def _is_marked(module: Module, node: ast.AST, called: set[ast.expr]) -> bool:
    """Whether all uses of an import are calls, which have markers themselves."""
    if node in called:
        return True
    for binding in module.neuron_bindings:
        if binding.node is node:
            uses = [reference.node for reference in module.references(binding)]
            return bool(uses) and all(use in called for use in uses)
    return False


_HEAD = """from optimum.neuron import NeuronTrainer
from optimum.neuron.distributed import consolidate_model_parallel_checkpoints_to_unified_checkpoint
"""

CASES = (
    Case(
        "in place",
        f"""{_HEAD}
trainer = NeuronTrainer(model=model, args=args)
trainer.save_model()
consolidate_model_parallel_checkpoints_to_unified_checkpoint(args.output_dir, args.output_dir, "pytorch")
""",
        """from optimum.neuron import NeuronTrainer

trainer = NeuronTrainer(model=model, args=args)
trainer.save_model()
""",
        (Outcome.REWRITTEN, Outcome.REVIEW),
    ),
    Case(
        "into another folder",
        f"""{_HEAD}
trainer = NeuronTrainer(model=model, args=args)
trainer.save_model("out")
consolidate_model_parallel_checkpoints_to_unified_checkpoint("out", "whole")
""",
        f"""{_HEAD}
trainer = NeuronTrainer(model=model, args=args)
trainer.save_model("out")
# TODO(neuron-migrate NM137): The trainer writes whole safetensors: delete this call and load "out" where "whole" \
is loaded (checkpoint_dir, output_dir and save_format have no meaning natively): \
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.Trainer.save_model
consolidate_model_parallel_checkpoints_to_unified_checkpoint("out", "whole")
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "a script of its own",
        f"""from optimum.neuron.distributed import {NAMES[0]} as join

join(checkpoint_dir="old", output_dir="whole")
""",
        f"""from optimum.neuron.distributed import {NAMES[0]} as join

# TODO(neuron-migrate NM137): Checkpoints of the native trainer are whole safetensors and need no consolidation \
(checkpoint_dir, output_dir and save_format have no meaning natively): delete this call for them, and convert \
shards of old runs once with neuron-shim export SRC DST: \
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.Trainer.save_model
join(checkpoint_dir="old", output_dir="whole")
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "the native function",
        """from transformers.distributed import consolidate_distributed_checkpoint

consolidate_distributed_checkpoint("out", "whole")
""",
    ),
    Case("another library's function", f"from mylib import {NAMES[0]}\n\n{NAMES[0]}(x, x)\n"),
    Case("a file that trains", "from optimum.neuron import NeuronTrainer\n\nNeuronTrainer(model=model)\n"),
)
